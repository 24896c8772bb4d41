"""Pictures the page for the documentation: `python -m tests.web.pictures [FOLDER]`, by default into `docs`.

Look at every one of them before it is committed.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dev_install import ROOT
from pflow.core.errors import PflowError
from tests.web.browser import Watched, open_browser
from tests.web.serving import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HEIGHT = 720
MANY = 10_000
COMPLETE = """() => {
  const has = (selector) => document.querySelector(selector) !== null;
  return has("main h1") && !document.body.innerText.includes("loading …")
    && (!has(".canvas") || has(".canvas svg") || !has(".graph[open]"))
    && (!has("#step-title") || document.body.innerText.includes("PARAMETERS"))
    && (location.pathname === "/" ? has(".names") : true);
}"""
"""Whether a page shows all that it will."""


RELEASE: dict[str, Any] = {
    "name": "release-notes",
    "description": "Collects what has changed, and publishes it once somebody agrees.",
    "inputs": {
        "since": {"type": "string", "default": "v1.4", "description": "The tag to begin at."},
        "limit": {"type": "integer", "default": 20},
        "channel": {"type": "string", "description": "Where it is announced."},
        "draft": {"type": "boolean", "default": False},
    },
    "nodes": [
        {"id": "fetch", "type": "echo", "params": {"text": "changes since ${since}"}},
        {"id": "numbers", "type": "code", "params": {"code": "result = list(range(6))"}},
        {
            "id": "each",
            "type": "shell",
            "batch": {"items": "${numbers.result}", "concurrency": 4, "on_error": "continue"},
            "params": {"command": "sleep 0.1; echo item ${item}; test ${item} -ne 4"},
        },
        {
            "id": "flaky",
            "type": "shell",
            "params": {"command": "test -e seen || { touch seen; exit 1; }"},
            "retry": {"attempts": 3, "wait": 0.4},
        },
        {
            "id": "slow",
            "type": "shell",
            "params": {"command": "sleep 0.8; echo 3 features and 5 fixes; echo warning >&2"},
        },
        {
            "id": "review",
            "type": "ask",
            "params": {
                "prompt": "Publish the notes?",
                "show": {"text": "${slow.stdout}"},
                "choices": ["yes", "no"],
                "schema": {"note": {"type": "string", "required": False}},
            },
            "on": {"yes": "announce", "no": "end"},
        },
        {"id": "announce", "type": "echo", "params": {"text": "${slow.stdout} for ${channel}"}},
    ],
    "outputs": {"said": "${announce.text:-nothing}"},
}
CHANGELOG: dict[str, Any] = {
    "name": "changelog",
    "inputs": {"since": {"type": "string"}},
    "nodes": [
        {"id": "log", "type": "shell", "params": {"command": "echo ${since}; sleep 0.05"}},
        {"id": "count", "type": "code", "params": {"code": "result = len(text)", "inputs": {"text": "${log.stdout}"}}},
        {"id": "done", "type": "echo", "params": {"text": "ready"}},
    ],
    "outputs": {"count": "${count.result}"},
}
FAILS: dict[str, Any] = {
    "name": "nightly-report",
    "nodes": [
        {"id": "warm-up", "type": "shell", "params": {"command": "sleep 0.2; echo ready"}},
        {
            "id": "load",
            "type": "shell",
            "params": {"command": "sleep 0.3; echo 'no such table: orders' >&2; exit 3"},
            "retry": {"attempts": 3, "wait": 0.3},
        },
        {"id": "sum", "type": "echo", "params": {"rows": "${load.stdout}"}},
        {"id": "send", "type": "echo", "params": {"text": "${sum.rows}"}},
    ],
}
LONG: dict[str, Any] = {
    "name": "long",
    "nodes": [{"id": f"n{number}", "type": "echo", "params": {"text": f"{number}"}} for number in range(MANY)],
}


class Pictures:
    """Takes them, of one page."""

    def __init__(self, browser: Browser, page: Served, folder: Path) -> None:
        self._browser = browser
        self._page = page
        self._folder = folder

    def take(self, name: str, path: str, scheme: Literal["light", "dark"] = "light", *, width: int = 1240) -> None:
        """One of a window."""
        watched = Watched(self._browser, self._page.origin, scheme, width=width, height=HEIGHT)
        shown = watched.page
        shown.goto(self._page.link())
        shown.wait_for_function(COMPLETE)
        shown.goto(f"{self._page.origin}{path}")
        shown.wait_for_function(COMPLETE)
        shown.screenshot(path=self._folder / f"{name}.png")
        watched.check()
        watched.close()


def main(folder: Path) -> None:
    """Have the runs, serve them, and picture each state."""
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="pflow-") as scratch, chdir(scratch), serve(Path(scratch) / "home") as page:
        runs = make_runs(page)
        with open_browser() as browser:
            pictures = Pictures(browser, page, folder)
            pictures.take("page-runs", "/")
            pictures.take("page-run", f"/runs/{runs['done']}#each[4]")
            pictures.take("page-waiting-dark", f"/runs/{runs['waits']}#slow", "dark")
            pictures.take("page-failed", f"/runs/{runs['failed']}#load")
            pictures.take("page-compare-dark", f"/runs/{runs['one']}?with={runs['two']}", "dark")
            pictures.take("page-workflow", "/workflows/release-notes")
            pictures.take("page-narrow", f"/runs/{runs['failed']}", width=420)
            pictures.take("page-long", f"/runs/{runs['long']}")


def make_runs(page: Served) -> dict[str, str]:
    """The runs that are shown, by what they are."""
    runs: dict[str, str] = {}
    runs["long"] = page.run(LONG)
    runs["one"] = page.run(CHANGELOG, since="v1.4")
    runs["two"] = page.run(CHANGELOG, since="v1.5.0")
    with suppress(PflowError):
        page.run(FAILS)
    page.do(lambda workspace: workspace.save(RELEASE, "release-notes"))
    runs["done"] = page.run(RELEASE, channel="#news")
    page.do(lambda workspace: workspace.answer(runs["done"], "review", "yes", by="ana", via="terminal"))
    page.do(lambda workspace: workspace.resume(runs["done"]))
    runs["waits"] = page.run(RELEASE, channel="#news")
    runs["failed"] = page.do(lambda workspace: workspace.find_run("nightly-report"))
    return runs


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
