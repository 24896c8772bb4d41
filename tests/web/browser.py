"""A real Chromium, driven by Playwright from its own environment, and what a page must never do in it."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import dev_needs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

PATIENCE_MS = 60_000
"""How long a page may take on a busy machine."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser, without any window."""
    sys.path.append(sysconfig.get_path("purelib", vars={"base": str(dev_needs.BROWSER)}))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page that is watched: what it said, where it went, and what its policy refused."""

    def __init__(
        self,
        browser: Browser,
        origin: str,
        scheme: Literal["light", "dark"] = "light",
        *,
        offline: bool = False,
        width: int = 1360,
        height: int = 860,
    ) -> None:
        self._context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}, offline=offline
        )
        self._context.add_init_script(
            "window.refused = [];"
            "document.addEventListener('securitypolicyviolation', e => window.refused.push(e.violatedDirective))"
        )
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.origin = origin
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

    def add(self, script: str) -> None:
        """Run a script in each document before its own."""
        self._context.add_init_script(script)

    def check(self) -> None:
        """Nothing was complained of, nobody else was asked, and the policy had nothing to refuse."""
        assert self.said == []
        assert self.page.evaluate("window.refused") == []
        assert [url for url in self.requests if not url.startswith((self.origin, "data:"))] == []

    def close(self) -> None:
        self._context.close()
