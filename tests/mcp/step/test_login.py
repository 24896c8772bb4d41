"""`pflow mcp login` and `logout`: only for servers that want it, and only as they were agreed to."""

import json
from pathlib import Path

from tests.cli.conftest import Pflow


def test_a_changed_server_is_not_logged_in_to(pflow: Pflow, home: Path) -> None:
    assert pflow("mcp", "add", "far", "--url", "http://127.0.0.1:9/mcp", "--auth", "oauth").code == 0
    path = home / "mcp-servers.json"
    written = json.loads(path.read_text())
    written["servers"]["far"]["url"] = "http://127.0.0.1:10/mcp"
    path.write_text(json.dumps(written))
    said = pflow("mcp", "login", "far")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("error: server `far` changed since it was agreed to, so it is not used\n")


def test_a_server_without_oauth_needs_no_login(pflow: Pflow) -> None:
    assert pflow("mcp", "add", "far", "--url", "http://127.0.0.1:9/mcp").code == 0
    said = pflow("mcp", "login", "far")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: server `far` has no OAuth in its configuration\n")


def test_logging_out_says_whether_there_was_anything_to_forget(pflow: Pflow) -> None:
    assert pflow("mcp", "add", "far", "--url", "http://127.0.0.1:9/mcp", "--auth", "oauth").code == 0
    said = pflow("mcp", "logout", "far")
    assert (said.code, said.out) == (0, "there were no tokens of server `far`\n")
    assert pflow("mcp", "logout", "near").err.startswith("error: Server near not configured\n")
