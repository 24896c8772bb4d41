"""Published workflows, rewritten: what is built runs, and of the others checking names exactly what is missing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file
from tests.examples.service import Answer, serving
from tests.mcp.step.conftest import Serve, serve, tool

__all__ = ["pflow", "registry_file", "serve"]

FOLDER = Path(__file__).resolve().parents[1] / "data" / "workflows"

TOOLS = {
    "gmail": ("list-messages", "get-message", "forward", "add-label"),
    "crm": ("create-lead",),
    "zendesk": ("create-ticket",),
    "ats": ("create-candidate",),
    "slack": ("post-message",),
    "sheets": ("append-row",),
}
"""The tools that the documents name, of servers that stand in for the real ones."""

MISSING: dict[str, set[tuple[str, str]]] = {
    "12-dependabot-bundler": set(),
    "14-email-router": set(),
    "22-pr-watch": set(),
    "p01-nested-if-join": set(),
    "p05-retry-until-backoff": set(),
    "p12-diamond-with-approval": set(),
}
"""What checking reports. Whatever is built takes its lines away; nothing may come to them."""


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text()


def test_every_document_is_in_the_table() -> None:
    assert sorted(MISSING) == sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", MISSING)
def test_checking_names_exactly_what_is_missing(name: str, pflow: Pflow, serve: Serve) -> None:
    for server, tools in TOOLS.items():
        if f"mcp-{server}-" in text_of(name):
            anything = {"type": "object", "additionalProperties": True}
            serve(server, *({**tool(one), "inputSchema": anything} for one in tools))
    said = pflow("validate", "--json", str(FOLDER / f"{name}.yaml")).json
    issues = [] if said["success"] else said["error"]["details"]["issues"]
    assert {(issue["code"], issue["path"]) for issue in issues} == MISSING[name]


# ---- the bundler, with real repositories


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


class Bundle:
    """A repository with branches to merge, its origin, and programs that stand in for `gh` and `make`."""

    def __init__(self, folder: Path, branches: dict[str, dict[str, str]]) -> None:
        self.folder = folder / "clone"
        self.origin = folder / "origin.git"
        self.bin = folder / "bin"
        self.said = folder / "gh.log"
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        git(folder, "clone", "--quiet", str(self.origin), str(self.folder))
        git(self.folder, "config", "user.name", "Ada")
        git(self.folder, "config", "user.email", "ada@example.org")
        git(self.folder, "checkout", "--quiet", "-b", "main")
        self._commit("main", {"versions": "a 1\n"})
        for branch, files in branches.items():
            git(self.folder, "checkout", "--quiet", "-b", branch, "main")
            self._commit(branch, files)
        git(self.folder, "checkout", "--quiet", "main")
        listed = [
            {"number": number, "title": f"Bump {branch}", "headRefName": branch}
            for number, branch in enumerate(branches, 1)
        ]
        self.bin.mkdir()
        self._program("gh", f'echo "$*" >> {self.said}; [ "$2" != list ] || echo \'{json.dumps(listed)}\'')
        self._program("make", "test ! -e broken")

    def _commit(self, branch: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", branch)
        git(self.folder, "push", "--quiet", "origin", branch)

    def _program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @property
    def comments(self) -> list[str]:
        return [line for line in self.said.read_text().splitlines() if "comment" in line]


def bundled(
    workspace: Workspace, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, service: str
) -> tuple[dict[str, Any], list[str]]:
    monkeypatch.chdir(bundle.folder)
    monkeypatch.setenv("PATH", str(bundle.bin), prepend=":")
    monkeypatch.setenv("GITHUB_API_URL", service)
    monkeypatch.setenv("GITHUB_TOKEN", "a-token-of-this-test")
    outcome = workspace.run(str(FOLDER / "12-dependabot-bundler.yaml"), {"repo": "ada/engine"})
    assert outcome.status == "completed", outcome.error
    shown: Any = workspace.show_run(outcome.run_id)["steps"]
    return dict(outcome.outputs), [step["step"] for step in shown if step["status"] != "skipped"]


def opened(path: str, times: int) -> Answer:
    assert path == "/repos/ada/engine/pulls"
    return Answer(201, {"number": 9, "title": "t", "state": "open", "html_url": "https://github.com/ada/engine/pull/9"})


@pytest.mark.needs("git")
def test_the_bundler_keeps_what_is_green(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, conflict = {"versions": "a 2\n"}, {"versions": "a 3\n"}
    bundle = Bundle(tmp_path, {"good": good, "bad": {"broken": "x"}, "conflict": conflict, "fine": {"b": "1\n"}})
    with serving(opened) as service:
        outputs, steps = bundled(workspace, bundle, monkeypatch, service.url)
    assert outputs == {"pr": "https://github.com/ada/engine/pull/9"}
    assert git(bundle.origin, "ls-tree", "--name-only", "deps/bundle").split() == ["b", "versions"]
    assert git(bundle.origin, "show", "deps/bundle:versions") == "a 2\n"
    assert [line.split()[2] for line in bundle.comments] == ["1", "4"]
    assert [step for step in steps if step.startswith(("keep", "undo"))] == ["keep", "undo", "undo#2", "keep#2"]


@pytest.mark.needs("git")
@pytest.mark.parametrize("branches", [{}, {"bad": {"broken": "x"}}])
def test_the_bundler_opens_nothing_without_a_green_branch(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branches: dict[str, dict[str, str]]
) -> None:
    bundle = Bundle(tmp_path, branches)
    with serving(opened) as service:
        outputs, steps = bundled(workspace, bundle, monkeypatch, service.url)
    assert (outputs, service.asked, bundle.comments) == ({"pr": ""}, {}, [])
    assert ("start" in steps) is bool(branches)


# ---- nested choices


@pytest.mark.parametrize(
    ("order", "shipping", "asked"),
    [
        ({"total": 120, "country": "DE"}, 0.0, ["/book"]),
        ({"total": 20, "country": "DE"}, 5.0, ["/book"]),
        ({"total": 20, "country": "FR"}, 12.5, ["/quote?country=FR", "/book"]),
        ({"total": 200, "country": "FR"}, 15.5, ["/quote?country=FR", "/duty?country=FR&base=12.5", "/book"]),
    ],
)
def test_nested_choices_join_again(
    workspace: Workspace, order: dict[str, object], shipping: float, asked: list[str]
) -> None:
    answers = {"/quote": {"price": 12.5}, "/duty": {"amount": 3}, "/book": {"ok": True}}
    with serving(lambda path, times: Answer(200, answers[path.partition("?")[0]])) as service:
        text = text_of("p01-nested-if-join")
        for host in ("https://rates.example.com", "https://orders.example.com"):
            text = text.replace(host, service.url)
        outcome = workspace.run(text, {"order": order})
    assert (outcome.status, outcome.outputs) == ("completed", {"shipping": shipping}), outcome.error
    assert list(service.asked) == asked
