"""The `http` node: one call, its answer parsed, its failure as an action. Connections are made elsewhere."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
from pocketflow import AsyncNode

from pflow.core.errors import StepError
from pflow.core.file.atomic import write_atomic
from pflow.engine.context import current_step
from pflow.nodes import param
from pflow.nodes.http.message import (
    Reply,
    Request,
    body_value,
    check_headers,
    check_method,
    is_text,
    secrets_in,
    status_error,
)
from pflow.nodes.http.network_policy import NetworkPolicy

_FORM = "application/x-www-form-urlencoded"


class Http(AsyncNode):
    """Call an HTTP endpoint and parse what it answers.

    Only public addresses are called unless the setting `http.allow_private` or `http.allow_hosts` says more.
    Redirects are followed (at most 5) as long as they do not lead from https to http; another origin sees
    neither credentials nor bodies. Proxy variables of the environment are ignored. A binary answer becomes a
    file. A POST or PATCH carries an `Idempotency-Key` that stays the same when the step is tried again.
    """

    name = "http"

    class Params:
        url: Annotated[str, "http(s) address", "slot:url"]
        method: Annotated[str, "HTTP method; without one GET, or POST when there is a body"] = ""
        headers: Annotated[dict[str, object] | None, "Request headers"] = None
        params: Annotated[dict[str, object] | None, "Query parameters; a list repeats its name"] = None
        body: Annotated[object, "Request body: text, or an object that is sent as JSON (or as a form)"] = None
        json: Annotated[object, "Request body, sent as JSON"] = None
        timeout: Annotated[float, "Seconds for the whole call"] = 30.0
        auth: Annotated[
            dict[str, object] | str | None,
            'Bearer token, or {"type": "bearer", "token"}, {"type": "basic", "username", "password"},'
            ' {"type": "header", "name", "value"}',
        ] = None
        max_bytes: Annotated[int, "Largest answer to accept, after decompression"] = 10 * 1024 * 1024
        insecure: Annotated[bool, "Go without verifying the certificate"] = False

    class Outputs:
        response: Annotated[
            dict[str, object] | list[object] | str,
            'Parsed JSON, else text; for binary {"file", "size", "content_type"}',
        ]
        status_code: Annotated[int, "HTTP status"]
        headers: Annotated[dict[str, str], "Response headers, names in lower case"]
        url: Annotated[str, "Address that answered, after redirects"]

    actions = ("default", "error", "timeout", "rate_limited", "auth_failed", "resource_missing")
    purity = "impure"

    async def exec_async(self, prep_res: object) -> tuple[Reply, object]:
        """Make the call."""
        request = make_request(self.params)
        insecure = self.params.get("insecure") is True
        if insecure:
            report(f"TLS certificates are not verified for {request.method} of this step")
        reply = await call(request, network_policy(), verify=not insecure)
        binary = reply.content and not is_text(reply)
        return reply, await _store(reply) if binary else body_value(reply)

    async def post_async(self, shared: dict[str, object], prep_res: object, exec_res: tuple[Reply, object]) -> str:
        """Write what was answered."""
        reply, value = exec_res
        shared["response"] = value
        shared["status_code"] = reply.status
        shared["headers"] = dict(reply.headers)
        shared["url"] = reply.url
        return "default"


Refuse = Callable[[Request, Reply, StepError], StepError]


async def call(request: Request, policy: NetworkPolicy, *, verify: bool = True, refuse: Refuse | None = None) -> Reply:
    """The answer to a call that succeeded. Any status outside 2xx is raised as its failure.

    `refuse` says more about that failure where a caller knows the server.
    """
    from pflow.nodes.http.step_client import shared_client  # lazy: httpx2 costs 120 ms

    client = await shared_client(policy, verify=verify)
    reply = await client.send(request)
    if not 200 <= reply.status < 300:
        error = status_error(request, reply)
        raise error if refuse is None else refuse(request, reply, error)
    return reply


def network_policy() -> NetworkPolicy:
    """The policy of the current step; the default one outside of a run."""
    return NetworkPolicy.from_settings(settings())


def settings() -> Mapping[str, str]:
    """The settings that the current step may see; none outside of a run."""
    try:
        return current_step().services.settings
    except LookupError:
        return {}


def report(message: str) -> None:
    """Show a line to whoever watches the run, if there is one."""
    try:
        current_step().report(message)
    except LookupError:
        pass


def make_request(params: Mapping[str, Any]) -> Request:
    """The call that a node's parameters describe. Raises `StepError` for parameters that make no call."""
    url = params.get("url")
    if not isinstance(url, str) or not url.strip():
        raise StepError("`url` is empty", suggestions=["Give the address that the step should call"])
    headers = check_headers(param.mapping(params, "headers"))
    content, content_type = _content(params, headers.get("content-type", ""))
    if content is not None:
        headers.setdefault("content-type", content_type)
    headers.update(_auth_headers(params.get("auth")))
    method = check_method(params.get("method"), content)
    query = query_pairs(param.mapping(params, "params"))
    if method in ("POST", "PATCH"):
        key = _idempotency_key(method, url, query, content or b"")
        if key:
            headers.setdefault("idempotency-key", key)
    return Request(
        method=method,
        url=url.strip(),
        headers=headers,
        params=query,
        content=content,
        timeout=param.seconds(params, "timeout", Http.Params.timeout),
        max_bytes=int(param.number(params, "max_bytes", Http.Params.max_bytes, most=2**31)),
        secrets=secrets_in(headers, [*_auth_values(params.get("auth")), *_query_values(url, query)]),
    )


def _content(params: Mapping[str, Any], content_type: str) -> tuple[bytes | None, str]:
    """The body as bytes and the type that it has unless the headers say otherwise."""
    body, value = params.get("body"), params.get("json")
    if body is not None and value is not None:
        raise StepError("`body` and `json` are both given", suggestions=["Keep the one that should be sent"])
    if value is not None:
        return encode_json(value, "json"), "application/json"
    if body is None:
        return None, ""
    if isinstance(body, str):
        try:
            return body.encode(), "text/plain; charset=utf-8"
        except UnicodeEncodeError as error:
            raise StepError("`body` holds text that is not valid Unicode") from error
    if isinstance(body, Mapping) and content_type.lower().startswith(_FORM):
        from urllib.parse import urlencode  # lazy: only forms need it

        return urlencode(query_pairs(body)).encode(), _FORM
    return encode_json(body, "body"), "application/json"


def encode_json(value: object, name: str) -> bytes:
    """A value as JSON. Raises `StepError` that calls it `name`."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise StepError(f"`{name}` cannot be sent as JSON: {error}") from error


def query_pairs(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Query parameters or form fields as text. A list repeats its name, None leaves it out."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str):
                pairs.append((str(name), one))
            elif one is not None:
                pairs.append((str(name), encode_json(one, name).decode()))
    return pairs


def _query_values(url: str, query: list[tuple[str, str]]) -> list[str]:
    """Query values long enough to be keys, which servers like to repeat in their errors."""
    from urllib.parse import parse_qsl  # lazy: few addresses have a query

    written = parse_qsl(url.partition("?")[2].partition("#")[0]) if "?" in url else []
    return [value for _, value in (*written, *query) if len(value) >= 8]


def _auth_headers(auth: object) -> dict[str, str]:
    if auth is None or auth == "":
        return {}
    if isinstance(auth, str):
        auth = {"type": "bearer", "token": auth}
    if not isinstance(auth, Mapping):
        raise StepError(f"`auth` needs a token or an object, not {type(auth).__name__}")
    match auth:
        case {"type": "bearer", "token": str(token)}:
            return check_headers({"authorization": f"Bearer {token}"})
        case {"type": "basic", "username": str(username), "password": str(password)}:
            if ":" in username:
                raise StepError("the user name in `auth` holds a colon, which basic authentication cannot carry")
            pair = base64.b64encode(f"{username}:{password}".encode("utf-8", errors="replace")).decode()
            return check_headers({"authorization": f"Basic {pair}"})
        case {"type": "header", "name": str(name), "value": str(value)}:
            return check_headers({name: value})
    raise StepError(
        "`auth` has a form that is not known",
        details={"fields": sorted(str(field) for field in auth)},
        suggestions=[
            '{"type": "bearer", "token": "…"}',
            '{"type": "basic", "username": "…", "password": "…"}',
            '{"type": "header", "name": "…", "value": "…"}',
        ],
    )


def _auth_values(auth: object) -> list[str]:
    if isinstance(auth, str):
        return [auth]
    if isinstance(auth, Mapping):
        return [value for field in ("token", "password", "value") if isinstance(value := auth.get(field), str)]
    return []


def _idempotency_key(method: str, url: str, query: list[tuple[str, str]], content: bytes) -> str:
    """One key for every attempt of a step at the same call, so that a server can tell a repetition."""
    try:
        step = current_step().idempotency_key
    except LookupError:
        return ""
    digest = hashlib.sha256(repr((step, method, url, query)).encode())
    digest.update(content)
    return digest.hexdigest()[:32]


async def _store(reply: Reply) -> dict[str, object]:
    """Put a binary body into the folder of the run, under a name that its content decides."""
    try:
        folder = current_step().folder()
    except LookupError:
        import tempfile  # lazy: only outside of a run

        folder = Path(tempfile.mkdtemp(prefix="pflow-"))
    path = folder / f"http-{hashlib.sha256(reply.content).hexdigest()[:32]}"
    await asyncio.to_thread(write_atomic, path, reply.content)
    return {"file": str(path), "size": len(reply.content), "content_type": reply.content_type}
