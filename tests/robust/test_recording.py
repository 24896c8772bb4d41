"""What recording leaves behind: the old file if it is killed, and never a secret in any of its forms."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.cassette.cassette_file import read_cassette, write_cassette
from pflow.core.errors import SecurityError
from pflow.core.file.home import Home
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.secret_encoding import encodings
from pflow.workspace.workspace import Workspace

SECRET = 'correct horse/battery+staple="9f8e7d6c5b4a"'


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as found:
        found.set_setting("API_TOKEN", SECRET)
    with Workspace(Home(home)) as found:
        yield found


def files_of(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def test_no_form_of_a_secret_is_in_a_file_of_a_cassette_or_test(workspace: Workspace, tmp_path: Path) -> None:
    forms = [text for _, text in encodings(SECRET)]
    assert len(forms) >= 20
    source = tmp_path / "forms.json"
    source.write_text(json.dumps([*forms, "x" * 70_000 + forms[3]]))
    document = {
        "name": "leak",
        "inputs": {"token": {"type": "string", "secret": True}},
        "nodes": [
            {"id": "get", "type": "read-file", "params": {"path": str(source)}},
            {
                "id": "send",
                "type": "shell",
                "params": {"command": f"cat {shlex.quote(str(source))}; echo ${{token}}"},
            },
        ],
        "outputs": {"all": {"source": "${get.content}"}, "echo": {"source": "${send.stdout}"}},
    }
    outcome = workspace.run(document, {"token": SECRET})
    assert outcome.success, outcome
    made = tmp_path / "made"
    try:
        workspace.tests.add(outcome.run_id, "leak", folder=made)
    except SecurityError:
        pass  # refused is as good: nothing is written
    written = files_of(made)
    assert [text for text in forms if len(text) >= 8 and text in written] == []


@pytest.mark.parametrize("number", range(64))
def test_a_cassette_that_would_hold_a_form_of_a_secret_is_refused(tmp_path: Path, number: int) -> None:
    forms = [text for _, text in encodings(SECRET)]
    text = forms[number % len(forms)]
    padding = "z" * (number * 997)
    call = Recorded(step="a", type="shell", params={}, outputs={"stdout": f"{padding}{text}{padding}"})
    file = tmp_path / "x.cassette.jsonl"
    redactor = Redactor({"API_TOKEN": SECRET})
    with pytest.raises(SecurityError):
        write_cassette(file, Cassette(workflow="w", calls=(call,)), redactor.names_in)
    assert list(tmp_path.rglob("*.json*")) == []


KILLED = """
import os, sys
from pathlib import Path
from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.cassette import cassette_file
from pflow.core.file import atomic
at, path = int(sys.argv[1]), Path(sys.argv[2])
real, count = {name: getattr(os, name) for name in ("write", "fsync", "replace", "mkdir")}, 0
def counted(name):
    def call(*words, **more):
        global count
        count += 1
        if count == at:
            os.kill(os.getpid(), 9)
        return real[name](*words, **more)
    return call
for name in real:
    setattr(os, name, counted(name))
long = "y" * 70_000
calls = tuple(Recorded(step=f"s{n}", type="shell", params={"n": n}, outputs={"out": long + str(n)}) for n in range(2))
cassette_file.write_cassette(path, Cassette(workflow="new", calls=calls), lambda text: ())
"""


def test_a_kill_at_any_point_of_recording_leaves_the_old_cassette_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "x.cassette.jsonl"
    old = Cassette(workflow="old", calls=(Recorded(step="a", type="shell", params={}, outputs={"out": "z" * 70_000}),))
    ended = False
    for at in range(1, 60):
        write_cassette(file, old, lambda text: ())
        done = subprocess.run([sys.executable, "-c", KILLED, str(at), str(file)], capture_output=True, text=True)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        found = read_cassette(file)
        assert found.is_like(old) or [call.step for call in found.calls] == ["s0", "s1"]
        if done.returncode == 0:
            ended = True
            break
    assert ended
    assert os.listdir(tmp_path) != []
