"""The registry on real folders: what it finds, keeps, refuses and survives."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.errors import NotFoundError, SecurityError, UsageError
from pflow.core.file.home import Home
from pflow.registry.registry import HEAD, Registry
from pflow.registry.scan import scan_file

BUILT_IN = {"echo", "code", "read-file", "write-file", "copy-file", "move-file", "delete-file", "list-files"}

SHOUT = '''
from pocketflow import Node

class ShoutNode(Node):
    """Say it louder.

    Interface:
    - Reads: shared["text"]: str - what to say
    - Writes: shared["loud"]: str - the same, louder
    """

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        return text.upper()

    def post(self, shared, prep_res, exec_res):
        shared["loud"] = exec_res
'''

TOOL: dict[str, object] = {
    "class_name": "MCPNode",
    "module": "pflow.nodes.mcp.node",
    "file_path": "virtual://mcp",
    "interface": {
        "description": "Create a GitHub issue",
        "params": [{"name": "title", "type": "str"}, {"name": "body", "type": "str"}],
        "outputs": [{"name": "issue_url", "type": "str"}],
        "actions": ["default", "error"],
    },
}


@pytest.fixture
def place(home: Path) -> Home:
    (home / "nodes").mkdir(parents=True)
    return Home(home)


def stored(place: Home) -> dict[str, dict[str, object]]:
    """What `registry.json` holds."""
    content: dict[str, dict[str, object]] = orjson.loads(place.registry.read_bytes())
    return content


def test_the_built_in_nodes_are_found(place: Home) -> None:
    registry = Registry.load(place)
    assert set(registry.names()) >= BUILT_IN
    assert registry.names() == sorted(registry.names())
    assert registry.notices == []
    for name in BUILT_IN:
        entry = registry.get(name)
        assert entry.module.startswith("pflow.nodes.")
        assert entry.interface.description
        assert entry.node_class().__name__ == entry.class_name


@pytest.mark.requirement("security:5.3-4")
def test_nodes_of_a_platform_are_named_by_platform_and_action(place: Home) -> None:
    found = [entry.name for entry in Registry.load(place).search("github-")]
    assert {"github-get-issue", "github-list-issues", "github-create-pr"} <= set(found)


def test_what_is_built_in_says_whether_it_may_run_again(place: Home) -> None:
    registry = Registry.load(place)
    purities = {name: registry.get(name).interface.purity for name in BUILT_IN}
    assert "pure" not in purities.values(), "a built-in node that is worth caching needs a test of its own"
    assert {name for name, purity in purities.items() if purity == "read"} == {"echo", "read-file", "list-files"}


@pytest.mark.requirement("paths:storage-3")
def test_a_persons_own_node_is_found_and_can_run(place: Home) -> None:
    (place.nodes / "loud.py").write_text(SHOUT)
    entry = Registry.load(place).get("shout")
    assert entry.is_user
    assert [field.name for field in entry.interface.reads] == ["text"]
    shared = {"text": "hi"}
    entry.node_class()().run(shared)
    assert shared["loud"] == "HI"


def test_scanning_runs_none_of_the_code(place: Home, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (place.nodes / "loud.py").write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{SHOUT}")
    registry = Registry.load(place)
    assert registry.get("shout").interface.description == "Say it louder."
    assert not mark.exists()
    registry.get("shout").node_class()
    assert mark.exists()


def test_entries_are_stored_in_the_documented_form(place: Home) -> None:
    Registry.load(place)
    entry = stored(place)["read-file"]
    assert entry["class_name"] == "ReadFile"
    assert entry["module"] == "pflow.nodes.file.read"
    assert Path(str(entry["file_path"])).is_file()
    interface = entry["interface"]
    assert isinstance(interface, dict)
    assert {"description", "params", "outputs", "actions"} <= interface.keys()
    assert interface["params"][0] == {
        "name": "path",
        "type": "string",
        "description": "The file to read",
        "required": True,
    }


def test_an_unchanged_registry_is_read_and_not_scanned_again(place: Home) -> None:
    (place.nodes / "loud.py").write_text(SHOUT)
    Registry.load(place)
    data = stored(place)
    data["shout"]["class_name"] = "FromTheFile"
    place.registry.write_bytes(orjson.dumps(data))
    assert Registry.load(place).get("shout").class_name == "FromTheFile"


def test_a_changed_file_is_scanned_again_and_its_hash_changes(place: Home) -> None:
    file = place.nodes / "loud.py"
    file.write_text(SHOUT)
    before = Registry.load(place).get("shout")
    assert before.node_hash == hashlib.sha256(SHOUT.encode() + b"\0ShoutNode").hexdigest()
    before.node_class()
    file.write_text(SHOUT.replace("upper", "lower"))
    os.utime(file, ns=(1, 1))
    after = Registry.load(place).get("shout")
    assert after.node_hash != before.node_hash
    shared = {"text": "Hi"}
    after.node_class()().run(shared)
    assert shared["loud"] == "hi"


def test_a_built_in_node_is_known_by_its_type_and_version(place: Home, tmp_path: Path) -> None:
    assert Registry.load(place).get("shell").node_hash == "shell@1"
    file = tmp_path / "loud.py"
    file.write_text(SHOUT)
    assert scan_file(file, "pflow.nodes.loud").entries["shout"]["node_hash"] == "shout@1"
    file.write_text(SHOUT.replace("class ShoutNode(Node):", "class ShoutNode(Node):\n    version = 2\n"))
    assert scan_file(file, "pflow.nodes.loud").entries["shout"]["node_hash"] == "shout@2"


def test_a_deleted_file_takes_its_nodes_along(place: Home) -> None:
    file = place.nodes / "loud.py"
    file.write_text(SHOUT)
    assert "shout" in Registry.load(place)
    file.unlink()
    assert "shout" not in Registry.load(place)


def test_another_version_of_pflow_makes_the_entries_anew(place: Home) -> None:
    Registry.load(place)
    data = stored(place)
    data[HEAD]["made_by"] = "pflow 0.0.1"
    data["echo"]["class_name"] = "Old"
    place.registry.write_bytes(orjson.dumps(data))
    assert Registry.load(place).get("echo").class_name == "Echo"


def test_files_that_cannot_be_used_are_told_each_time(place: Home) -> None:
    (place.nodes / "a_broken.py").write_text("class (:\n")
    (place.nodes / "b_binary.py").write_bytes(b"\0\xff")
    (place.nodes / "c_big.py").write_text("#" * (1024 * 1024 + 1))
    (place.nodes / "d_taken.py").write_text("class Echo(Node): pass\nclass Fine(Node): pass\n")
    (place.nodes / "e_again.py").write_text("class Fine(Node): pass\n")
    (place.nodes / "f_name.py").write_text("class X(Node):\n    name = '../x'\nclass Über(Node): pass\n")
    (place.nodes / "g_twice.py").write_text("class Two(Node): pass\nclass TwoNode(Node): pass\n")
    (place.nodes / "h_json.py").write_text("class Huge(Node):\n    class Params:\n        x: int = 10" + "0" * 40)
    first = Registry.load(place)
    assert first.notices == [
        "`a_broken.py` line 1: invalid syntax; its nodes are left out",
        "`b_binary.py` is not Python source; its nodes are left out",
        "`c_big.py` is larger than 1024 KiB; its nodes are left out",
        "`d_taken.py`: node type `echo` is left out; a built-in node has that name",
        "`e_again.py`: node type `fine` is left out; `d_taken.py` has that name",
        "`f_name.py`: class `X` is left out; a node type's name has only a-z, 0-9 and -",
        "`f_name.py`: class `Über` is left out; a node type's name has only a-z, 0-9 and -",
        "`g_twice.py`: class `TwoNode` is left out; another class of the file is `two`",
        "`h_json.py`: class `Huge` is left out; its interface does not fit in JSON",
    ]
    assert Registry.load(place).notices == first.notices
    assert first.get("echo").module == "pflow.nodes.echo"
    assert first.get("fine").file_path.endswith("d_taken.py")


def test_pipes_folders_and_hidden_files_are_no_sources(place: Home) -> None:
    os.mkfifo(place.nodes / "pipe.py")
    (place.nodes / "folder.py").mkdir()
    (place.nodes / "_private.py").write_text("class A(Node): pass")
    (place.nodes / "gone.py").symlink_to("nowhere")
    (place.nodes / "notes.txt").write_text("class B(Node): pass")
    registry = Registry.load(place)
    assert registry.notices == []
    assert not {"a", "b"} & set(registry.names())


def test_an_unknown_name_is_answered_with_similar_ones(place: Home) -> None:
    with pytest.raises(NotFoundError) as caught:
        Registry.load(place).get("read-fil")
    assert caught.value.message == "there is no node type `read-fil`"
    assert caught.value.suggestions == ("did you mean `read-file`?",)


def test_a_file_that_fails_to_import_says_why(place: Home) -> None:
    (place.nodes / "mine.py").write_text("from pocketflow import Node\nclass Mine(Node): pass\nraise OSError('no')\n")
    entry = Registry.load(place).get("mine")
    for _ in range(2):
        with pytest.raises(NotFoundError) as caught:
            entry.node_class()
        assert caught.value.message == "node type `mine` cannot be loaded from `mine.py`: OSError: no"
    (place.nodes / "mine.py").unlink()
    with pytest.raises(NotFoundError, match="No such file"):
        entry.node_class()


@pytest.mark.parametrize(
    "planted",
    [
        {"module": "os", "class_name": "PathLike", "file_path": "/x.py"},
        {"module": "", "class_name": "Evil", "file_path": "{tmp}/evil.py"},
        {"module": "", "class_name": "Evil", "file_path": "{home}/nodes/../../evil.py"},
    ],
)
def test_a_registry_file_cannot_name_code_elsewhere(place: Home, tmp_path: Path, planted: dict[str, Any]) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    Registry.load(place)
    data = stored(place)
    file_path = planted["file_path"].format(tmp=tmp_path, home=place.nodes.parent)
    data["evil"] = planted | {"file_path": file_path, "interface": {}}
    place.registry.write_bytes(orjson.dumps(data))
    with pytest.raises(SecurityError):
        Registry.load(place).get("evil").node_class()


@pytest.mark.requirement("client:require-1")
def test_virtual_entries_last_and_survive_rescans(place: Home) -> None:
    registry = Registry.load(place)
    registry.set_entry("mcp-github-create-issue", TOOL)
    assert "mcp-github-create-issue" in registry
    assert "mcp-github-create-issue" not in Registry.load(place)
    registry.save()
    (place.nodes / "loud.py").write_text(SHOUT)
    again = Registry.load(place)
    assert "shout" in again
    entry = again.get("mcp-github-create-issue")
    assert entry.is_virtual
    assert entry.data == TOOL
    assert [(field.name, field.type) for field in entry.interface.params] == [("title", "string"), ("body", "string")]
    again.rescan()
    again.remove("mcp-github-create-issue")
    again.save()
    assert "mcp-github-create-issue" not in Registry.load(place)


def test_a_virtual_entrys_hash_follows_its_definition(place: Home) -> None:
    registry = Registry.load(place)
    registry.set_entry("mcp-a-b", TOOL)
    before = registry.get("mcp-a-b").node_hash
    registry.set_entry("mcp-a-b", {**TOOL, "interface": {}})
    assert registry.get("mcp-a-b").node_hash != before


def test_entries_that_are_not_virtual_cannot_be_set_or_removed(place: Home) -> None:
    registry = Registry.load(place)
    with pytest.raises(UsageError, match="virtual://"):
        registry.set_entry("mine", {"file_path": "/tmp/x.py"})
    with pytest.raises(UsageError, match="another node type"):
        registry.set_entry("echo", TOOL)
    with pytest.raises(UsageError, match="cannot be the name"):
        registry.set_entry(HEAD, TOOL)
    with pytest.raises(UsageError, match="delete the file"):
        registry.remove("echo")
    with pytest.raises(NotFoundError):
        registry.remove("nothing")


def test_a_persons_node_wins_over_a_virtual_one_of_its_name(place: Home) -> None:
    registry = Registry.load(place)
    registry.set_entry("shout", TOOL)
    registry.save()
    (place.nodes / "loud.py").write_text(SHOUT)
    registry = Registry.load(place)
    assert registry.get("shout").is_user
    assert registry.notices == ["`virtual://mcp`: node type `shout` is left out; `loud.py` has that name"]


@pytest.mark.requirement("client:edge-7")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": ', b"null", b"\0" * 100])
def test_a_damaged_registry_is_set_aside_and_rebuilt(place: Home, content: bytes) -> None:
    place.registry.write_bytes(content)
    registry = Registry.load(place)
    assert set(registry.names()) >= BUILT_IN
    aside = [path for path in place.root.iterdir() if ".corrupt-" in path.name]
    assert [path.read_bytes() for path in aside] == [content]
    assert f"it was set aside as `{aside[0].name}`" in registry.notices[0]
    assert "echo" in stored(place)
    assert Registry.load(place).notices == []


def test_what_is_whole_in_a_damaged_registry_is_kept(place: Home) -> None:
    place.registry.write_bytes(orjson.dumps({HEAD: {}, "mcp-a-b": TOOL, "odd": 3, "gone": {"file_path": "/x.py"}}))
    registry = Registry.load(place)
    assert "mcp-a-b" in registry
    assert "odd" not in registry
    assert "gone" not in registry
    assert len(registry.notices) == 1
    assert "mcp-a-b" in Registry.load(place)


def test_a_registry_damaged_meanwhile_is_set_aside_when_saving(place: Home) -> None:
    registry = Registry.load(place)
    registry.set_entry("mcp-a-b", TOOL)
    place.registry.write_bytes(b"{")
    registry.save()
    assert "mcp-a-b" in Registry.load(place)
    assert any(".corrupt-" in path.name for path in place.root.iterdir())


def test_a_registry_that_is_a_link_is_not_followed(place: Home, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_bytes(b"{}")
    place.registry.symlink_to(target)
    with pytest.raises(SecurityError):
        Registry.load(place)
    assert target.read_bytes() == b"{}"


def test_a_home_that_cannot_be_written_still_has_its_nodes(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    registry = Registry.load(Home(blocked / "home"))
    assert set(registry.names()) >= BUILT_IN
    assert "cannot read" in registry.notices[0]


ADD = """
import sys
from pathlib import Path
from pflow.core.file.home import Home
from pflow.registry.registry import Registry
home, number = Home(Path(sys.argv[1])), sys.argv[2]
for index in range(5):
    registry = Registry.load(home)
    registry.set_entry(f"mcp-s{number}-t{index}", {"file_path": "virtual://mcp", "module": "pflow.x"})
    registry.save()
"""


@pytest.mark.requirement("client:nfr-2")
def test_processes_that_save_at_once_lose_nothing(place: Home) -> None:
    command = [sys.executable, "-c", ADD, str(place.root)]
    running = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    names = [name for name in Registry.load(place).names() if name.startswith("mcp-")]
    assert len(names) == 20


def test_a_registry_without_changes_saves_the_same(place: Home) -> None:
    registry = Registry.load(place)
    before = place.registry.read_bytes()
    registry.save()
    assert place.registry.read_bytes() == before


@pytest.mark.requirement("security:5.3-3")
def test_search_finds_a_platforms_nodes_by_prefix_and_names_before_descriptions(place: Home) -> None:
    registry = Registry.load(place)
    for name, text in [
        ("mcp-acme-search-code", "Search code"),
        ("mcp-acme-create-issue", "Create an issue"),
        ("mcp-slack-send-message", "Tell about a acme issue"),
    ]:
        registry.set_entry(name, {**TOOL, "interface": {"description": text, "params": [{"name": "Channel"}]}})

    def found(query: str) -> list[str]:
        return [entry.name for entry in registry.search(query)]

    assert found("mcp-acme") == ["mcp-acme-create-issue", "mcp-acme-search-code"]
    assert found("mcp-acme-*") == found("mcp-acme")
    assert found("Acme issue")[:2] == ["mcp-acme-create-issue", "mcp-slack-send-message"]
    assert "mcp-slack-send-message" in found("channel")
    assert found("echo")[0] == "echo"
    assert found("acme nonsense") == found("acme")
    assert found("nothing-has-this-word") == []
    assert found("") == registry.names()


def test_two_thousand_entries_load_without_looking_into_them(place: Home) -> None:
    registry = Registry.load(place)
    for index in range(2000):
        registry.set_entry(f"mcp-s-tool{index}", TOOL)
    registry.save()
    again = Registry.load(place)
    assert len(again) == len(registry)
    assert again.get("mcp-s-tool1999").interface == again.get("mcp-s-tool0").interface
