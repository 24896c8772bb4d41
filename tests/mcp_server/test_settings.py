"""`settings_set` and `settings_get`: credentials go in and never come out; policy is for people."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow.core.setting.option import FAMILIES, OPTIONS
from tests.mcp_server.client import Client

SECRET = "ghp_c4n4ry0123456789abcdefXYZ"


@pytest.mark.requirement("server13:settings_set-1")
def test_a_credential_goes_in_and_comes_out_masked(either: Client) -> None:
    answer = either.call("settings_set", key="GITHUB_TOKEN", value=SECRET)
    assert answer.data == {"key": "GITHUB_TOKEN", "value": "ghp…fXYZ", "set": True, "secret": True}
    assert either.call("settings_get", key="GITHUB_TOKEN").data == answer.data
    assert SECRET not in str(answer.raw)


def test_an_option_is_set_and_read_in_clear(client: Client) -> None:
    client.call("settings_set", key="output.limit_kb", value="12")
    data = client.call("settings_get", key="output.limit_kb").data
    assert (data["value"], data["set"], data["default"]) == (12, True, 20)
    client.call("settings_set", key="output.limit_kb", value="20")  # other tests use this server, too


def test_what_is_not_set_is_said_to_be_so(client: Client) -> None:
    data = client.call("settings_get", key="ABSENT_TOKEN").data
    assert (data["value"], data["set"]) == (None, False)


def test_an_unknown_option_and_a_wrong_value_are_explained(client: Client) -> None:
    assert client.call("settings_get", key="trace.keep").error["type"] == "not_found"
    error = client.call("settings_set", key="output.limit_kb", value="many").error
    assert error["type"] == "usage"
    assert "whole number" in error["suggestions"][0]


def test_a_short_credential_is_refused_without_being_repeated(client: Client) -> None:
    answer = client.call("settings_set", key="MY_TOKEN", value="s3cr3t")
    assert answer.error["type"] == "usage"
    assert "s3cr3t" not in str(answer.raw)


MEMBERS = {f"{prefix}.mine.{field}": option for prefix, fields in FAMILIES.items() for field, option in fields.items()}


@pytest.mark.parametrize("key", sorted({*OPTIONS, *MEMBERS} - {"output.limit_kb"}))
@pytest.mark.parametrize("value", ["true", "0", "999999", "full"])
def test_policy_is_read_only_to_an_agent(client: Client, key: str, value: str) -> None:
    before = client.call("settings_get", key=key).data
    error = client.call("settings_set", key=key, value=value).error
    assert error["type"] == "security"
    assert client.call("settings_get", key=key).data == before


@pytest.mark.parametrize(
    "key", ["runs.keep_days ", " runs.keep_days", "RUNS.keep_days", "runs.KEEP_DAYS", "runs.keep_days\n"]
)
def test_no_other_way_to_write_an_option_gets_around_it(client: Client, key: str) -> None:
    assert client.call("settings_set", key=key, value="0").is_error
    assert client.call("settings_get", key="runs.keep_days").data["set"] is False


def test_every_option_is_policy_or_harmless() -> None:
    everything = {**OPTIONS, **MEMBERS}
    assert {key for key, option in everything.items() if not option.policy} == {"output.limit_kb"}


@pytest.mark.parametrize("key", ["PATH", "LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "HOME", "PFLOW_HOME"])
def test_what_decides_what_runs_is_not_for_agents(client: Client, key: str) -> None:
    assert client.call("settings_set", key=key, value="/tmp/elsewhere").error["type"] == "security"
    assert client.call("settings_get", key=key).data["set"] is False


def test_a_variable_that_servers_are_started_with_is_not_for_agents(
    start: Callable[..., Client], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("variables") / ".pflow"
    words = ["mcp", "add", "files", "--", sys.executable, "${SERVER_FOLDER}/server.py", "--token", "${SERVER_TOKEN}"]
    done = subprocess.run([sys.executable, "-m", "pflow", *words], env={"PFLOW_HOME": str(home)}, capture_output=True)
    assert done.returncode == 0, done.stderr
    client = start(home=home)
    assert client.call("settings_set", key="SERVER_FOLDER", value="/tmp/evil-folder").error["type"] == "security"
    assert client.call("settings_set", key="SERVER_TOKEN", value=SECRET).data["set"] is True


@pytest.mark.requirement("server5:rule-16")
def test_a_stored_credential_is_in_nothing_that_an_agent_or_a_file_gets_to_see(
    start: Callable[..., Client], tmp_path: Path
) -> None:
    client = start()
    client.call("settings_set", key="API_TOKEN", value=SECRET)
    (tmp_path / "leak").write_text(f"prefix {SECRET} suffix")
    read = {"id": "read", "type": "read-file", "params": {"path": str(tmp_path / "leak")}}
    fail = {"id": "fail", "type": "shell", "params": {"command": f"cat {tmp_path / 'leak'} >&2; exit 1"}}
    answers = [
        client.call("workflow_execute", workflow={"nodes": [read]}),
        client.call("workflow_execute", workflow={"nodes": [read, fail]}),
        client.call("registry_run", node_type="read-file", parameters={"path": str(tmp_path / "leak")}),
        client.call("workflow_execute", workflow={"nodes": [read]}, parameters={SECRET: SECRET}),
        client.call("workflow_execute", workflow=f"no-{SECRET}"),
        client.call("trace_read"),
        client.call("trace_read", step="read-file"),
    ]
    assert "prefix" in str(answers[0].raw)
    assert [answer.is_error for answer in answers] == [False, True, False, True, True, False, False]
    assert not any(SECRET in str(answer.raw) for answer in answers)
    written = [path for path in client.home.rglob("*") if path.is_file() and path.name != "settings.json"]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("field", sorted(FAMILIES["on"]))
def test_places_are_for_a_person_to_set(client: Client, field: str) -> None:
    assert client.call("settings_set", key=f"on.prod.{field}", value="x").error["type"] == "security"
    assert client.call("settings_get", key=f"on.prod.{field}").data["set"] is False
