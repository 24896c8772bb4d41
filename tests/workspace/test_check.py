"""Checking leaves no trace of its own."""

from __future__ import annotations

from pathlib import Path

from pflow.core.file.home import Home
from pflow.workspace import Workspace


def test_a_text_that_is_no_document_writes_nothing(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        checked = workspace.check(workspace.parse('{"nodes": ['))
    assert not checked.ok and [issue.code for issue in checked.issues] == ["syntax"]
    assert not home.exists()
