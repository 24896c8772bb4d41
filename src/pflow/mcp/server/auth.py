"""How a server is told who asks: a token in a variable, or OAuth. A checked value; no secret is ever part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.suggest import nearest
from pflow.mcp.server.address import check_address, has_reference

TYPES = ("bearer", "client_credentials", "oauth")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SCOPE = re.compile(r"[!#-\[\]-~]+\Z")
_CLIENT = re.compile(r"[ -~]{1,2048}\Z")
_OF_TYPE = {
    "bearer": ("token_env",),
    "client_credentials": ("client_id", "client_secret_env", "issuer"),
    "oauth": ("client_id", "client_secret_env", "issuer"),
}


class Auth(Frozen):
    """`bearer`: the token is in the variable `token_env`. `client_credentials`: pflow gets one as the client
    `client_id`, whose secret is in `client_secret_env`. `oauth`: a person logs in.

    `scopes` are what the token needs; `issuer` is the authorization server that the client belongs to.
    """

    type: str = "bearer"
    token_env: str = ""
    client_id: str = ""
    client_secret_env: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    unknown: Mapping[str, object] = {}

    def identity(self) -> object:
        """Who asks, for a fingerprint: as whom, not with which secret and for what."""
        if self.type == "bearer":
            return self.token_env
        return [self.type, self.client_id, self.client_secret_env, self.issuer]


def unknown_word(server: str, what: str, word: str, known: Sequence[str], aliases: Iterable[str] = ()) -> UsageError:
    """The error about a word in a server's configuration that has no meaning."""
    near = nearest(word, [*known, *aliases], limit=1)
    return UsageError(
        f"server `{server}` has the {what} `{show(word)}`, which does not exist",
        details={"known": list(known)},
        suggestions=[f"did you mean `{near[0]}`?"] if near else [],
    )


def check_auth(server: str, auth: Auth, *, insecure: bool) -> None:
    """Raises a `UsageError` or `SecurityError` unless the parts fit together."""
    if auth.type not in TYPES:
        raise unknown_word(server, "auth type", auth.type, TYPES)
    for field, what in (("token_env", "token"), ("client_secret_env", "client secret")):
        name = getattr(auth, field)
        example = "GITHUB_TOKEN" if field == "token_env" else "CLIENT_SECRET"
        if name and not _VARIABLE.match(name):
            raise UsageError(
                f"`auth.{field}` is the name of the variable that holds the {what}, such as `{example}`",
                suggestions=[Advice("store the {what} itself with `{set_setting}`", what=what, name=example)],
            )
    for field in ("token_env", "client_id", "client_secret_env", "issuer"):
        if getattr(auth, field) and field not in _OF_TYPE[auth.type]:
            raise UsageError(
                f"server `{server}` with the auth type `{auth.type}` takes no `auth.{field}`",
                suggestions=[f"leave out `auth.{field}`, or change `auth.type`"],
            )
    has_client = auth.type == "client_credentials" or auth.client_secret_env
    for field in ("client_id", "client_secret_env") if has_client else ():
        if not getattr(auth, field):
            raise UsageError(
                f"server `{server}` with the auth type `{auth.type}` needs `auth.{field}`",
                suggestions=["the operator of the authorization server issues both"],
            )
    if auth.client_id and (has_reference(auth.client_id) or not _CLIENT.match(auth.client_id)):
        raise UsageError(
            f"`auth.client_id` of server `{server}` cannot be a client id",
            suggestions=["write it out: it is not a secret, and variables in it are not filled in"],
        )
    if auth.issuer:
        if has_reference(auth.issuer):
            raise UsageError(f"`auth.issuer` of server `{server}` is given as it is; variables in it are not filled in")
        check_address(auth.issuer, insecure=insecure)
    for scope in auth.scopes:
        if not _SCOPE.match(scope):
            raise UsageError(
                f"`{show(scope)}` cannot be a scope of server `{server}`",
                suggestions=["give each scope as a string of its own, without spaces"],
            )
