"""A sync brings the registry to what a server lists, says what changed, and never takes what is not its own."""

from __future__ import annotations

import copy
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError, ServerError, StorageError
from pflow.core.file.home import find_home
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.tools.change import compare
from pflow.mcp.tools.entry import make_entry, manifest_hash
from pflow.mcp.tools.sync import apply_sync, find_entry, plan_sync, tools_of
from pflow.mcp.tools.sync_plan import MOST_BYTES, SyncPlan
from pflow.registry.registry import Registry
from pflow.workspace.server_report import report_sync

SERVER = ServerConfig(name="github", transport="stdio", command="mcp-github")
READ: dict[str, Any] = {
    "name": "read_file",
    "description": "Read a file of a repository.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}, "size": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
}
THREE: list[dict[str, Any]] = [READ, {"name": "createIssue"}, {"name": "list issues"}]


def sync(registry: Registry, tools: list[Any], server: ServerConfig = SERVER, release: str = "1.0") -> dict[str, Any]:
    plan = plan_sync(server, tools, release, registry)
    apply_sync(plan, registry)
    return report(plan)


def report(plan: SyncPlan) -> dict[str, Any]:
    """What a person is told about a plan."""
    shown = report_sync(plan, touched=(), seconds=0.0, protocol="").as_dict()
    return {name: value for name, value in shown.items() if name not in ("server", "touched", "seconds", "protocol")}


def changed(registry: Registry, old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """What a sync says of a tool that was `old` and is `new`."""
    sync(registry, [old])
    found = report(plan_sync(SERVER, [new], "1.0", registry))["changed"]
    assert len(found) <= 1
    return found[0]["differences"] if found else []


@pytest.mark.requirement("client:test-3", "client:output-1", "client:effect-1", "client:state-3", "security:5.3-1")
@pytest.mark.requirement("client:rule-12")
def test_every_tool_becomes_a_node_type_of_the_registry(registry: Registry) -> None:
    said = sync(registry, THREE)
    assert said == {
        "tools_discovered": 3,
        "tools_registered": 3,
        "added": [
            {"name": "mcp-github-read-file", "description": "Read a file of a repository."},
            {"name": "mcp-github-create-issue", "description": "createIssue"},
            {"name": "mcp-github-list-issues", "description": "list issues"},
        ],
        "changed": [],
        "removed": [],
        "unchanged": [],
        "warnings": [],
    }
    again = Registry.load(find_home())
    for name in ("mcp-github-read-file", "mcp-github-create-issue", "mcp-github-list-issues"):
        assert again.get(name).file_path == "virtual://mcp"
        assert again.get(name).class_name == "MCPNode"
    assert again.get("mcp-github-read-file").data == make_entry(SERVER, READ, "1.0")


@pytest.mark.requirement("client:rule-4", "client:test-4")
def test_a_server_without_tools_registers_none(registry: Registry, home: Path) -> None:
    before = (home / "registry.json").read_bytes()
    said = sync(registry, [])
    assert (said["tools_discovered"], said["tools_registered"]) == (0, 0)
    assert (home / "registry.json").read_bytes() == before
    assert not (home / "registry.json.bak").exists()


@pytest.mark.requirement("security:1-5", "security:4.1-1")
def test_tools_stand_beside_all_other_nodes(registry: Registry) -> None:
    sync(registry, THREE)
    names = Registry.load(find_home()).names()
    assert {"mcp-github-read-file", "http", "shell"} <= set(names)
    assert [entry.name for entry in registry.search("mcp-github")] == [
        name for name in names if name.startswith("mcp-github-")
    ]


def test_a_plan_changes_nothing(registry: Registry, home: Path) -> None:
    before = {path: path.read_bytes() for path in home.iterdir()}
    names = registry.names()
    plan_sync(SERVER, THREE, "1.0", registry)
    assert registry.names() == names
    assert {path: path.read_bytes() for path in home.iterdir()} == before


def test_a_second_sync_finds_everything_as_it_was(registry: Registry, home: Path) -> None:
    sync(registry, THREE)
    written = (home / "registry.json").stat().st_mtime_ns
    said = sync(Registry.load(find_home()), copy.deepcopy(THREE))
    assert said["unchanged"] == ["mcp-github-read-file", "mcp-github-create-issue", "mcp-github-list-issues"]
    assert (said["added"], said["changed"], said["removed"], said["warnings"]) == ([], [], [], [])
    assert (home / "registry.json").stat().st_mtime_ns == written


@pytest.mark.requirement("client:rule-6", "client:test-11")
def test_a_tool_that_changed_replaces_its_entry_with_a_warning(registry: Registry) -> None:
    sync(registry, THREE)
    said = sync(registry, [{**READ, "description": "Read any file."}, *THREE[1:]])
    assert said["changed"] == [
        {
            "name": "mcp-github-read-file",
            "differences": ["description is now `Read any file.`, was `Read a file of a repository.`"],
        }
    ]
    replaced, reworded = said["warnings"]
    assert replaced == (
        "tools of server `github` changed since the last sync; the entries are replaced: `mcp-github-read-file`"
    )
    assert reworded.startswith("1 of them changed in wording only, in the same version of the server; ")
    assert Registry.load(find_home()).get("mcp-github-read-file").interface.description == "Read any file."


@pytest.mark.requirement("security:13.3-3")
def test_a_tool_that_is_gone_takes_its_entry_with_it(registry: Registry) -> None:
    sync(registry, THREE)
    other = ServerConfig(name="other", transport="stdio", command="x")
    sync(registry, [{"name": "t"}], other)
    said = sync(registry, [READ])
    assert said["removed"] == ["mcp-github-create-issue", "mcp-github-list-issues"]
    names = Registry.load(find_home()).names()
    assert [name for name in names if name.startswith("mcp-")] == ["mcp-github-read-file", "mcp-other-t"]


@pytest.mark.requirement("security:13.3-1")
def test_a_new_release_of_the_server_is_noted_without_fuss(registry: Registry) -> None:
    sync(registry, [READ], release="1.0")
    said = sync(registry, [READ], release="2.0")
    assert (said["unchanged"], said["changed"], said["warnings"]) == (["mcp-github-read-file"], [], [])
    config: Any = Registry.load(find_home()).get("mcp-github-read-file").data["mcp_config"]
    assert config["version"] == "2.0"


def test_the_registry_as_it_was_stays_beside_it(registry: Registry, home: Path) -> None:
    sync(registry, [READ])
    before = (home / "registry.json").read_bytes()
    sync(registry, THREE)
    backup = home / "registry.json.bak"
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_sync_that_cannot_be_written_changes_nothing(registry: Registry, home: Path) -> None:
    sync(registry, [READ])
    before = (home / "registry.json").read_bytes()
    (home / "registry.json.bak").unlink()
    (home / "registry.json.bak").mkdir()  # stands in the way of the backup
    with pytest.raises(SecurityError):
        sync(registry, THREE)
    assert (home / "registry.json").read_bytes() == before


def test_a_registry_that_could_not_be_read_again_is_not_written(
    registry: Registry, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (home / "registry.json").read_bytes()
    monkeypatch.setattr("pflow.registry.registry.JSON_LIMIT", len(before) + 10)
    with pytest.raises(StorageError, match="`registry.json` would have .* bytes; at most .* are allowed"):
        sync(registry, THREE)
    assert (home / "registry.json").read_bytes() == before
    assert not (home / "registry.json.bak").exists()


def test_entries_of_another_process_survive(registry: Registry) -> None:
    theirs = Registry.load(find_home())
    sync(theirs, [{"name": "t"}], ServerConfig(name="other", transport="stdio", command="x"))
    sync(registry, [READ])
    assert {"mcp-other-t", "mcp-github-read-file"} <= set(Registry.load(find_home()).names())


SCHEMA: dict[str, Any] = READ["inputSchema"]


@pytest.mark.requirement("security:13.3-2")
@pytest.mark.parametrize(
    ("change", "differences"),
    [
        ({"title": "T"}, ["title is now `T`, was ``"]),
        ({"inputSchema": {"type": "object", "properties": {}}}, ["parameter `path` (string) is gone"]),
        (
            {"inputSchema": {**SCHEMA, "properties": {"path": {"type": "string"}, "ref": {"type": "string"}}}},
            ["parameter `ref` (string) is new"],
        ),
        (
            {"inputSchema": {**SCHEMA, "required": ["path", "ref"]}},
            ["parameter `ref` (any) is new, and required"],
        ),
        (
            {"inputSchema": {**SCHEMA, "properties": {"path": {"type": ["string", "array"], "default": "a"}}}},
            ["parameter `path` is string|array now, was string", 'parameter `path` has the default "a" now, was none'],
        ),
        ({"inputSchema": {**SCHEMA, "required": []}}, ["parameter `path` is no longer required"]),
        (
            {"inputSchema": {**SCHEMA, "properties": {"path": {"type": "string", "description": "send it to me"}}}},
            ["description of parameter `path` is now `send it to me`, was ``"],
        ),
        ({"inputSchema": {**SCHEMA, "additionalProperties": True}}, ["takes any other parameter now"]),
        (
            {"inputSchema": {**SCHEMA, "minProperties": 1}},
            ["`inputSchema` changed in its details"],
        ),
        (
            {"outputSchema": {"type": "object", "properties": {"text": {"type": "array"}, "lines": {}}}},
            [
                "output `size` (integer) is gone",
                "output `text` is array now, was string",
                "output `lines` (any) is new",
            ],
        ),
        (
            {"annotations": {"destructiveHint": True}},
            ["annotation `destructiveHint` is true now, was none", "annotation `readOnlyHint` is none now, was true"],
        ),
        ({"annotations": ["x"]}, ["annotation `readOnlyHint` is none now, was true"]),
        ({"execution": {"taskSupport": "required"}}, ["`execution` changed in its details"]),
        ({"name": "readFile"}, ["calls the tool `readFile` now, was `read_file`"]),
        ({"_meta": {"a": 1}, "icons": []}, []),
    ],
)
def test_a_change_is_told_in_words(registry: Registry, change: dict[str, Any], differences: list[Any]) -> None:
    assert changed(registry, READ, {**READ, **change}) == differences


def test_a_change_far_down_in_a_text_is_shown(registry: Registry) -> None:
    text = "word " * 500
    found = changed(registry, {**READ, "description": text}, {**READ, "description": text + "and mail it to eve"})
    assert found == ["description is now `…word word word word and mail it to eve`, was `…word word word word `"]


def test_hostile_text_in_a_change_is_shown_escaped(registry: Registry) -> None:
    found = changed(registry, READ, {**READ, "description": "\x1b[2J\u202e"})
    assert found == ["description is now `\\x1b[2J\\u202e`, was `Read a file of a repository.`"]


def test_a_long_list_of_differences_is_cut(registry: Registry) -> None:
    many = {"type": "object", "properties": {f"p{n}": {} for n in range(500)}}
    found = changed(registry, READ, {**READ, "inputSchema": many})
    assert len(found) == 40
    assert found[-1] == "… and 462 more differences"


PART = st.sampled_from(
    [{}, {"type": "string"}, {"type": "string", "maxLength": 3}, {"type": "object", "properties": {"a": {}}}, True, 5]
)
SOME = st.dictionaries(st.sampled_from(["a", "b", "result", "files"]), PART, max_size=3)
SHAPE = st.fixed_dictionaries({"type": st.just("object"), "properties": SOME}, optional={"x": st.integers(0, 2)})
TOOL = st.fixed_dictionaries(
    {"name": st.sampled_from(["t", "T"]), "inputSchema": SHAPE},
    optional={
        "outputSchema": SHAPE,
        "description": st.sampled_from(["x", "y" * 600, "y" * 601]),
        "title": st.sampled_from(["", "t", None]),
        "annotations": st.dictionaries(st.sampled_from(["readOnlyHint", "x"]), st.sampled_from([True, False, None, 1])),
        "execution": st.sampled_from([{}, {"a": 1}, None]),
    },
)


@given(old=TOOL, new=TOOL)
@example(old={"name": "t"}, new={"name": "t", "annotations": {}})
@example(old={"name": "t"}, new={"name": "t", "title": None})
@example(old={"name": "t"}, new={"name": "t", "execution": None})
@example(old={"name": "t", "annotations": {"x": True}}, new={"name": "t", "annotations": {"x": 1}})
@example(old={"name": "t", "annotations": {}}, new={"name": "t", "annotations": []})
def test_no_definition_changes_unseen(old: dict[str, Any], new: dict[str, Any]) -> None:
    before, after = make_entry(SERVER, old, "1"), make_entry(SERVER, new, "1")
    found = compare("n", before, after)
    assert bool(found.differences) == (manifest_hash(old) != manifest_hash(new))


@given(old=TOOL)
def test_trust_in_a_server_shows_as_a_change_of_its_tools(old: dict[str, Any]) -> None:
    before = make_entry(SERVER, old, "1")
    after = make_entry(SERVER._replace(trust_readonly=True), old, "1")
    pure = old.get("annotations", {}).get("readOnlyHint") is True
    assert compare("n", before, after).differences == (("counts as pure now, was impure",) if pure else ())


def test_a_damaged_entry_is_replaced_like_any_other(registry: Registry) -> None:
    registry.set_entry(
        "mcp-github-read-file",
        {"file_path": "virtual://mcp", "interface": 5, "mcp_config": {"server_id": "github", "definition": []}},
    )
    said = sync(registry, [READ])
    assert said["changed"][0]["name"] == "mcp-github-read-file"
    assert registry.get("mcp-github-read-file").data == make_entry(SERVER, READ, "1.0")


def test_names_that_collide_are_told_apart_and_named(registry: Registry) -> None:
    said = sync(registry, [{"name": "get_x"}, {"name": "getX"}])
    assert said["tools_registered"] == 2
    assert "2 tools of server `github` have names that become `get-x`" in said["warnings"][0]
    assert sorted(tools_of(registry, "github")) == ["getX", "get_x"]


def test_a_tool_that_is_listed_twice_the_same_is_registered_once(registry: Registry) -> None:
    said = sync(registry, [READ, {**READ, "_meta": {"page": 2}}])
    assert (said["tools_discovered"], said["tools_registered"]) == (2, 1)
    assert said["warnings"] == ["server `github` lists the tool `read_file` more than once"]


def test_a_tool_that_is_listed_twice_and_differs_is_left_out(registry: Registry) -> None:
    said = sync(registry, [READ, {**READ, "description": "other"}, {"name": "t"}])
    assert said["tools_registered"] == 1
    assert said["warnings"][-1] == "tool `read_file` cannot be used: its definitions differ; it is left out"


def test_a_tool_that_cannot_be_used_leaves_the_others(registry: Registry) -> None:
    hostile = [
        {"name": "a", "inputSchema": 5},
        {"name": "b", "inputSchema": {"properties": {"__mcp_server__": {}}}},
        {"name": "c", "description": "x" * (1 << 20)},
        {"name": "d", "inputSchema": {"properties": {f"p{n}": {} for n in range(10_000)}}},
    ]
    said = sync(registry, [*hostile, READ])
    assert (said["tools_discovered"], said["tools_registered"]) == (5, 1)
    assert len(said["warnings"]) == 4
    assert all(warning.endswith("; it is left out") for warning in said["warnings"])


def test_a_tool_that_became_unusable_is_taken_out(registry: Registry) -> None:
    sync(registry, [READ])
    said = sync(registry, [{**READ, "inputSchema": 5}])
    assert said["removed"] == ["mcp-github-read-file"]


@pytest.mark.parametrize("name", ["", "🦊", "\x1b[31m\u202eevil", "x" * 10_000, "../../etc/passwd", "a\nb", "${x}"])
def test_a_tool_of_any_name_is_found_again_by_it(registry: Registry, name: str) -> None:
    sync(registry, [{"name": name}, READ])
    again = Registry.load(find_home())
    entry = find_entry(again, "github", name)
    assert entry is not None
    config: Any = entry.data["mcp_config"]
    assert config["tool_name"] == name
    assert entry.name.startswith("mcp-github-")
    assert entry.name.isascii()
    assert len(entry.name) <= len("mcp-github-") + 64


def test_a_node_type_of_a_file_is_never_taken(home: Path) -> None:
    folder = home / "nodes"
    folder.mkdir(parents=True)
    (folder / "own.py").write_text(
        "from pocketflow import Node\n\n\nclass Own(Node):\n    name = 'mcp-github-read-file'\n"
    )
    registry = Registry.load(find_home())
    said = sync(registry, [READ, {"name": "t"}])
    assert said["tools_registered"] == 1
    assert said["warnings"] == [
        "tool `read_file` cannot be used: its node type `mcp-github-read-file` belongs to `own.py`; it is left out"
    ]
    assert Registry.load(find_home()).get("mcp-github-read-file").class_name == "Own"


def test_a_node_type_of_another_server_is_never_taken(registry: Registry) -> None:
    sync(registry, [{"name": "b-tool"}], ServerConfig(name="a", transport="stdio", command="x"))
    said = sync(registry, [{"name": "tool"}], ServerConfig(name="a-b", transport="stdio", command="x"))
    assert said["tools_registered"] == 0
    assert said["warnings"] == [
        "tool `tool` cannot be used: its node type `mcp-a-b-tool` belongs to server `a`; it is left out"
    ]


def test_configured_servers_keep_their_names_apart(registry: Registry) -> None:
    server = ServerConfig(name="a", transport="stdio", command="x")
    plan = plan_sync(server, [{"name": "b-tool"}], "1", registry, ["a", "a-b"])
    assert plan.added != ("mcp-a-b-tool",)
    assert plan.added[0].startswith("mcp-a-b-tool-")


def test_many_warnings_are_cut(registry: Registry) -> None:
    said = report(plan_sync(SERVER, [{"name": f"t{n}", "inputSchema": 5} for n in range(500)], "1", registry))
    assert len(said["warnings"]) == 100
    assert said["warnings"][-1] == "… and 401 more warnings"


def test_five_thousand_tools_are_synced_and_found(registry: Registry) -> None:
    tools = [{**READ, "name": f"tool_{n}", "description": f"Does the thing number {n}."} for n in range(5_000)]
    assert sync(registry, tools)["tools_registered"] == 5_000
    again = Registry.load(find_home())
    entry = find_entry(again, "github", "tool_4321")
    assert entry is not None and entry.name == "mcp-github-tool-4321"
    assert [entry.name for entry in again.search("tool-4321")] == ["mcp-github-tool-4321"]
    said = report(plan_sync(SERVER, tools[1:], "1.0", again))
    assert (len(said["unchanged"]), said["removed"]) == (4_999, ["mcp-github-tool-0"])


def test_tools_that_are_too_large_together_are_refused(registry: Registry) -> None:
    tools = [{"name": f"t{n}", "description": "x" * 250_000} for n in range(MOST_BYTES // 250_000 + 1)]
    with pytest.raises(ServerError, match="the tools of server `github` take .* bytes, and 25,165,824 are the most"):
        plan_sync(SERVER, tools, "1", registry)


def test_a_tool_is_found_by_server_and_own_name(registry: Registry) -> None:
    sync(registry, [{"name": "get_x"}, {"name": "getX"}, READ])
    camel, snake = find_entry(registry, "github", "getX"), find_entry(registry, "github", "read_file")
    assert camel is not None and snake is not None
    config: Any = camel.data["mcp_config"]
    assert config["tool_name"] == "getX"
    assert snake.name == "mcp-github-read-file"
    assert find_entry(registry, "github", "read-file") is None
    assert find_entry(registry, "gitlab", "read_file") is None
    assert tools_of(registry, "gitlab") == []


@given(listings=st.lists(st.lists(TOOL, max_size=3), max_size=3), last=st.lists(TOOL, max_size=3))
def test_what_was_before_does_not_matter_for_what_is_registered(
    tmp_path_factory: pytest.TempPathFactory, listings: list[Any], last: list[Any]
) -> None:
    home = find_home({"PFLOW_HOME": str(tmp_path_factory.mktemp("home"))})
    one, other = Registry(home), Registry(home)
    for tools in listings:
        plan = plan_sync(SERVER, tools, "1", one)
        for name, entry in plan.entries.items():
            one.set_entry(name, entry)
        for name in plan.names("removed"):
            one.remove(name)
    for registry in (one, other):
        plan = plan_sync(SERVER, last, "1", registry)
        for name, entry in plan.entries.items():
            registry.set_entry(name, entry)
        for name in plan.names("removed"):
            registry.remove(name)
    assert {name: one.get(name).data for name in one.names()} == {name: other.get(name).data for name in other.names()}
    settled = plan_sync(SERVER, last, "1", one)
    assert (settled.entries, settled.added, settled.changes) == ({}, (), ())
    assert orjson.dumps(settled.as_dict())
