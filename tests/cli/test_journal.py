"""`pflow journal …`, and the commands that read the journal of a place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import dev_cluster
from pflow.core.file.home import Home
from pflow.core.setting.place import Place
from pflow.workspace import Workspace
from tests.cli.conftest import Said
from tests.cluster import Server

Pflow = Callable[..., Said]

LARGE = {
    "name": "large",
    "nodes": [
        {"id": "text", "type": "code", "params": {"code": "result = 'x' * 200_000"}},
        {"id": "fails", "type": "shell", "params": {"command": "exit 3"}},
    ],
}
ASKS = {"name": "asks", "nodes": [{"id": "go", "type": "ask", "params": {"prompt": "Go?", "choices": ["yes", "no"]}}]}
KEEPS = {
    "name": "keeps",
    "state": {"count": {"type": "integer", "default": 0}},
    "nodes": [{"id": "set", "type": "state-set", "params": {"count": 7}}],
}
SECRET = "PLACE_PASSWORD"


@pytest.fixture
def on_place(pflow: Pflow, monkeypatch: pytest.MonkeyPatch, postgres: Server, a_place: Place) -> Server:
    """The server of a place that the settings of the home describe as `prod`."""
    monkeypatch.setenv(SECRET, postgres.postgres.password)
    for field, value in (("journal", str(a_place.journal)), ("journal_password", SECRET)):
        assert pflow("settings", "set", f"on.prod.{field}", value).code == 0
    return postgres


def write(folder: Path, document: Mapping[str, object]) -> str:
    path = folder / f"{document['name']}.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.needs("postgres")
def test_what_is_over_at_home_is_copied_to_a_place_and_read_there(
    pflow: Pflow, on_place: Server, tmp_path: Path, home: Path
) -> None:
    assert pflow("run", write(tmp_path, KEEPS)).code == 0
    assert pflow("run", write(tmp_path, LARGE)).code == 1
    done = pflow("journal", "copy", "--on", "prod")
    assert (done.code, done.out) == (0, "copied 2 runs; 0 there already; with the state of keeps\n")
    assert pflow("journal", "copy", "--on", "prod").out == "copied 0 runs; 2 there already\n"

    at_home, there = (pflow("runs", "list", "--json", *words).json["data"] for words in ([], ["--on", "prod"]))
    assert there == at_home, "with the same times"
    for command in (["runs", "show"], ["trace"]):
        shown = [pflow(*command, "latest", "--json", *words).json["data"] for words in ([], ["--on", "prod"])]
        assert shown[0] == shown[1]
    page = pflow("trace", "latest", "--on", "prod", "--step", "text", "--field", "outputs.result", "--limit", "3")
    assert json.loads(page.out)["text"] == "xxx"
    assert re.search(
        r"resume: pflow runs resume \S+ --on prod$", pflow("runs", "show", "latest", "--on", "prod").out, re.M
    )
    with Workspace(Home(home), on="prod") as workspace:
        [kept] = workspace.state.values("keeps")
        assert (kept.key, kept.value) == ("count", 7)


@pytest.mark.needs("postgres")
def test_a_run_that_is_not_over_is_not_copied(pflow: Pflow, on_place: Server, tmp_path: Path) -> None:
    assert pflow("run", write(tmp_path, ASKS)).code == 4
    done = pflow("journal", "copy", "--on", "prod")
    assert (done.code, done.out) == (1, "copied 0 runs; 0 there already\n")
    assert "because it is not over" in done.err
    assert pflow("runs", "list", "--on", "prod", "--json").json["data"] == {"runs": []}


@pytest.mark.needs("postgres")
def test_tables_are_made_by_a_command_that_says_what_it_did(pflow: Pflow, on_place: Server) -> None:
    on_place.ask("CREATE DATABASE fresh")
    pflow("settings", "set", "on.prod.journal", f"{on_place.postgres.address}/fresh")
    said = pflow("runs", "list", "--on", "prod")
    assert said.code == 1
    assert "has no tables yet" in said.err and "pflow journal migrate --on prod" in said.err
    assert pflow("journal", "migrate", "--on", "prod").out == "prod: version 4\n"
    assert pflow("journal", "migrate", "--on", "prod").out == "prod: version 4, as before\n"
    assert pflow("runs", "list", "--on", "prod").code == 0


@pytest.mark.needs("postgres")
def test_a_workflow_runs_on_a_place_with_the_same_result(on_place: Server, home: Path) -> None:
    document = {
        "nodes": [{"id": "say", "type": "echo", "params": {"text": "hello"}}],
        "outputs": {"said": "${say.text}"},
    }
    with Workspace(Home(home)) as own, Workspace(Home(home), on="prod") as there:
        outcomes = [own.run(document), there.run(document)]
        assert [outcome.outputs for outcome in outcomes] == [{"said": "hello"}] * 2
        assert [info.run_id for info in there.runs()] == [outcomes[1].run_id]
        assert [info.run_id for info in own.runs()] == [outcomes[0].run_id]


def test_a_place_that_cannot_be_reached_is_named_with_its_address(
    pflow: Pflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "a-password-of-some-length")
    port = dev_cluster.free_port()
    pflow("settings", "set", "on.prod.journal", f"postgresql://me@127.0.0.1:{port}/runs")
    pflow("settings", "set", "on.prod.journal_password", SECRET)
    for words in (["runs", "list"], ["runs", "show", "x"], ["trace"], ["journal", "migrate"], ["journal", "copy"]):
        said = pflow(*words, "--on", "prod")
        assert (said.code, said.out) == (1, ""), words
        assert f"the journal of place `prod` at `postgresql://me@127.0.0.1:{port}/runs` cannot be reached" in said.err
        assert "a-password-of-some-length" not in said.err


def test_what_is_missing_of_a_place_is_said_with_the_command(pflow: Pflow) -> None:
    said = pflow("runs", "list", "--on", "prod")
    assert (said.code, "there is no place `prod`" in said.err) == (2, True)
    pflow("settings", "set", "on.prod.queue", "q")
    assert "place `prod` has no journal" in pflow("runs", "list", "--on", "prod").err
    pflow("settings", "set", "on.prod.journal", "postgresql://me@127.0.0.1/runs")
    pflow("settings", "set", "on.prod.journal_password", "NO_SUCH_PASSWORD")
    said = pflow("runs", "list", "--on", "prod")
    assert (said.code, "pflow settings set NO_SUCH_PASSWORD" in said.err) == (2, True)
    assert "there is no place `prdo`" in pflow("runs", "list", "--on", "prdo").err


@pytest.mark.parametrize(
    "address",
    ["nonsense", "mysql://me@host/db", "postgresql://host/db", "postgresql://me@host", "postgresql://me@host:x/db"],
)
def test_what_is_not_an_address_is_refused_when_it_is_used(pflow: Pflow, address: str) -> None:
    pflow("settings", "set", "on.prod.journal", address)
    said = pflow("runs", "list", "--on", "prod")
    assert (said.code, "`on.prod.journal` is not an address" in said.err) == (2, True)


def test_an_address_with_a_password_is_not_stored_and_not_repeated(pflow: Pflow, home: Path) -> None:
    said = pflow("settings", "set", "on.prod.journal", "postgresql://me:hunter2hunter2@host/db")
    assert (said.code, "hunter2" in said.out + said.err) == (2, False)
    assert not home.joinpath("settings.json").exists()


def test_only_known_fields_of_places_can_be_set(pflow: Pflow) -> None:
    said = pflow("settings", "set", "on.prod.quue", "q")
    assert (said.code, "on.prod.queue" in said.err) == (2, True)
    assert pflow("settings", "set", "on.Prod.queue", "q").code == 2
    assert pflow("settings", "set", "on.prod.lease", "3").code == 0
    listed = {one["key"]: one["value"] for one in pflow("settings", "list", "--json").json["data"]["settings"]}
    assert listed["on.prod.lease"] == 3 and "on.prod.queue" not in listed


@pytest.mark.needs("postgres")
def test_a_run_on_a_place_deletes_nothing_there_or_at_home(on_place: Server, home: Path) -> None:
    document = {"nodes": [{"id": "say", "type": "echo", "params": {"text": "hello"}}]}
    old = "20200101-000000-00000000000000aa"
    with Workspace(Home(home), on="prod") as there, Workspace(Home(home)) as own:
        there.set_setting("runs.keep_days", "1")
        there.run(document, run_id=old)
        (home / ".cleaned").unlink(missing_ok=True)
        there.run(document)
        assert old in [info.run_id for info in there.runs()]
        assert not (home / ".cleaned").exists()
        assert list(own.runs()) == []


def test_steps_are_not_given_the_password_of_a_place(pflow: Pflow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "a-password-of-some-length")
    command = ["printf", "%s", f"${{{SECRET}}}"]
    document = {
        "inputs": {SECRET: {"type": "string", "secret": True}},
        "nodes": [{"id": "say", "type": "shell", "params": {"command": command}}],
    }
    Path("reads.json").write_text(json.dumps(document))
    assert pflow("run", "reads.json").code == 0
    pflow("settings", "set", "on.prod.journal_password", SECRET)
    said = pflow("run", "reads.json")
    assert (said.code, SECRET in said.err) == (2, True)
