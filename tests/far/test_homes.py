"""Workers with a home each, as machines have them: what one asked, another takes up."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")

SECRET = "a-token-that-nobody-else-has"


def other_home(far: Far, folder: Path) -> Path:
    """A home with the same settings, and a key of its own."""
    shutil.copytree(far.home, folder)
    Home(folder).key.unlink(missing_ok=True)
    return folder


def test_an_answer_to_what_one_worker_asked_counts_for_another_with_a_home_of_its_own(far: Far, tmp_path: Path) -> None:
    second = other_home(far, tmp_path / "other" / ".pflow")
    choices = {"params": {"prompt": "Go on?", "choices": ["yes", "no"]}, "on": {"yes": "b", "no": "end"}}
    ask = {"id": "ask", "type": "ask", **choices}
    first = far.worker()
    run_id = far.detach(far.scene.write(far.scene.mark("a"), ask, far.scene.mark("b")))
    far.until_asks(run_id)
    first.end(signal.SIGTERM)
    far.worker(home=second)
    said = far.pflow("answer", run_id, "yes", "--on", "dev")
    assert said.code == 0, said
    assert far.scene.did() == ["a", "b"]


def test_a_run_goes_on_whose_values_hold_a_secret_that_only_its_workers_know(far: Far, tmp_path: Path) -> None:
    theirs = other_home(far, tmp_path / "theirs" / ".pflow")
    with Workspace(Home(theirs)) as workspace:
        workspace.set_setting("API_TOKEN", SECRET)
    far.worker(home=theirs)
    question = {"prompt": "Seen ${use.stdout}?", "schema": {"note": {"type": "string"}}}
    document = far.scene.write(
        {"id": "use", "type": "shell", "params": {"command": "echo with ${api_token}"}},
        {"id": "ask", "type": "ask", "params": question},
        {"id": "check", "type": "let", "params": {"n": "size(use.stdout)"}},
        inputs={"api_token": {"type": "string", "secret": True, "required": True}},
        outputs={"n": {"source": "${check.n}"}, "said": {"source": "${use.stdout}"}},
    )
    run_id = far.detach(document)
    far.until_asks(run_id)
    said = far.pflow("answer", run_id, "note=seen", "--on", "dev")
    assert said.code == 0, said
    assert f'"n":{len("with ") + len(SECRET)}' in said.out
    assert SECRET not in said.out + said.err


def test_an_input_with_a_credential_that_no_worker_has_is_refused_before_it_begins(far: Far, tmp_path: Path) -> None:
    theirs = other_home(far, tmp_path / "theirs" / ".pflow")
    with Workspace(Home(far.home)) as workspace:
        workspace.set_setting("API_TOKEN", SECRET)
    worker = far.worker(home=theirs)
    document = far.scene.write(
        {"id": "count", "type": "let", "params": {"n": "size(text)"}},
        inputs={"text": {"type": "string"}},
        outputs={"n": {"source": "${count.n}"}},
        name="counting",
    )
    words = ("run", document, f"text=so {SECRET}", "--on", "dev")
    refused = far.pflow(*words)
    assert refused.code == 1, refused
    assert not [info for info in far.runs() if info.workflow == "counting"]
    assert "has the credential `API_TOKEN`, whose value the inputs or the document hold" in refused.err
    assert SECRET not in refused.err
    with Workspace(Home(theirs)) as workspace:
        workspace.set_setting("API_TOKEN", SECRET)
    worker.end(signal.SIGTERM)
    far.worker(home=theirs)
    done = far.pflow(*words)
    assert (done.code, done.out.strip()) == (0, str(len(SECRET) + 3)), done
