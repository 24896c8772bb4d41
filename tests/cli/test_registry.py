"""`pflow registry …`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow

NODE = '''
from pocketflow import Node

class Shout(Node):
    """Say it louder.

    Interface:
    - Reads: shared["text"]: str  # What to say
    - Writes: shared["loud"]: str  # The same, louder
    - Params: times: int  # How often
    """

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        return " ".join([text.upper()] * self.params.get("times", 1))

    def post(self, shared, prep, loud):
        shared["loud"] = loud
'''


@pytest.fixture
def own_node(home: Path) -> Callable[..., Any]:
    def put(text: str = NODE) -> None:
        (home / "nodes").mkdir(parents=True, exist_ok=True)
        (home / "nodes" / "shout.py").write_text(text)

    return put


def test_every_node_type_is_listed_with_what_it_does(pflow: Pflow) -> None:
    lines = pflow("registry", "list").out.splitlines()
    assert [line for line in lines if line.startswith("echo")] == [
        "echo                 Give every parameter back as an output of the same name."
    ]
    assert [line.split()[0] for line in pflow("registry", "list", "--filter", "git").out.splitlines()]
    data = pflow("registry", "list", "--json").json["data"]["node_types"]
    assert {"name": "echo", "description": "Give every parameter back as an output of the same name."} in data


@pytest.mark.requirement("security:5.3-3")
def test_search_finds_by_prefix_and_words(pflow: Pflow) -> None:
    found = [line.split()[0] for line in pflow("registry", "search", "git-").out.splitlines()]
    assert {"git-log", "git-status", "git-diff", "git-commit", "git-checkout"} <= set(found)
    assert pflow("registry", "search", "copy", "file").out.startswith("copy-file ")
    assert pflow("registry", "search", "zzzz").err == "no node type matches `zzzz`\n\nhint: pflow registry list\n"


def test_describe_shows_what_a_node_takes_and_gives(pflow: Pflow, own_node: Callable[..., Any], home: Path) -> None:
    own_node()
    assert pflow("registry", "describe", "shout").out == (
        "shout: Say it louder.\n"
        "\n"
        "params\n"
        "  times  integer    How often\n"
        "\n"
        "reads\n"
        "  text  string  required  What to say\n"
        "\n"
        "outputs\n"
        "  loud  string    The same, louder\n"
        "\n"
        "actions: error\n"
        "has effects: it is never run again unasked\n"
        f"from {home}/nodes/shout.py\n"
        "\n"
        "try it: pflow registry run shout text=…\n"
    )
    said = pflow("registry", "describe", "htp")
    assert said.code == 2
    assert "did you mean `http`?" in said.err


def test_a_node_can_be_tried_on_its_own(pflow: Pflow) -> None:
    assert pflow("registry", "run", "echo", "a=1", "--b=2").out == '{"a":"1","b":"2"}\n'
    assert pflow("registry", "run", "echo", "a=${x}").out == '{"a":"${x}"}\n'
    said = pflow("registry", "run", "read-file")
    assert said.code == 2
    assert said.err == (
        "error: `read-file` needs `path`\n  path  string. The file to read\n\n"
        "hint: pflow registry run read-file path=…\n"
    )
    assert pflow("registry", "run", "read-file", "path=none").code == 1
    assert pflow("registry", "run", "echo", "a=1", "--json").json["data"]["outputs"] == {"a": "1"}


@pytest.mark.requirement("security:6.3-1", "security:6.3-2", "security:8.3-3")
def test_flags_of_a_persons_own_node_are_data_or_configuration(pflow: Pflow, own_node: Callable[..., Any]) -> None:
    own_node()
    assert pflow("shout", "--text=hi", "--times=2").out == "HI HI\n"
    assert pflow("echo --text=hi >> shout").out == "HI\n"
    assert pflow("registry", "run", "shout", "text=hi").out == '{"loud":"HI"}\n'
    said = pflow("shout")
    assert said.code == 2
    assert said.err.startswith("error: `shout` needs `--text` (string, What to say)\n")


def test_a_scan_finds_new_nodes_and_says_what_is_wrong_with_others(pflow: Pflow, own_node: Callable[..., Any]) -> None:
    own_node()
    before = len(pflow("registry", "list").out.splitlines())
    assert pflow("registry", "scan").out == f"{before} node types\n"
    own_node("class Broken(:\n")
    said = pflow("registry", "scan")
    assert said.out == f"{before - 1} node types\n"
    assert "shout.py" in said.err


@pytest.mark.requirement("security:4.3-5")
def test_validate_loads_every_node_type(pflow: Pflow, own_node: Callable[..., Any]) -> None:
    own_node()
    count = len(pflow("registry", "list").out.splitlines())
    assert pflow("registry", "validate", "--all").out == f"all {count} node types can be used\n"
    own_node(NODE.replace("from pocketflow import Node", "from pocketflow import Node\nimport nothing_like_it"))
    said = pflow("registry", "validate")
    assert said.code == 1
    assert said.err.startswith(f"error: 1 of {count} node types cannot be used\n  shout: ")
