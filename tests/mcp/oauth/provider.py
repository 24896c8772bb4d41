"""A real little authorization server and the resource it protects, on one loopback port each, with switches."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit


class Provider:
    """Speaks HTTP/1.1, one request per connection. `log` holds `(method, path)` of everything asked, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.tokens: dict[str, str] = {}  # access token -> scope
        self.refresh_tokens: dict[str, str] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.clients: dict[str, str] = {"machine": "machine-secret-1"}
        self.token_requests: list[dict[str, str]] = []
        self.authorized: list[dict[str, str]] = []
        self.registrations: list[dict[str, object]] = []
        self.granted: str | None = None  # None: what was asked for
        self.expires_in: int | None = 3600
        self.deny = ""
        self.registers = True
        self.tells_nothing = False  # like a server of 2025-03-26: no metadata, and the usual addresses
        self.post_only = False
        self.refresh_status = 200
        self.metadata_extra: dict[str, object] = {}
        self.resource_extra: dict[str, object] = {}
        self.answer_extra: dict[str, str] = {}  # changes what the browser is sent back with
        self.challenge = ""
        self.needs_scope = ""
        self.token_answer: bytes | None = None
        self.origin = ""
        self._number = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    async def __aenter__(self) -> Provider:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def issue(self, scope: str, *, refreshable: bool = True) -> dict[str, object]:
        self._number += 1
        access = f"access-{self._number}-0123456789abcdef"
        self.tokens[access] = scope
        answer: dict[str, object] = {"access_token": access, "token_type": "bearer"}
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        if self.granted is not None:
            answer["scope"] = self.granted
        if refreshable:
            refresh = f"refresh-{self._number}-0123456789abcdef"
            self.refresh_tokens[refresh] = scope
            answer["refresh_token"] = refresh
        return answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.split("\r\n")
            method, target, _ = lines[0].split(" ")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.log.append((method, target.partition("?")[0]))
            status, extra, data = self._answer(method, target, headers, body)
            fields = {"Content-Length": str(len(data)), "Connection": "close", **extra}
            writer.write(f"HTTP/1.1 {status} X\r\n".encode())
            writer.write("".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode() + b"\r\n" + data)
            await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()
            try:
                await writer.wait_closed()
            except OSError:
                pass
            self._tasks.discard(task)

    def _answer(
        self, method: str, target: str, headers: dict[str, Any], body: bytes
    ) -> tuple[int, dict[str, Any], bytes]:
        path, _, query = target.partition("?")
        if self.tells_nothing:
            if path.startswith("/.well-known/"):
                return 404, {}, b"nothing here"
            path = {"/register": "/oauth/register", "/token": "/oauth/token"}.get(path, path)
        json_type = {"Content-Type": "application/json"}
        match path:
            case "/mcp":
                return self._resource(headers)
            case "/.well-known/oauth-protected-resource/mcp":
                about = {"resource": self.url, "authorization_servers": [self.origin], **self.resource_extra}
                return 200, json_type, json.dumps(about).encode()
            case "/.well-known/oauth-authorization-server":
                about = {
                    "issuer": self.origin,
                    "authorization_endpoint": f"{self.origin}/authorize",
                    "token_endpoint": f"{self.origin}/oauth/token",
                    "code_challenge_methods_supported": ["S256"],
                    **({"registration_endpoint": f"{self.origin}/oauth/register"} if self.registers else {}),
                    **({"token_endpoint_auth_methods_supported": ["client_secret_post"]} if self.post_only else {}),
                    **self.metadata_extra,
                }
                return 200, json_type, json.dumps(about).encode()
            case "/oauth/register":
                asked = json.loads(body)
                self.registrations.append(asked)
                client = f"dynamic-{len(self.registrations)}"
                self.clients[client] = ""
                kept = {
                    "client_id": client,
                    "redirect_uris": asked["redirect_uris"],
                    "token_endpoint_auth_method": "none",
                }
                return 201, json_type, json.dumps(kept).encode()
            case "/authorize":
                return self._authorize({k: v[0] for k, v in parse_qs(query).items()})
            case "/oauth/token":
                status, answer = self._token(headers, {k: v[0] for k, v in parse_qs(body.decode()).items()})
                data = json.dumps(answer).encode()
                return status, json_type, data if self.token_answer is None or status != 200 else self.token_answer
        return 404, {}, b"nothing here"

    def _resource(self, headers: dict[str, Any]) -> tuple[int, dict[str, Any], bytes]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            about = f'Bearer resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp"'
            about = "Bearer" if self.tells_nothing else about
            return 401, {"WWW-Authenticate": self.challenge or about}, b"who are you?"
        if self.needs_scope and self.needs_scope not in self.tokens[token].split():
            about = f'Bearer error="insufficient_scope", scope="{self.needs_scope}"'
            return 403, {"WWW-Authenticate": about}, b"not enough"
        return 200, {"Content-Type": "application/json"}, json.dumps({"seen": token}).encode()

    def _authorize(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any], bytes]:
        self.authorized.append(asked)
        back = {"state": asked["state"], **({} if self.tells_nothing else {"iss": self.origin})}
        if self.deny:
            back["error"] = self.deny
            back["error_description"] = "no, thanks"
        else:
            code = f"code-{len(self.authorized)}-0123456789abcdef"
            self.codes[code] = asked
            back["code"] = code
        back.update(self.answer_extra)
        return 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}, b""

    def _token(self, headers: dict[str, Any], form: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.token_requests.append(form)
        scheme, _, basic = headers.get("authorization", "").partition(" ")
        client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if scheme == "Basic":
            if self.post_only:
                return 401, {"error": "invalid_client"}
            client, secret = map(unquote, base64.b64decode(basic).decode().split(":"))
        if client not in self.clients or self.clients[client] != secret:
            return 401, {"error": "invalid_client", "error_description": f"the secret {secret} is wrong"}
        match form["grant_type"]:
            case "client_credentials":
                return 200, self.issue(form.get("scope", ""), refreshable=False)
            case "authorization_code":
                asked = self.codes.pop(form["code"], None)
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if not asked or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
                    return 400, {"error": "invalid_grant"}
                return 200, self.issue(asked.get("scope", ""))
            case "refresh_token":
                if self.refresh_status != 200:
                    return self.refresh_status, {"error": "temporarily_unavailable"}
                scope = self.refresh_tokens.pop(form["refresh_token"], None)  # good for one time only
                return (400, {"error": "invalid_grant"}) if scope is None else (200, self.issue(scope))
        return 400, {"error": "unsupported_grant_type"}


def address_in(text: str) -> str:
    """The address that a person was told to open."""
    found = text.rpartition(" ")[2]
    assert urlsplit(found).scheme == "http"
    return found
