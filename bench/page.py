"""The page: how soon a run of 10,000 steps is there and follows its news, and what serving it costs."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dev_needs
from bench.measure import child_environment
from bench.row import Row
from pflow.core.file.home import Home
from pflow.web.static_file import STATIC, read_static
from pflow.workspace import Workspace
from tests.web.browser import Watched, open_browser

STEPS = 10_000
TRIES = 5
IDLE_SECONDS = 5.0

EMPTY = """
import socket, uvicorn
from starlette.applications import Starlette
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("ready", flush=True)
bound = socket.create_server(("127.0.0.1", 0))
Server(uvicorn.Config(Starlette(), http="h11", ws="none", log_config=None)).run([bound])
"""

WATCH = """
window.first = 0;
new MutationObserver(() => { if (!window.first && document.querySelector('.row'))
  { window.first = 1; requestAnimationFrame(() => { window.first = performance.now(); }); } })
  .observe(document, { childList: true, subtree: true });
"""
UPDATES = """() => {
  const page = window.pflowPage, times = [];
  for (let n = 0; n < 40; n++) {
    const row = structuredClone(page.data.steps[9990 + n % 10]);
    const began = performance.now();
    page.merge({ ...page.data, steps: [row], questions: undefined });
    page.paint();
    document.getElementById("rows").getBoundingClientRect();
    times.push(performance.now() - began);
  }
  return times.slice(5).sort((a, b) => a - b);
}"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="pflow-bench-") as folder:
        home = Path(folder)
        run = make_run(home)
        empty = start_seconds([sys.executable, "-c", EMPTY], home)
        pflow = str(Path(sys.executable).with_name("pflow"))
        command = [pflow, "ui", "--no-open", "--port", "0"]
        ours = start_seconds(command, home)
        found = [
            Row(
                group="page",
                what="start of `pflow ui`, CPU",
                us=ours,
                floor=empty,
                unit="s",
                rule="ratio",
                limit=1.3,
                note="floor: an empty starlette application",
            ),
            Row(
                group="page",
                what="files of the page",
                us=sum(len(read_static(name)) for name in STATIC),
                unit="B",
                rule="most",
                limit=60_000,
            ),
        ]
        process = subprocess.Popen(command, env=child_environment(home), cwd=home, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            link = process.stdout.readline().decode().strip()
            found += [idle_row(process.pid, link), *browser_rows(link, run)]
        finally:
            process.kill()
            process.communicate()
    return found


def make_run(home: Path) -> str:
    """A run of 10,000 steps; its id."""
    nodes = [{"id": f"n{number}", "type": "echo", "params": {"text": "x"}} for number in range(STEPS)]
    with Workspace(Home(home / ".pflow")) as workspace:
        return workspace.run({"name": "long", "nodes": nodes}).run_id


def start_seconds(command: list[str], home: Path) -> float:
    """The least CPU time until a server has said that it is ready."""
    best = float("inf")
    for _ in range(TRIES):
        process = subprocess.Popen(
            command, env=child_environment(home), cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        process.stdout.readline()
        best = min(best, cpu_of(process.pid))
        process.kill()
        process.communicate()
    return best


def cpu_of(pid: int) -> float:
    """The CPU time that a process has used, from its own clock: /proc tells it in ticks of 10 ms only."""
    return time.clock_gettime((~pid << 3) | 2)  # as `clock_getcpuclockid` makes it


def idle_row(pid: int, link: str) -> Row:
    """What a server costs that one page is open at, while nothing happens."""
    port, token = parts_of(link)
    cookie = {"Cookie": f"pflow_{port}={token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/api/runs", headers=cookie)
    connection.getresponse().read()
    connection.request("GET", "/api/events", headers=cookie)
    response = connection.getresponse()
    response.readline()
    time.sleep(1.0)  # what is loaded once is no cost of being idle
    before = cpu_of(pid)
    time.sleep(IDLE_SECONDS)
    spent = (cpu_of(pid) - before) / IDLE_SECONDS
    response.close()
    connection.close()
    return Row(group="page", what="CPU per idle second, one page open", us=spent, unit="s", rule="most", limit=0.01)


def parts_of(link: str) -> tuple[int, str]:
    """Port and token."""
    found = re.search(r":(\d+)/.*\?k=(.+)$", link)
    assert found is not None
    return int(found[1]), found[2]


def browser_rows(link: str, run: str) -> list[Row]:
    """What a browser makes of the run, where there is one."""
    if dev_needs.missing(["browser"]):
        return [
            Row(
                group="page",
                what="in a browser",
                us=1,
                unit="s",
                rule="most",
                limit=0,
                note="not measured: there is no Chromium and Playwright; `python3 dev_needs.py` installs them",
            )
        ]
    port, token = parts_of(link)
    firsts: list[float] = []
    updates: list[list[float]] = []
    heap = 0.0
    nodes = 0
    with open_browser() as browser:
        for _ in range(3):
            watched = Watched(browser, f"http://127.0.0.1:{port}")
            watched.add(WATCH)
            watched.page.goto(f"http://127.0.0.1:{port}/runs/{run}?k={token}")
            watched.page.locator(".row").first.inner_text()
            firsts.append(first_paint(watched.page))
            updates.append(watched.page.evaluate(UPDATES))
            heap = max(heap, float(watched.page.evaluate("performance.memory.usedJSHeapSize")))
            nodes = max(nodes, int(watched.page.evaluate("document.querySelectorAll('.row').length")))
            watched.close()
    steps = f"{STEPS:,} steps"
    best = min(updates, key=lambda times: times[-1])
    return [
        Row(
            group="page",
            what=f"first paint of {steps}, after the answer",
            us=min(firsts),
            unit="s",
            rule="most",
            limit=0.5,
        ),
        Row(group="page", what=f"update of {steps}, median", us=best[17] / 1000, unit="s", rule="most", limit=0.05),
        Row(group="page", what=f"update of {steps}, slowest", us=best[-1] / 1000, unit="s", rule="most", limit=0.05),
        Row(group="page", what=f"memory of a page with {steps}", us=heap, unit="B", rule="most", limit=64e6),
        Row(group="page", what="rows in the page at once", us=nodes, unit="rows", rule="most", limit=100),
    ]


def first_paint(page: Any) -> float:
    """Seconds from the last byte of the answer to the frame that shows it."""
    found = page.evaluate(
        "() => { const e = performance.getEntriesByType('resource').find(e => /api.runs.[^/]+$/.test(e.name));"
        " return (window.first - e.responseEnd) / 1000; }"
    )
    return float(found)
