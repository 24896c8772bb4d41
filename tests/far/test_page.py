"""`pflow ui --on PLACE` in a real browser: runs that workers drive are shown live, answered and cancelled there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.far.conftest import Far
from tests.robust.world import until
from tests.web.browser import PATIENCE_MS, Watched, open_browser

pytestmark = pytest.mark.needs("postgres", "temporal", "browser")


@contextmanager
def served(far: Far) -> Iterator[str]:
    """The link to the page, which a process of its own serves meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pflow", "ui", "--on", "dev", "--port", "0", "--no-open"],
        env={**os.environ, **far.cluster.environment(far.home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def see(locator: Any) -> Any:
    """Something that the page will show, sooner or later."""
    from playwright.sync_api import expect

    class Patient:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *args: getattr(expect(locator), name)(*args, timeout=PATIENCE_MS)

    return Patient()


@pytest.mark.slow
def test_runs_of_workers_are_shown_live_answered_and_cancelled_in_the_page(far: Far) -> None:
    worker = far.worker()
    asking = far.scene.write(
        far.scene.mark("a"),
        {"id": "review", "type": "ask", "params": {"prompt": "Publish it?", "choices": ["yes", "no"]}},
        far.scene.hold("b"),
        far.scene.mark("c"),
        file="asking.json",
    )
    run_id = far.detach(asking)
    held = far.detach(far.scene.write(far.scene.hold("h"), far.scene.mark("never"), file="held.json"))
    far.scene.until_began("h")
    with served(far) as link, open_browser() as browser:
        origin = re.match(r"https?://[^/]+", link)
        assert origin is not None, link
        watched = Watched(browser, origin[0])
        page, pill = watched.page, watched.page.locator(".head .pill")
        page.goto(link)
        question = page.get_by_role("form", name="Question of review")
        see(question).to_contain_text("Publish it?")
        question.get_by_role("link", name="asking").click()
        see(pill).to_contain_text("waiting")
        page.get_by_role("button", name="yes").click()
        far.scene.until_began("b")
        see(pill).to_contain_text("running")
        far.scene.release("b")
        see(pill).to_contain_text("completed")
        page.goto(f"{origin[0]}/runs/{held}")
        see(pill).to_contain_text("running")
        page.get_by_role("button", name="Cancel …").click()
        page.get_by_role("button", name="Cancel for good").click()
        see(pill).to_contain_text("cancelled")
        watched.check()
        watched.close()
    assert far.scene.did() == ["a", "b", "c"]
    assert worker.said.count(f"{run_id}: taken up") == 2, "the page drove nothing itself"
    until(lambda: f"{held}: cancelled" in worker.said, "what the worker says of the run")
