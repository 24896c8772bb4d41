"""The page as tests serve it, over a home of their own, and requests without a browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pflow.drawing.happened
import pflow.drawing.svg  # noqa: F401  # pytest rewrites what is imported, which Python 3.11 cannot do while a thread parses
from pflow.core.file.home import Home
from pflow.web.serve import Place, bind, make_listener
from pflow.workspace import Workspace

T = TypeVar("T")

TOKEN = "t" * 43


class Answer:
    """What a request got."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A page that is served, and the workspace behind it."""

    def __init__(self, home: Path, place: Place) -> None:
        self.home = Home(home)
        self.place = place
        self.origin = f"http://127.0.0.1:{place.port}"

    def link(self, path: str = "/") -> str:
        return self.place.link(path)

    def ask(self, path: str, *, method: str = "GET", body: object = None, **headers: str) -> Answer:
        """A request with all that the gate wants, unless `headers` say otherwise; an empty one is left out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Host": f"127.0.0.1:{self.place.port}", "Cookie": f"pflow_{self.place.port}={TOKEN}"}
        if method == "POST":
            sent |= {"Origin": self.origin, "X-Pflow": "1"}
        connection = http.client.HTTPConnection("127.0.0.1", self.place.port, timeout=60)
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {name: value for name, value in (sent | named).items() if value}
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if data is not None and not sent.keys() & {"Content-Length", "Transfer-Encoding"}:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def do(self, work: Callable[[Workspace], T], **parts: Any) -> T:
        """Something with the workspace, on a thread of its own: one with a browser in it has an event loop already."""

        def inside() -> T:
            with Workspace(self.home, **parts) as workspace:
                return work(workspace)

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(inside).result()

    def run(self, document: object, **inputs: object) -> str:
        """Run a document as far as it gets; the run's id."""
        return self.do(lambda workspace: workspace.run(document, inputs).run_id)  # type: ignore[arg-type]


@contextmanager
def serve(home: Path) -> Iterator[Served]:
    """Serve the page until the end."""
    bound = bind(0)
    place = Place(port=bound.getsockname()[1], token=TOKEN)
    ready = threading.Event()
    listener = make_listener(lambda: Workspace(Home(home)), place, ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(listener.serve([bound])))
    thread.start()
    try:
        assert ready.wait(60)
        yield Served(home, place)
    finally:
        listener.should_exit = True
        listener.force_exit = True
        thread.join()
        bound.close()
