"""Workers with a home each, as machines have them: what one asked, another takes up."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def other_home(far: Far, folder: Path) -> Path:
    """A home with the same settings, and a key of its own."""
    shutil.copytree(far.home, folder)
    Home(folder).key.unlink(missing_ok=True)
    return folder


def test_an_answer_to_what_one_worker_asked_counts_for_another_with_a_home_of_its_own(
    far: Far, tmp_path: Path
) -> None:
    second = other_home(far, tmp_path / "other" / ".pflow")
    ask = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["yes", "no"]}}
    first = far.worker()
    run_id = far.detach(far.scene.write(far.scene.mark("a"), {**ask, "on": {"yes": "b", "no": "end"}}, far.scene.mark("b")))
    far.until_asks(run_id)
    first.end(signal.SIGTERM)
    far.worker(home=second)
    said = far.pflow("answer", run_id, "yes", "--on", "dev")
    assert said.code == 0, said
    assert far.scene.did() == ["a", "b"]
