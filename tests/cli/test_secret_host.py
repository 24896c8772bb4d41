"""A secret that became part of a host name is hidden in the forms that host names take."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow

TOKEN = "ghp_A1B2c3D4e5F6"


@pytest.mark.parametrize(
    "address", ["https://${t}.invalid/", "https://x-${t}.invalid/", "https://-${t}-.invalid/", "http://a.${t}:1/"]
)
def test_a_refused_host_does_not_show_the_secret_in_lower_case(pflow: Pflow, home: Path, address: str) -> None:
    with Workspace(Home(home)) as workspace:
        document = {
            "inputs": {"t": {"type": "string", "secret": True}},
            "nodes": [{"id": "a", "type": "http", "params": {"url": address}}],
        }
        outcome = workspace.run(document, {"t": TOKEN})
    assert outcome.exit_code != 0
    said = [repr(outcome.error), pflow("runs", "show", "latest").out, pflow("trace", "latest").out]
    assert [text for text in said if TOKEN.lower() in text.lower()] == []
    kept = [path for path in home.rglob("*") if path.is_file() and TOKEN.lower().encode() in path.read_bytes().lower()]
    assert kept == []


@pytest.mark.parametrize(("secret", "shown"), [(TOKEN, TOKEN.lower()), ("GÜNTHERgeheim", "xn--gnthergeheim-dlb")])
def test_the_address_of_a_server_does_not_show_the_secret_in_it(pflow: Pflow, secret: str, shown: str) -> None:
    pflow("settings", "set", "HUB_TOKEN", secret)
    assert pflow("mcp", "add", "a", "--url", "http://${HUB_TOKEN}.localhost:1/", "--insecure").code == 0
    said = pflow("mcp", "sync", "a")
    assert said.code == 1
    assert "«secret:HUB_TOKEN" in said.err
    assert shown not in said.err
    assert secret.lower() not in said.err.lower()
