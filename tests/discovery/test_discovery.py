"""What is found, why, and what a search that finds nothing says; through the workspace."""

import asyncio
import inspect
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import orjson
import pytest
from pocketflow import Node

from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.planning.catalogue import Catalogue, Kind
from pflow.planning.discovery import Discovery, Findings
from pflow.planning.nodes import WorkflowDiscoveryNode
from pflow.planning.ranking import Match, Ranked
from pflow.registry.registry import Registry
from pflow.workspace import Workspace
from tests.discovery.recall import entries
from tests.robust.world import pflow
from tests.unprivileged import obey_permissions

requirement = pytest.mark.requirement

CHANGELOG = {
    "description": "Write what changed since a release",
    "inputs": {"since": {"type": "string", "description": "The tag of the last release"}, "style": {"default": "long"}},
    "nodes": [{"id": "echo", "params": {"text": "${since}"}}],
    "outputs": {"path": {"description": "Where the text is", "source": "${echo.text}"}},
}


@pytest.fixture
def ws(place: Home) -> Iterator[Workspace]:
    with Workspace(place) as workspace:
        yield workspace


def names(findings: Findings) -> list[str]:
    return [hit.name for hit in findings.hits]


def add_tool(home: Home, name: str, description: str, server: str = "acme") -> str:
    registry = Registry.load(home)
    tool = {"server": server, "name": name, "id": name, "description": description, "params": {}}
    [(_, node_type, entry)] = entries([tool])
    registry.set_entry(node_type, entry)
    registry.save()
    return node_type


# ---- what is found


@requirement("server13:workflow_discover-1", "server13:workflow_discover-2")
def test_a_workflow_is_found_with_what_it_takes_and_gives(ws: Workspace) -> None:
    ws.save(CHANGELOG, "generate-changelog")
    ws.save({"description": "Say hello", "nodes": [{"id": "echo", "params": {"text": "hi"}}]}, "greet")
    found = ws.discovery.discover_workflows("changes since the last release")
    matches: Any = found.to_json()["matches"]
    [hit] = matches
    assert 0 < hit.pop("score") < 1
    assert hit == {
        "name": "generate-changelog",
        "kind": "workflow",
        "reason": "changed, since, release in its description; since, last, release in its parameters",
        "matched": {"description": ["changed", "since", "release"], "parameters": ["since", "last", "release"]},
        "description": "Write what changed since a release",
        "inputs": {
            "since": {"type": "string", "required": True, "description": "The tag of the last release"},
            "style": {"type": "any", "required": False, "description": "", "default": "long"},
        },
        "outputs": {"path": {"description": "Where the text is", "source": "${echo.text}"}},
    }
    assert found.ranking == "words (FTS5)"


@requirement("server13:success-1")
@pytest.mark.parametrize(
    "query", ["generate a changelog", "generate-changelog", "changelog generator", "generateChangelog"]
)
def test_the_name_of_a_workflow_in_other_words_is_as_good_as_certain(ws: Workspace, query: str) -> None:
    ws.save(CHANGELOG, "generate-changelog")
    matches: Any = ws.discovery.discover_workflows(query).hits
    [hit] = matches
    assert hit.score >= 0.95


def test_a_node_type_is_found_with_a_line_of_what_it_takes_and_gives(ws: Workspace) -> None:
    matches: Any = ws.discovery.discover_nodes("read-file", limit=1).to_json()["matches"]
    assert matches == [
        {
            "name": "read-file",
            "kind": "node type",
            "score": 1.0,
            "reason": matches[0]["reason"],
            "description": "Read a text file. With the encoding `base64`, any file.",
            "takes": "path: string, encoding?: string, max_size?: integer",
            "gives": "content: string, path: string, size: integer",
        }
    ]


def test_five_hits_for_programs_fit_into_three_kilobytes(ws: Workspace) -> None:
    for task in ("read a file", "call an api, write what it answers to a file", "create an issue about every commit"):
        found = ws.discovery.discover_nodes(task, limit=5).to_json()
        assert len(orjson.dumps(found)) <= 3_000


def test_a_node_type_of_many_parameters_says_how_many_it_does_not_name(ws: Workspace) -> None:
    names = ", ".join(f"p{number}: str" for number in range(20))
    about = f'"""Penguin.\n\n    Interface:\n    - Params: {names}\n    """'
    code = f"from pocketflow import Node\n\n\nclass Wide(Node):\n    {about}\n"
    ws.home.nodes.mkdir(parents=True, exist_ok=True)
    (ws.home.nodes / "wide.py").write_text(code)
    ws.scan()
    matches: Any = ws.discovery.discover_nodes("penguin").to_json()["matches"]
    assert matches[0]["takes"].endswith(", … 8 more")


@pytest.mark.parametrize(
    "task",
    [
        "read the log of a git repository, make an issue on GitHub, write a file",
        "Read the git log; then create a github issue and write a file",
        "git log and github create issue and write file",
    ],
)
def test_a_task_of_several_parts_gets_something_for_each(ws: Workspace, task: str) -> None:
    found = ws.discovery.discover_nodes(task)
    assert {"git-log", "github-create-issue", "write-file"} <= set(names(found))
    assert len(set(names(found))) == len(found.hits) <= 10
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_what_fits_far_worse_than_the_best_is_not_read_by_anybody(ws: Workspace) -> None:
    found = ws.discovery.discover_nodes("git log")
    assert names(found) == ["git-log"]
    assert len(ws.discovery.discover_nodes("git").hits) > 3


@requirement("security:4.2-1")
def test_tools_of_servers_stand_beside_built_in_nodes(tools: Home) -> None:
    with Workspace(tools) as ws:
        found = names(ws.discovery.discover_nodes("create github issue"))
    assert set(found[:2]) == {"github-create-issue", "mcp-github-create-issue"}


def test_a_person_s_own_nodes_are_found(ws: Workspace, place: Home) -> None:
    place.nodes.mkdir()
    (place.nodes / "mine.py").write_text(
        'from pocketflow import Node\nclass BrewCoffeeNode(Node):\n    """Make an espresso."""\n'
    )
    assert names(ws.discovery.discover_nodes("espresso")) == ["brew-coffee"]


def test_drafts_are_found_when_asked_for(ws: Workspace) -> None:
    ws.save(CHANGELOG, "changes-draft", draft=True)
    assert names(ws.discovery.discover_workflows("release")) == []
    matches: Any = ws.discovery.discover_workflows("release", drafts=True).hits
    [hit] = matches
    assert (hit.kind, hit.name) == ("draft", "changes-draft")


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("create_issue", "createIssue"),
        ("createIssue", "create_issue"),
        ("createIssues", "creating an issue"),
        ("listPRs", "prs"),
        ("HTTPServerStart", "http server"),
        ("résumé_upload", "resume"),
        ("re\u0301sume\u0301", "Résumé"),
        ("list_subscriptions", "subscr"),
        ("GitHubSync", "github"),
        ("github_sync", "GitHub"),
    ],
)
def test_word_forms_and_ways_to_write_identifiers_do_not_matter(place: Home, name: str, query: str) -> None:
    node_type = add_tool(place, name, "Does something.", server="zz")
    assert node_type in names(Discovery(place).find(query, kinds=["node"], limit=10))


def test_chinese_is_found_without_spaces(place: Home) -> None:
    node_type = add_tool(place, "x1", "创建一个新的日历事件")
    assert names(Discovery(place).find("日历")) == [node_type]


def test_a_word_in_the_name_weighs_more_than_any_number_in_the_description(place: Home) -> None:
    named = add_tool(place, "zebra", "Does something.")
    described = add_tool(place, "other", "zebra " * 50 + "Zebra ZEBRA zebras")
    assert names(Discovery(place).find("zebra")) == [named, described]


def test_scores_never_rise_along_the_list(tools: Home) -> None:
    for query in ("list files in a page", "create issue", "get the current time in a database"):
        scores = [hit.score for hit in Discovery(tools).find(query, limit=50).hits]
        assert len(scores) > 3
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_a_word_that_nothing_has_lowers_the_score_and_is_named(ws: Workspace) -> None:
    sure, unsure = (ws.discovery.discover_nodes(query) for query in ("copy file", "copy file xyzzy"))
    assert names(sure)[0] == names(unsure)[0] == "copy-file"
    assert unsure.hits[0].score < 0.8 < sure.hits[0].score
    assert (sure.unknown, unsure.unknown) == ((), ("xyzzy",))


def test_at_most_as_many_as_asked_for(tools: Home) -> None:
    discovery = Discovery(tools)
    assert [len(discovery.find("list", limit=limit).hits) for limit in (0, 1, 7, 10_000)] == [0, 1, 7, 50]


# ---- when nothing is found


def test_a_mistyped_word_is_answered_with_what_it_may_have_meant(tools: Home) -> None:
    found = Discovery(tools).find("elastcsearch", kinds=["node"])
    assert found.hits == ()
    assert "`mcp-elasticsearch-" in found.advice[0]


def test_an_empty_result_says_what_to_try(ws: Workspace) -> None:
    assert ws.discovery.discover_workflows("xyzzy").to_json() == {
        "matches": [],
        "ranking": "words (FTS5)",
        "unknown_words": ["xyzzy"],
        "suggestions": ["no workflow is saved yet; `pflow registry discover` finds what to build one from"],
    }
    assert ws.discovery.discover_nodes("xyzzy").advice == (
        "say in a few words what it should do, and with what: `create issue`, `read file`",
        "`pflow registry list --filter TEXT` finds parts of words, `pflow registry list` shows all",
        "tools of MCP servers are found after `pflow mcp add` and `pflow mcp sync`",
    )


# ---- the index follows what there is


def test_what_is_saved_changed_and_deleted_is_known_at_once(ws: Workspace) -> None:
    find = ws.discovery.discover_workflows
    assert names(find("release")) == []
    ws.save(CHANGELOG, "one")
    assert names(find("release")) == ["one"]
    ws.save({**CHANGELOG, "description": "About penguins", "inputs": {"since": {}}}, "one", overwrite=True)
    assert (names(find("release")), names(find("penguin"))) == ([], ["one"])
    ws.delete("one")
    assert names(find("penguin")) == []


def test_tools_that_another_process_syncs_are_known_at_once(place: Home) -> None:
    assert names(Discovery(place).find("penguin")) == []
    node_type = add_tool(place, "feed", "Feed a penguin.")
    assert names(Discovery(place).find("penguin")) == [node_type]
    assert add_tool(place, "feed", "Feed a walrus.") == node_type
    assert (names(Discovery(place).find("penguin")), names(Discovery(place).find("walrus"))) == ([], [node_type])
    registry = Registry.load(place)
    registry.remove(node_type)
    registry.save()
    assert names(Discovery(place).find("walrus")) == []


def test_a_workflow_that_cannot_be_read_hides_no_other(ws: Workspace, place: Home) -> None:
    ws.save(CHANGELOG, "good")
    (place.workflows / "release.json").write_text('{"nodes": ')
    (place.workflows / "release2.json").write_text('{"nodes": 7}')
    assert names(ws.discovery.discover_workflows("release")) == ["good"]


def test_only_what_changed_is_read_again(place: Home) -> None:
    Discovery(place).find("file")
    before = rows(place)
    node_type = add_tool(place, "feed", "Feed a penguin.")
    Discovery(place).find("file")
    assert {key: row for key, row in rows(place).items() if key != ("node", node_type)} == before


def rows(home: Home) -> dict[Any, Any]:
    database = sqlite3.connect(home.root / "discovery.db")
    try:
        return {(kind, name): row for row, kind, name in database.execute("SELECT id, kind, name FROM items")}
    finally:
        database.close()


# ---- the cache


def test_the_index_is_for_its_owner_alone(place: Home) -> None:
    path = place.root / "discovery.db"
    path.touch()
    path.chmod(0o644)
    Discovery(place).find("file")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size > 0


DAMAGE = {
    "garbage": lambda data: b"garbage" * 1000,
    "cut": lambda data: data[: len(data) // 2],
    "overwritten": lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE)
def test_a_broken_index_is_made_anew(place: Home, harm: Callable[..., Any]) -> None:
    whole = names(Discovery(place).find("read file"))
    path = place.root / "discovery.db"
    path.write_bytes(harm(path.read_bytes()))
    assert names(Discovery(place).find("read file")) == whole
    assert len(rows(place)) == len(Registry.load(place))


def test_damage_that_shows_only_in_a_search_is_repaired(place: Home) -> None:
    whole = names(Discovery(place).find("read file"))
    database = sqlite3.connect(place.root / "discovery.db", isolation_level=None)
    database.execute("UPDATE texts_data SET block = x'00ff00ff' WHERE id > 10")
    database.close()
    assert names(Discovery(place).find("read file")) == whole
    assert names(Discovery(place).find("read file")) == whole
    assert len(rows(place)) == len(Registry.load(place))


def test_those_who_begin_together_all_find(place: Home) -> None:
    together = Barrier(4)

    def find(_: int) -> str:
        together.wait()
        return names(Discovery(place).find("read file"))[0]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(find, range(4))) == ["read-file"] * 4
    assert len(rows(place)) == len(Registry.load(place))


def test_an_index_of_another_version_is_made_anew(place: Home) -> None:
    whole = names(Discovery(place).find("read file"))
    database = sqlite3.connect(place.root / "discovery.db")
    database.executescript("UPDATE made SET by = 'another'; DELETE FROM texts")
    database.close()
    assert names(Discovery(place).find("read file")) == whole


def test_somebody_else_s_database_is_no_index(place: Home) -> None:
    database = sqlite3.connect(place.root / "discovery.db")
    database.executescript("CREATE TABLE items (what); PRAGMA application_id = 5")
    database.close()
    assert names(Discovery(place).find("read file"))[0] == "read-file"


def test_a_link_is_not_followed(place: Home, tmp_path: Path) -> None:
    (place.root / "discovery.db").symlink_to(tmp_path / "elsewhere")
    assert names(Discovery(place).find("read file"))[0] == "read-file"
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_in_its_place_does_no_harm(place: Home) -> None:
    (place.root / "discovery.db").mkdir()
    assert names(Discovery(place).find("read file"))[0] == "read-file"


def test_a_busy_index_is_not_waited_for_in_vain(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pflow.planning.index._BUSY_SECONDS", 0.01)
    Discovery(place).find("file")
    node_type = add_tool(place, "feed", "Feed a penguin.")
    other = sqlite3.connect(place.root / "discovery.db", isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        assert names(Discovery(place).find("penguin")) == [node_type]
    finally:
        other.close()


def test_a_home_that_cannot_be_written_can_be_searched(builtin_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "home"
        root.mkdir()
        shutil.copy(builtin_file, root)
        monkeypatch.setenv("PFLOW_HOME", str(root))
        (root / "registry.json").chmod(0o444)
        for path in (Path(folder), root):
            path.chmod(0o555)
        done = pflow("registry", "discover", "read", "file", "--json", before=obey_permissions)
        for path in (Path(folder), root):
            path.chmod(0o700)
        assert done.json["data"]["matches"][0]["name"] == "read-file", done.err
        assert [path.name for path in root.iterdir()] == ["registry.json"]


# ---- the node that the documents name


@requirement("server13:workflow_discover-4")
def test_the_discovery_node_works_off_the_event_loop(ws: Workspace, place: Home) -> None:
    ws.save(CHANGELOG, "generate-changelog")
    shared = {"user_input": "write a changelog", "workflow_manager": WorkflowManager(place)}
    assert asyncio.run(asyncio.to_thread(WorkflowDiscoveryNode().run, shared)) == "default"
    matches: Any = shared["discovery_result"]
    [match] = matches
    direct: Any = ws.discovery.discover_workflows("write a changelog").to_json()["matches"]
    assert match == direct[0]


def test_the_discovery_node_looks_where_its_manager_does(ws: Workspace, place: Home) -> None:
    ws.save(CHANGELOG, "mine-draft", draft=True)
    shared: dict[str, Any] = {"user_input": "release", "workflow_manager": WorkflowManager.for_drafts(place)}
    WorkflowDiscoveryNode().run(shared)
    assert [match["name"] for match in shared["discovery_result"]] == ["mine-draft"]


def test_the_discovery_node_is_a_pocketflow_node_and_no_node_type(ws: Workspace) -> None:
    assert issubclass(WorkflowDiscoveryNode, Node)
    assert "WorkflowDiscoveryNode" not in {entry.class_name for entry in ws.node_types()}
    assert "pflow/nodes/" not in inspect.getfile(WorkflowDiscoveryNode).replace(os.sep, "/")


# ---- the port


class Alphabet:
    """Another ranking: what begins like the query, and something that is gone."""

    title = "the alphabet"

    def rank(self, query: str, catalogue: Catalogue, *, kinds: Collection[Kind], limit: int) -> Ranked:
        found = [key for key in sorted(catalogue.stamps()) if key[0] in kinds and key[1].startswith(query)]
        matches = [Match(kind=kind, name=name, score=0.5) for kind, name in [*found, ("node", "gone")]]
        return Ranked(matches=tuple(matches[:limit]))


def test_another_ranking_can_stand_behind_the_same_door(place: Home) -> None:
    found = Discovery(place, ranking=Alphabet()).find("copy", kinds=["node"])
    assert (names(found), found.ranking) == (["copy-file"], "the alphabet")
    assert not (place.root / "discovery.db").exists()
