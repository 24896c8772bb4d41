"""The page's application: addresses, and the one workspace call behind each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pflow.core.errors import NotFoundError, PflowError, UsageError
from pflow.web import action, data
from pflow.web.backend import Backend
from pflow.web.feed import Feed
from pflow.web.reply import refuse, reply
from pflow.web.static_file import STATIC, read_static
from pflow.web.worked_times import WorkedTimes

if TYPE_CHECKING:
    from pflow.workspace import Workspace

Handler = Callable[[Request], Awaitable[Response]]
Act = Callable[["Workspace", str, Mapping[str, object]], dict[str, object]]

_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pflow</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/page.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript.</noscript>
<script src="/static/lit.js"></script>
<script src="/static/view.js"></script>
<script src="/static/page.js"></script>
</body>
</html>
"""


class Pages:
    """Answers requests that the gate let through."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._feed = Feed(backend)
        self._times = WorkedTimes()

    def app(self) -> Starlette:
        """The application."""
        get = [
            ("/", self._shell),
            ("/runs/{run}", self._run_shell),
            ("/workflows/{name:path}", self._shell),
            ("/static/{name}", self._static),
            ("/api/ping", self._ping),
            ("/api/events", self._events),
            ("/api/runs", self._runs),
            ("/api/workflows", self._workflows),
            ("/api/compare", self._compare),
            ("/api/runs/{run}", self._run),
            ("/api/runs/{run}/events", self._run_events),
            ("/api/runs/{run}/questions", self._questions),
            ("/api/runs/{run}/step", self._step),
            ("/api/runs/{run}/params", self._params),
            ("/api/runs/{run}/items", self._items),
            ("/api/runs/{run}/graph.svg", self._graph),
            ("/api/runs/{run}/values/{digest}", self._value),
            ("/api/workflows/{name:path}/graph.svg", self._workflow_graph),
            ("/api/workflows/{name:path}", self._workflow),
        ]
        post: list[tuple[str, Act]] = [
            ("/api/runs/{run}/cancel", action.cancel_run),
            ("/api/runs/{run}/resume", action.resume_run),
            ("/api/runs/{run}/answer", action.answer_run),
            ("/api/runs/{run}/fork", action.fork_run),
            ("/api/runs/{run}/test", action.make_test),
            ("/api/workflows/{run:path}/run", action.run_workflow),
        ]
        routes = [Route(path, self._guarded(handler), methods=["GET"]) for path, handler in get]
        routes += [Route(path, self._guarded(self._acting(act)), methods=["POST"]) for path, act in post]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:  # also where the server ends at once, and does not wait for pages that are open
            self._backend.close()

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except PflowError as error:
                return refuse(error, await self._backend.read(lambda workspace: workspace.redact_report))

        return guarded

    def _acting(self, act: Act) -> Handler:
        async def acting(request: Request) -> Response:
            body = await _read_body(request)
            return reply(await self._backend.act(lambda workspace: act(workspace, request.path_params["run"], body)))

        return acting

    async def _shell(self, request: Request) -> Response:
        return _page(200)

    async def _run_shell(self, request: Request) -> Response:
        run = request.path_params["run"]
        try:
            await self._backend.read(lambda workspace: workspace.find_run(run))
        except PflowError:
            return _page(404)
        return _page(200)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise NotFoundError(f"there is no file `{name[:80]}`")
        return Response(read_static(name), 200, {"cache-control": "no-cache"}, STATIC[name])

    async def _ping(self, request: Request) -> Response:
        return reply({"pflow": True})

    async def _events(self, request: Request) -> Response:
        return self._stream(self._feed.changes())

    async def _run_events(self, request: Request) -> Response:
        run = request.path_params["run"]
        after = _number(request.headers.get("last-event-id") or request.query_params.get("after") or "0", "after")
        found = await self._backend.read(lambda workspace: workspace.find_run(run))
        return self._stream(self._feed.of_run(found, after))

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        if self._feed.is_full:
            error = UsageError("too many pages are open: close some to see this one live")
            return Response(error.message, 503, media_type="text/plain")
        return StreamingResponse(events, 200, {"cache-control": "no-store"}, "text/event-stream")

    async def _runs(self, request: Request) -> Response:
        query = dict(request.query_params)
        return reply(await self._backend.read(lambda workspace: data.runs_data(workspace, query, self._times)))

    async def _workflows(self, request: Request) -> Response:
        return reply(await self._backend.act(data.workflows_data))

    async def _compare(self, request: Request) -> Response:
        one, other = request.query_params.get("a", ""), request.query_params.get("b", "")
        return reply(await self._backend.act(lambda workspace: data.compare_data(workspace, one, other)))

    async def _run(self, request: Request) -> Response:
        run = request.path_params["run"]
        return reply(await self._backend.read(lambda workspace: data.run_data(workspace, run)))

    async def _questions(self, request: Request) -> Response:
        run = request.path_params["run"]

        def look(workspace: Workspace) -> list[dict[str, object]]:
            return data.questions_data(workspace.waiting(run))

        return reply(await self._backend.read(look))

    async def _step(self, request: Request) -> Response:
        run, step = request.path_params["run"], request.query_params.get("step", "")
        return reply(await self._backend.read(lambda workspace: workspace.viewing.step(run, step)))

    async def _params(self, request: Request) -> Response:
        run, step = request.path_params["run"], request.query_params.get("step", "")
        return reply(await self._backend.act(lambda workspace: workspace.params(run, [step]).get(step)))

    async def _items(self, request: Request) -> Response:
        run, step = request.path_params["run"], request.query_params.get("step", "")
        offset, limit = _page_of(request, 200)
        return reply(await self._backend.read(lambda workspace: workspace.viewing.items(run, step, offset, limit)))

    async def _value(self, request: Request) -> Response:
        run, digest = request.path_params["run"], request.path_params["digest"]
        offset, limit = _page_of(request, 20_000)
        # not the thread that reads for all pages: a large value takes a moment
        return reply(await self._backend.act(lambda workspace: workspace.viewing.value(run, digest, offset, limit)))

    async def _graph(self, request: Request) -> Response:
        run, whole = request.path_params["run"], "all" in request.query_params
        return _svg(await self._backend.act(lambda workspace: data.run_graph(workspace, run, draw_all=whole)))

    async def _workflow_graph(self, request: Request) -> Response:
        name, whole = request.path_params["name"], "all" in request.query_params
        return _svg(await self._backend.act(lambda workspace: data.workflow_graph(workspace, name, draw_all=whole)))

    async def _workflow(self, request: Request) -> Response:
        name = request.path_params["name"]
        return reply(await self._backend.act(lambda workspace: data.workflow_data(workspace, name, self._times)))


def _page(status: int) -> Response:
    return Response(_SHELL, status, {"cache-control": "no-store"}, "text/html")


def _svg(text: str) -> Response:
    """A picture; without content if it is too large to be drawn unasked."""
    return Response(text, 200 if text else 204, {"cache-control": "no-store"}, "image/svg+xml")


async def _read_body(request: Request) -> Mapping[str, object]:
    try:
        found = orjson.loads(await request.body() or b"{}")
    except (ValueError, ClientDisconnect):
        raise UsageError("the request is not a JSON object") from None
    if not isinstance(found, dict):
        raise UsageError("the request is not a JSON object")
    return found


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise UsageError(f"`{name}` is a number")
    return int(text)


def _page_of(request: Request, limit: int) -> tuple[int, int]:
    query = request.query_params
    return _number(query.get("offset", "0"), "offset"), _number(query.get("limit", str(limit)), "limit")
