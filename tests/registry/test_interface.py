"""What a node takes and gives, as read from its source: typed class attributes and docstrings."""

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from pflow.core.interface import MISSING, Field, Interface
from pflow.registry.docstring_interface import declared, description
from pflow.registry.entry import interface_from_json
from pflow.registry.scan import scan_file
from pflow.registry.source_module import kebab


def interfaces(folder: Path, source: str) -> dict[str, Interface]:
    """The interfaces of all nodes in a file with this source."""
    path = folder / "mine.py"
    path.write_text(source)
    scan = scan_file(path, None)
    assert scan.notices == []
    return {name: interface_from_json(entry["interface"]) for name, entry in scan.entries.items()}


def only(folder: Path, source: str) -> Interface:
    found = interfaces(folder, source)
    assert len(found) == 1
    return next(iter(found.values()))


def brief(fields: tuple[Field, ...]) -> list[str]:
    """Fields on a line each."""
    return [
        " ".join(
            part
            for part in (
                f"{field.name}: {field.type}",
                "required" if field.required else "",
                "" if field.default is MISSING else f"= {field.default!r}",
                f"({field.description})" if field.description else "",
                f"slot {field.slot}" if field.slot != "value" else "",
                f"{dict(field.schema)}" if field.schema else "",
            )
            if part
        )
        for field in fields
    ]


TYPED = '''
from typing import Annotated, Any, Literal, Optional, TypedDict
from pocketflow import AsyncNode

LIMIT = 10 * 1024

class Issue(TypedDict):
    number: int
    title: str
    parent: "Issue"

class FetchIssues(AsyncNode):
    """Fetch issues.

    More about it.
    """
    name = "fetch-issues"
    class Params:
        url: Annotated[str, "Where from", "slot:url"]
        command: Annotated[str, "slot:shell", "What to run"]
        limit: Annotated[int, "At most"] = LIMIT
        ratio: float = -0.5
        labels: Annotated[list[str] | None, "Only these"]
        state: Annotated[Literal["open", "closed"], "Which"] = "open"
        extra: Optional[dict] = None
        body: Annotated[str | dict | list, "What to send"] = ""
        from_: str = "x"
        anything: object = 1
        later: str = compute()
    class Outputs:
        issues: Annotated[list[Issue], "What was found"]
        headers: dict[str, str]
        raw: Any
    actions = ("default", "rate_limited")
    purity = "read"
    open_outputs = True
'''


def test_typed_attributes_become_an_interface(tmp_path: Path) -> None:
    found = only(tmp_path, TYPED)
    assert found.description == "Fetch issues."
    assert brief(found.params) == snapshot(
        [
            "url: string required (Where from) slot url",
            "command: string required (What to run) slot shell",
            "limit: integer = 10240 (At most)",
            "ratio: number = -0.5",
            "labels: array (Only these) {'type': 'array', 'items': {'type': 'string'}}",
            "state: string = 'open' (Which) {'enum': ['open', 'closed']}",
            "extra: object = None",
            "body: string|object|array = '' (What to send)",
            "from: string = 'x'",
            "anything: any = 1",
            "later: string",
        ]
    )
    assert brief(found.outputs) == snapshot(
        [
            "issues: array (What was found) {'type': 'array', 'items': {'type': 'object', 'properties': "
            "{'number': {'type': 'integer'}, 'title': {'type': 'string'}, 'parent': {}}}}",
            "headers: object {'type': 'object', 'additionalProperties': {'type': 'string'}}",
            "raw: any",
        ]
    )
    assert found.actions == ("default", "rate_limited")
    assert found.purity == "read"
    assert found.open_outputs
    assert not found.open_params


def test_a_node_inherits_what_a_base_class_of_its_file_declares(tmp_path: Path) -> None:
    found = interfaces(
        tmp_path,
        '''
from pocketflow import Node
class _Api(Node):
    purity = "read"
    actions = ("default", "auth_failed")
    class Params:
        token: str = ""
class Common:
    page: int = 1
class ListThings(_Api):
    class Params(_Api.Params, Common):
        kind: str
class GetThing(_Api):
    """Get it."""
''',
    )
    assert list(found) == ["list-things", "get-thing"]
    assert brief(found["list-things"].params) == ["token: string = ''", "page: integer = 1", "kind: string required"]
    assert brief(found["get-thing"].params) == ["token: string = ''"]
    assert found["get-thing"].actions == ("default", "auth_failed")
    assert found["list-things"].purity == "read"


SEED = '''
from pocketflow import Node

class McpGithubSearchCodeNode(Node):
    """Search code in GitHub repositories via MCP.

    Interface:
    - Reads: shared["query"] - search query string
    - Reads: shared["language"] - programming language filter (optional)
    - Writes: shared["search_results"] - array of code search results
    - Params: max_results (default 10) - maximum results to return
    - Actions: default, rate_limited, error

    MCP Source: github-server/search_code v1.2.0
    """
'''


@pytest.mark.requirement("security:5.2-2")
def test_a_docstring_becomes_an_interface(tmp_path: Path) -> None:
    found = interfaces(tmp_path, SEED)["mcp-github-search-code"]
    assert found.description == "Search code in GitHub repositories via MCP."
    assert brief(found.reads) == [
        "query: any required (search query string)",
        "language: any (programming language filter)",
    ]
    assert brief(found.outputs) == ["search_results: any (array of code search results)"]
    assert brief(found.params) == ["max_results: integer = 10 (maximum results to return)"]
    assert found.actions == ("default", "rate_limited", "error")
    assert not found.open_params
    assert not found.open_outputs
    assert found.purity == "impure"


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        ('- Reads: shared["a"]: str', "reads", ["a: string required"]),
        ("- Reads: shared['a']: str - text", "reads", ["a: string required (text)"]),
        ('- Reads: shared["a"] (str) - text', "reads", ["a: string required (text)"]),
        (
            '- Reads: shared["a"]: list[str] - text',
            "reads",
            ["a: array required (text) {'type': 'array', 'items': {'type': 'string'}}"],
        ),
        ('- Reads: shared["a"]: str, shared["b"]: int', "reads", ["a: string required", "b: integer required"]),
        ('- Reads: shared["a"], shared["b"] (optional)', "reads", ["a: any required", "b: any"]),
        ('- Reads: shared["a"] (optional, default: "x, y") - text', "reads", ["a: string = 'x, y' (text)"]),
        ('- Reads: shared["a"]: str | None  # text', "reads", ["a: string (text)"]),
        ('* Writes: shared["a"]: dict — text', "outputs", ["a: object (text)"]),
        ('- Writes: shared["a"] - text (one of many)', "outputs", ["a: any (text (one of many))"]),
        ('- Writes: shared["a"]: not a type - text', "outputs", ["a: any (not a type - text)"]),
        ("- Params: a", "params", ["a: any"]),
        ("- Params: a (required) - text", "params", ["a: any required (text)"]),
        (
            "- Params: a: int (default 3), b: str (default x) - text, more",
            "params",
            ["a: integer = 3", "b: string = 'x' (text, more)"],
        ),
        ("- Params: a (default true), b (default none)", "params", ["a: boolean = True", "b: any = None"]),
        ("- Params: a: object, b: object|string", "params", ["a: object", "b: object|string"]),
        ("- params: `a` (default=0.5) - text", "params", ["a: number = 0.5 (text)"]),
        ("Params: a - text\n      that goes on", "params", ["a: any (text that goes on)"]),
        ("- Params:\n    - a: int - text\n    - b (default 2)", "params", ["a: integer (text)", "b: integer = 2"]),
        ("- Inputs: a: str - text", "reads", ["a: string required (text)"]),
    ],
)
def test_variants_of_docstring_lines_are_understood(line: str, kind: str, fields: list[str]) -> None:
    found = declared(f"Does it.\n\nInterface:\n{line}\n")
    assert found is not None
    assert brief(getattr(interface_from_json(found), kind)) == fields


def test_a_docstring_interface_ends_with_its_list() -> None:
    found = declared(
        """Does it.

        Interface:
        - Reads: shared["a"]

        Note that this is prose.
        - Params: not_a_param
        """
    )
    assert found == {"reads": [{"name": "a", "required": True}]}


def test_actions_may_carry_remarks() -> None:
    assert declared("X.\n\nInterface:\n- Actions: default (done), `error` (else, sadly)") == {
        "actions": ["default", "error"]
    }


NAME = st.text(string.ascii_lowercase, min_size=1, max_size=12).filter(lambda name: name not in ("and", "default"))
WORDS = st.text(string.ascii_letters + " ,;()[]:#-", max_size=40)


@given(st.text(max_size=300))
def test_no_docstring_breaks_the_reader(text: str) -> None:
    declared(f"Interface:\n{text}")
    declared(text)
    description(text)


@given(st.lists(st.tuples(st.sampled_from(["Reads", "Writes", "Params", "Actions"]), WORDS), max_size=6))
def test_whatever_a_docstring_lists_becomes_an_interface(lines: list[Any]) -> None:
    found = declared("X.\n\nInterface:\n" + "\n".join(f"- {kind}: {words}" for kind, words in lines))
    interface = interface_from_json(found)
    assert all(field.name for field in (*interface.params, *interface.reads, *interface.outputs))


@given(
    st.lists(
        st.tuples(NAME, st.sampled_from(["str", "int", "dict", "list"]), st.booleans()),
        unique_by=lambda i: i[0],
        max_size=5,
    )
)
def test_what_a_docstring_says_plainly_is_read_back(fields: list[Any]) -> None:
    lines = [f'- Reads: shared["{name}"]: {kind} - words{" (optional)" * optional}' for name, kind, optional in fields]
    found = interface_from_json(declared("X.\n\nInterface:\n" + "\n".join(lines)))
    assert [(field.name, field.required, field.description) for field in found.reads] == [
        (name, not optional, "words") for name, _, optional in fields
    ]


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("GitHubGetIssueNode", "github-get-issue"),
        ("McpGithubSearchCodeNode", "mcp-github-search-code"),
        ("Echo", "echo"),
        ("LLMNode", "llm"),
        ("HTTPServerNode", "http-server"),
        ("ParseJSON", "parse-json"),
        ("S3Upload", "s3-upload"),
        ("Base64Encode", "base64-encode"),
        ("read_file", "read-file"),
        ("PostgreSQLQueryNode", "postgresql-query"),
        ("Node", "node"),
    ],
)
def test_a_class_name_becomes_a_node_type(class_name: str, name: str) -> None:
    assert kebab(class_name) == name


@pytest.mark.parametrize(
    ("head", "purity"),
    [
        ("@flow_safe\nclass A(Node):\n    pass", "pure"),
        ("@pflow.flow_safe()\nclass A(Node):\n    pass", "pure"),
        ("@flow_safe(cache=False)\nclass A(Node):\n    pass", "read"),
        ("class A(Node):\n    purity = 'read'", "read"),
        ("class A(Node):\n    purity = 'sometimes'", "impure"),
        ("class A(Node):\n    pass", "impure"),
    ],
)
def test_purity_is_what_the_class_declares(tmp_path: Path, head: str, purity: str) -> None:
    assert only(tmp_path, head).purity == purity


def test_a_node_that_declares_nothing_takes_and_gives_anything(tmp_path: Path) -> None:
    found = only(tmp_path, "import pocketflow\nclass Mine(pocketflow.Node):\n    '''Mine.'''")
    assert found == Interface(description="Mine.", open_params=True, open_outputs=True)


def test_only_node_classes_count(tmp_path: Path) -> None:
    found = interfaces(
        tmp_path,
        "class _Base(AsyncNode): pass\nclass One(_Base): pass\nclass Two(BatchNode): name = None\n"
        "class Three: pass\nclass Loop(Loop): pass\nclass Four(Generic[Node]): pass\n",
    )
    assert list(found) == ["one"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, Interface(open_params=True, open_outputs=True)),
        ({}, Interface()),
        (
            {"inputs": ["query"], "outputs": ["found"], "params": {"max_results": 10}},
            Interface(
                reads=(Field(name="query"),),
                outputs=(Field(name="found"),),
                params=(Field(name="max_results", default=10),),
            ),
        ),
        (
            {"params": [{"name": "title", "type": "str"}, 3, {"type": "str"}], "actions": "error", "outputs": 1},
            Interface(params=(Field(name="title", type="string"),)),
        ),
    ],
)
def test_an_interface_is_read_from_any_json(data: dict[str, Any] | None, expected: Interface) -> None:
    assert interface_from_json(data) == expected
