"""A run whose journal is in Postgres, cut off by force, goes on elsewhere as it does at home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from pflow.core.setting.place import Place
from pflow.workspace import Workspace
from tests.cluster import Server

pytestmark = pytest.mark.needs("postgres")

SECRET = "PLACE_PASSWORD"
RUNS = """
import json, sys
from pathlib import Path
from pflow.core.file.home import Home
from pflow.workspace import Workspace
with Workspace(Home(Path(sys.argv[1])), on="prod") as workspace:
    workspace.run(json.loads(sys.argv[2]), run_id="r")
"""


def prepare(home: Path, server: Server, place: Place) -> Home:
    """A home, as each machine has its own, whose settings name the place."""
    made = Home(home)
    with Workspace(made) as workspace:
        workspace.set_setting("on.prod.journal", str(place.journal))
        workspace.set_setting("on.prod.journal_password", SECRET)
    return made


def test_a_killed_run_goes_on_from_another_home_without_repeating_what_was_done(
    postgres: Server, a_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, postgres.postgres.password)
    effects, gate = tmp_path / "effects", tmp_path / "gate"
    os.mkfifo(gate)
    document = {
        "nodes": [
            {"id": "first", "type": "shell", "params": {"command": f"echo first >> '{effects}'"}},
            {"id": "large", "type": "code", "params": {"code": "result = 'x' * 200_000"}},
            {"id": "stuck", "type": "shell", "params": {"command": f"echo stuck >> '{effects}'; cat < '{gate}'"}},
            {"id": "last", "type": "shell", "params": {"command": f"echo last >> '{effects}'"}},
        ],
        "outputs": {"size": {"source": "${large.result}"}},
    }
    one = prepare(tmp_path / "one", postgres, a_place)
    other = prepare(tmp_path / "other", postgres, a_place)
    process = subprocess.Popen([sys.executable, "-c", RUNS, str(one.root), json.dumps(document)])
    with gate.open("w"), Workspace(other, on="prod") as workspace:  # opens when the step reads
        assert [info.state for info in workspace.runs()] == ["running"]
        process.send_signal(signal.SIGKILL)
        process.wait()
        while workspace.runs()[0].alive:  # the server notices the end of the session soon
            pass
        assert [info.state for info in workspace.runs()] == ["interrupted"]
        with pytest.raises(InDoubtError):
            workspace.resume("r")
    with Workspace(other, on="prod") as workspace:
        gate.unlink()
        gate.write_text("")
        outcome = workspace.resume("r", rerun_in_doubt=True)
        assert outcome.status == "completed"
        assert len(str(outcome.outputs["size"])) == 200_000
    assert effects.read_text().split() == ["first", "stuck", "stuck", "last"]
