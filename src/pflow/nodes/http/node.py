"""The `http` node: one call, its answer parsed, its failure as an action. Connections are made in `step_client`."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pflow.core.errors import StepError
from pflow.core.file.atomic import write_atomic
from pflow.engine.context import find_step
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
from pflow.nodes.output_node import AsyncOutputNode

_FORM = "application/x-www-form-urlencoded"


class Http(AsyncOutputNode):
    """Call an HTTP endpoint and parse what it answers.

    Only public addresses are called unless the setting `http.allow_private` or `http.allow_hosts` allows others.
    Redirects are followed (at most 5) as long as they do not lead from https to http; another origin sees
    neither credentials nor bodies. Proxy variables of the environment are ignored. A binary answer becomes a
    file. A POST or PATCH carries an `Idempotency-Key` that stays the same when the step is tried again. A GET or HEAD
    only reads: it may run again unasked, and is never taken from the cache.
    """

    name = "http"
    synonyms = (
        "download a web page",
        "fetch a url",
        "get a website",
        "call a rest api",
        "send a request to a web service",
        "post data to a server or webhook",
        "upload",
        "online",
        "internet",
        "json from an address",
        "curl",
        "weather, prices or rates from a service",
        "open a link or site",
        "html content",
        "scrape",
        "json api",
        "endpoint with a token or header",
        "https get, post, put, patch, delete",
        "submit a form to a website",
        "check whether a site is up",
        "exchange rates, stocks, news from the web",
        "notify a service",
        "talk to, query or contact an external system",
    )

    class Params:
        url: Annotated[str, "http(s) address", "slot:url"]
        method: Annotated[str, "HTTP method; without one GET, or POST when there is a body"] = ""
        headers: Annotated[dict[str, object] | None, "Request headers"] = None
        params: Annotated[dict[str, object] | None, "Query parameters; a list repeats its name"] = None
        body: Annotated[object, "Request body: text, or an object that is sent as JSON (or as a form)"] = None
        json: Annotated[object, "Request body, sent as JSON"] = None
        timeout: Annotated[float | str, "How long the whole call may take, such as 90s", "slot:duration"] = 30.0
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

    async def exec_async(self, prep_res: object) -> dict[str, object]:
        """Make the call."""
        request = make_request(self.params)
        insecure = self.params.get("insecure") is True
        if insecure and (step := find_step()):
            step.report(f"TLS certificates are not verified for {request.method} of this step")
        reply = await call(request, network_policy(), verify=not insecure)
        binary = reply.content and not is_text(reply)
        value = await _store(reply) if binary else body_value(reply)
        return {"response": value, "status_code": reply.status, "headers": dict(reply.headers), "url": reply.url}


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
    step = find_step()
    return step.services.settings if step else {}


def make_request(params: Mapping[str, Any]) -> Request:
    """The call that a node's parameters describe. Raises `StepError` for parameters that do not describe one."""
    url = param.required_text(params, "url", "give the address that the step should call")
    headers = check_headers(param.mapping(params, "headers"))
    content, content_type = _content(params, headers.get("content-type", ""))
    if content is not None:
        headers.setdefault("content-type", content_type)
    credentials, secrets = _auth(params.get("auth"))
    headers.update(credentials)
    method = check_method(params.get("method"), content)
    query = query_pairs(param.mapping(params, "params"))
    if method in ("POST", "PATCH") and (step := find_step()):
        # One key for every attempt of a step at the same call, so that a server can recognize a repetition.
        digest = hashlib.sha256(repr((step.idempotency_key, method, url, query)).encode())
        digest.update(content or b"")
        headers.setdefault("idempotency-key", digest.hexdigest()[:32])
    return Request(
        method=method,
        url=url.strip(),
        headers=headers,
        params=query,
        content=content,
        timeout=param.seconds(params, "timeout", 30.0),
        max_bytes=int(param.number(params, "max_bytes", Http.Params.max_bytes, most=2**31)),
        secrets=secrets_in(headers, [*secrets, *_query_values(url, query)]),
    )


def _content(params: Mapping[str, Any], content_type: str) -> tuple[bytes | None, str]:
    """The body as bytes and the type that it has unless the headers say otherwise."""
    body, value = params.get("body"), params.get("json")
    if body is not None and value is not None:
        raise StepError("`body` and `json` are both given", suggestions=["keep the one that should be sent"])
    if value is not None:
        return param.json_bytes("json", value), "application/json"
    if body is None:
        return None, ""
    if isinstance(body, str):
        return param.utf8("body", body), "text/plain; charset=utf-8"
    if isinstance(body, Mapping) and content_type.lower().startswith(_FORM):
        from urllib.parse import urlencode  # lazy: only forms need it

        return urlencode(query_pairs(body)).encode(), _FORM
    return param.json_bytes("body", body), "application/json"


def query_pairs(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Query parameters or form fields as text. A list repeats its name, None leaves it out."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str):
                pairs.append((str(name), one))
            elif one is not None:
                pairs.append((str(name), param.json_bytes(name, one).decode()))
    return pairs


def _query_values(url: str, query: list[tuple[str, str]]) -> list[str]:
    """Query values long enough to be keys, which servers often repeat in their errors."""
    from urllib.parse import parse_qsl  # lazy: few addresses have a query

    written = parse_qsl(url.partition("?")[2].partition("#")[0]) if "?" in url else []
    return [value for _, value in (*written, *query) if len(value) >= 8]


def _auth(auth: object) -> tuple[dict[str, str], list[str]]:
    """The headers that carry credentials, and the secrets in them."""
    match auth:
        case None | "":
            return {}, []
        case str(token) | {"type": "bearer", "token": str(token)}:
            return check_headers({"authorization": f"Bearer {token}"}), [token]
        case {"type": "basic", "username": str(username), "password": str(password)}:
            if ":" in username:
                raise StepError("the user name in `auth` contains a colon, which basic authentication cannot carry")
            pair = base64.b64encode(f"{username}:{password}".encode("utf-8", errors="replace")).decode()
            return check_headers({"authorization": f"Basic {pair}"}), [password]
        case {"type": "header", "name": str(name), "value": str(value)}:
            return check_headers({name: value}), [value]
    if not isinstance(auth, Mapping):
        raise param.wrong("auth", "a token or an object", auth)
    raise StepError(
        "`auth` has an unknown form",
        details={"fields": sorted(str(field) for field in auth)},
        suggestions=[
            '{"type": "bearer", "token": "…"}',
            '{"type": "basic", "username": "…", "password": "…"}',
            '{"type": "header", "name": "…", "value": "…"}',
        ],
    )


async def _store(reply: Reply) -> dict[str, object]:
    """Put a binary body into the directory of the run, under a name that its content decides."""
    if step := find_step():
        directory = step.folder()
    else:
        import tempfile  # lazy: only outside of a run

        directory = Path(tempfile.mkdtemp(prefix="pflow-"))
    path = directory / f"http-{hashlib.sha256(reply.content).hexdigest()[:32]}"
    await asyncio.to_thread(write_atomic, path, reply.content)
    return {"file": str(path), "size": len(reply.content), "content_type": reply.content_type}
