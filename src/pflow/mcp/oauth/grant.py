"""Gets and renews tokens through the official SDK; nothing else imports the SDK's client.

Decides what the SDK leaves open: which authorization server gets a client's secret, which scopes are asked for, where
a refresh token goes after a restart, and what is said when something fails.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx2
import orjson
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from pflow.core.advice import Advice
from pflow.core.errors import StepError
from pflow.core.printable import shorten
from pflow.http.authorization import Flow, Request, Response
from pflow.mcp.oauth.callback_listener import Redirect
from pflow.mcp.oauth.limit import bound, check_endpoint, error_of, prepare
from pflow.mcp.server.auth import Auth
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.credential import auth_failed
from pflow.mcp.server.token_store import Login

if TYPE_CHECKING:
    from pflow.mcp.oauth.client import Person

_QUERY = re.compile(r"\?\S*")
_TOKEN = re.compile(r"[\x21-\x7e]{1,65536}\Z")
_PAST = 1.0
_METADATA = {"issuer", "authorization_endpoint", "token_endpoint", "token_endpoint_auth_methods_supported"}


# The SDK logs what it raises with the states and the answers of token endpoints; we say it without them.
logging.getLogger("mcp.client.auth.oauth2").addFilter(lambda record: False)


class Grant:
    """How one server gives tokens. Flows yield what is to be sent; each new login is handed to `keep`."""

    def __init__(self, server: ServerConfig, secret: str | None, keep: Callable[[Login], None]) -> None:
        assert server.auth is not None
        self._server = server
        self._auth = server.auth
        self._secret = secret
        self._keep = keep

    def refresh(self, request: Request, known: Login) -> Flow:
        """Renew a login; hands over nothing if the authorization server does not want to."""
        storage = _Storage(self._keep, known, self._client())
        return self._drive(_Person(self._server, storage, self._auth), request, None)

    def client_credentials(self, request: Request, challenge: Response, known: Login | None) -> Flow:
        """Get a token as the client itself."""
        assert self._secret is not None
        storage = _Storage(self._keep, None, self._client())
        provider = _Machine(self._server, storage, self._auth, self._secret)
        provider.pinned = self._auth.issuer or (known.issuer if known else "")
        return self._drive(provider, request, challenge)

    def authorize(
        self,
        request: Request,
        challenge: Response,
        known: Login | None,
        *,
        redirect: Redirect,
        person: Person,
    ) -> Flow:
        """Have a person log in. Without a client of its own, pflow registers as one where that is offered."""
        storage = _Storage(self._keep, None, self._client())

        async def send(url: str) -> None:
            check_endpoint(self._server, url)
            redirect.expect(url)
            person.show_url(url)

        async def receive() -> AuthorizationCodeResult:
            answer = await redirect.answer(self._server.name, person.timeout)
            return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)

        provider = _Person(self._server, storage, self._auth, scope=known.scope if known else "", url=redirect.url)
        provider.context.redirect_handler = send
        provider.context.callback_handler = receive
        provider.pinned = self._auth.issuer or (known.issuer if known and self._auth.client_id else "")
        return self._drive(provider, request, challenge)

    def _client(self) -> OAuthClientInformationFull | None:
        if not self._auth.client_id:
            return None
        method = "client_secret_basic" if self._secret else "none"
        return OAuthClientInformationFull(
            client_id=self._auth.client_id, client_secret=self._secret, token_endpoint_auth_method=method
        )

    async def _drive(self, provider: OAuthClientProvider, request: Request, challenge: Response | None) -> Flow:
        """The SDK's flow up to where it would send `request` again; what it got for it before is `challenge`."""
        flow = provider.async_auth_flow(request)
        last: Response | None = None
        try:
            outgoing = await flow.__anext__()
            while True:
                if outgoing is not request:
                    answer = last = bound(self._server, (yield self._check(provider.context, outgoing)))
                elif challenge is None:
                    return
                else:
                    answer, challenge = challenge, None
                outgoing = await flow.asend(answer)
        except StopAsyncIteration:
            return
        except (OAuthFlowError, ValueError, OverflowError, httpx2.InvalidURL) as error:
            raise await self._explain(error, last) from None
        finally:
            await flow.aclose()

    def _check(self, context: OAuthContext, outgoing: Request) -> Request:
        check_endpoint(self._server, str(outgoing.url))
        if outgoing.method == "POST" and context.client_info is None:
            # Only a registration has no client yet. The SDK would try one that was not offered.
            if not _offers_registration(context):
                raise auth_failed(
                    f"the authorization server of `{self._server.name}` lets no client register by itself",
                    suggestions=["register pflow there, and put the client id it gets into `auth.client_id`"],
                )
            if self._auth.scopes:
                wanted = {**orjson.loads(outgoing.content), "scope": " ".join(self._auth.scopes)}
                outgoing = Request("POST", outgoing.url, json=wanted)
        return prepare(outgoing)

    async def _explain(self, error: Exception, last: Response | None) -> StepError:
        """The SDK's error without what authorization servers put into their answers, such as tokens."""
        name, word = self._server.name, await error_of(last)
        known = {"status": last.status_code} if last is not None else {}
        if isinstance(error, OAuthRegistrationError):
            return auth_failed(
                f"pflow could not register at the authorization server of `{name}`" + (f": `{word}`" if word else ""),
                details=known,
                suggestions=["register pflow there by hand, and put the client id it gets into `auth.client_id`"],
            )
        if isinstance(error, OAuthFlowError) and not isinstance(error, OAuthTokenError):
            text = shorten(_QUERY.sub("?…", str(error)), 300)
            return auth_failed(f"the login to server `{name}` does not fit together: {text}", details=known)
        again = [Advice("log in again with `{log_in}`", server=name)] if self._auth.type == "oauth" else []
        check = [f"check `{self._auth.client_secret_env}`"] if self._secret and word == "invalid_client" else []
        return auth_failed(
            f"the authorization server of `{name}` gave no token" + (f": `{word}`" if word else ""),
            details=known,
            suggestions=[*check, *again],
        )


class _Storage:
    """One login as the SDK wants to find and keep it. Without a `client`, it includes the one that is registered."""

    context: OAuthContext

    def __init__(
        self, keep: Callable[[Login], None], known: Login | None, client: OAuthClientInformationFull | None
    ) -> None:
        self._keep = keep
        self._known = known
        self._client = client
        self._dynamic = client is None

    async def get_tokens(self) -> OAuthToken | None:
        known = self._known
        if known is None:
            return None
        # The SDK forgets over a restart when a token ends, and where it came from: it would use it for ever, or send
        # the refresh token to the server instead of the authorization server.
        self.context.token_expiry_time = _PAST
        self.context.oauth_metadata = OAuthMetadata.model_validate(known.metadata) if known.metadata else None
        if known.resource:
            self.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(known.resource)
        return OAuthToken(
            access_token=known.access_token, refresh_token=known.refresh_token or None, scope=known.scope or None
        )

    async def set_tokens(self, tokens: OAuthToken) -> None:
        if not _TOKEN.match(tokens.access_token):
            raise OAuthTokenError("the token holds characters that no header can have")
        context = self.context
        metadata, resource, client = context.oauth_metadata, context.protected_resource_metadata, context.client_info
        login = Login(
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or "",
            scope=tokens.scope or "",
            expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            issuer=_issuer(context),
            client=client.model_dump(mode="json", exclude_none=True) if client and self._dynamic else {},
            metadata=metadata.model_dump(mode="json", exclude_none=True, include=_METADATA) if metadata else {},
            resource=resource.model_dump(mode="json", exclude_none=True, include={"resource", "authorization_servers"})
            if resource
            else {},
        )
        await asyncio.to_thread(self._keep, login)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._client is None and self._known is not None:
            return OAuthClientInformationFull.model_validate(self._known.client)
        return _fit(self._client, self.context.oauth_metadata) if self._client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info  # kept with the tokens; without any it is of no use


class _Careful(OAuthClientProvider):
    """What both grants decide before a token is asked for."""

    server: ServerConfig
    auth: Auth
    pinned = ""
    """The only authorization server to take tokens from; empty for any."""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        return next((url for url in advertised if issuers_match(url, self.pinned)), advertised[0])

    async def _perform_authorization(self) -> Request:
        context = self.context
        found = _issuer(context)
        if self.pinned and not issuers_match(found, self.pinned):
            configured = bool(self.auth.issuer)
            raise auth_failed(
                f"server `{self.server.name}` has its tokens given by `{shorten(found)}`, not by "
                f"`{shorten(self.pinned)}` as {'it should' if configured else 'before'}; nothing was sent there",
                suggestions=[
                    "if that is right, correct `auth.issuer`"
                    if configured
                    else Advice("if that is right, run `{log_in}`", server=self.server.name)
                ],
            )
        if self.auth.scopes:
            # The SDK would ask for everything that the server lists.
            offline = "offline_access" in (context.client_metadata.scope or "").split()
            scopes = [*self.auth.scopes, *(["offline_access"] if offline else [])]
            context.client_metadata.scope = " ".join(dict.fromkeys(scopes))
        if context.client_info is not None and self.auth.client_id:
            context.client_info = _fit(context.client_info, context.oauth_metadata)
        return await super()._perform_authorization()


class _Person(_Careful):
    """The authorization code grant, with PKCE."""

    def __init__(self, server: ServerConfig, storage: _Storage, auth: Auth, *, scope: str = "", url: str = "") -> None:
        metadata = {"redirect_uris": [url] if url else None, "client_name": "pflow", "scope": scope or None}
        super().__init__(server.url, OAuthClientMetadata.model_validate(metadata), storage)
        self.server, self.auth = server, auth
        storage.context = self.context

    async def _perform_authorization(self) -> Request:
        metadata = self.context.oauth_metadata
        methods = metadata.code_challenge_methods_supported if metadata else None
        if methods is not None and "S256" not in methods:
            raise auth_failed(f"the authorization server of `{self.server.name}` offers no PKCE with `S256`")
        return await super()._perform_authorization()


class _Machine(_Careful, ClientCredentialsOAuthProvider):
    """The client credentials grant."""

    def __init__(self, server: ServerConfig, storage: _Storage, auth: Auth, secret: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the issuer that the SDK misses is pinned by us
            ClientCredentialsOAuthProvider.__init__(self, server.url, storage, auth.client_id, secret)
        self.server, self.auth = server, auth
        storage.context = self.context


def _issuer(context: OAuthContext) -> str:
    if context.oauth_metadata is not None:
        return str(context.oauth_metadata.issuer)
    return context.get_authorization_base_url(context.server_url)


def _offers_registration(context: OAuthContext) -> bool:
    """Whether there is a place to register at: named, or the usual one of 2025-03-26 where nothing at all is told."""
    if context.oauth_metadata is None:
        return context.protected_resource_metadata is None
    return context.oauth_metadata.registration_endpoint is not None


def _fit(client: OAuthClientInformationFull, metadata: OAuthMetadata | None) -> OAuthClientInformationFull:
    """The client as the authorization server wants to be told its secret."""
    offered = metadata.token_endpoint_auth_methods_supported if metadata else None
    basic, post = "client_secret_basic", "client_secret_post"
    if client.token_endpoint_auth_method == basic and offered and basic not in offered and post in offered:
        return client.model_copy(update={"token_endpoint_auth_method": post})
    return client
