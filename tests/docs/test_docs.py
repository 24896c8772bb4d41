"""The documentation is true: its examples behave as shown, and its tables leave nothing out."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import pflow.core.document.parse
import pflow.core.errors
import pflow.errors
import pflow.events
from pflow.adapters.model.provider import providers
from pflow.cli.main import root
from pflow.core.document.issue import CREDENTIAL, NO_SCOPE
from pflow.core.event import EVENTS
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.function import FUNCTIONS, MACROS
from pflow.core.expression.parser import parse
from pflow.core.expression.problem import Code
from pflow.core.file.home import Home
from pflow.core.setting.option import FAMILIES, OPTIONS
from pflow.execution import compiler, foreign_syntax, node_check, parsed, plan_edges, reference
from pflow.execution.absence import check as absence_check
from pflow.execution.absence import output as absence_output
from pflow.execution.asking import ask_check, wait_check
from pflow.execution.asking import document as asking_check
from pflow.execution.expression import choice
from pflow.execution.fit import literal_fit, natural_key, template_fit, value
from pflow.execution.keeping import check as state_check
from pflow.execution.keeping import declared
from pflow.execution.lint import code_lint, endless_loop, word_list
from pflow.execution.model import llm_check
from pflow.execution.need.requirement import BAD_SERVER, MISSING
from pflow.execution.outcome import Outcome
from pflow.execution.repeat import purity
from pflow.execution.section import membership, waiting
from pflow.http import client as http_client
from pflow.mcp.call import tool_result as result
from pflow.mcp.hosts.host import HOSTS
from pflow.mcp.protocol import json_line as frame
from pflow.mcp.protocol import rpc, session
from pflow.mcp.server import config
from pflow.mcp.tools import entry as tool_entry
from pflow.mcp.tools import nested, sync_plan
from pflow.mcp_server.tools import TOOLSETS
from pflow.nodes.file import protected_place
from pflow.process import command as process
from pflow.workspace import Workspace, server_sync
from pflow.workspace.skill.install import PROJECT_FOLDERS
from tests.conventions.source import ROOT
from tests.docs.node_table import builtin_nodes, node_part, written_nodes
from tests.docs.page import DOCS, PAGES, blocks_of, headings_of, read_page
from tests.docs.session import Session, matches

CELL = re.compile(r"`([^`]+)`")


def part(page: str, name: str) -> str:
    """What a page says between the comments `name` and `end`."""
    [found] = re.findall(rf"<!-- {name} -->\n(.*?)<!-- end -->", read_page(page), flags=re.DOTALL)
    return str(found)


def rows(page: str, name: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    lines = [line for line in part(page, name).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def first_cells(page: str, name: str) -> list[str]:
    """The names in the first column of a table."""
    return [name for row in rows(page, name) for name in CELL.findall(row[0])]


LONG = ("asking.md", "cli.md", "documents.md", "mcp.md", "runs.md", "state.md")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] if page in LONG else []) for page in PAGES]
)
def test_every_example_behaves_as_the_page_says(page: str, tmp_path: Path) -> None:
    session = Session(tmp_path)
    blocks = blocks_of(read_page(page))
    assert blocks
    wrong = [f"docs/{page}:{block.line}: {problem}" for block in blocks for problem in session.try_block(block)]
    assert not wrong, "\n".join(wrong)


def test_an_example_that_does_not_behave_is_noticed(tmp_path: Path) -> None:
    page = """
```json bad.json
{"nodes": [{"id": "a", "type": "ecko"}]}
```
```json good.json invalid
{"nodes": [{"id": "echo", "params": {"text": "hello"}}]}
```
```console
$ pflow run good.json
goodbye
$ echo $?
0
$ pflow run nothing.json
…
$ echo $?
0
```
```python
print("one")
```
```text output
two
```
```python
raise SystemExit(3)
```
"""
    session = Session(tmp_path)
    wrong = [(block.line, problem) for block in blocks_of(page) for problem in session.try_block(block)]
    assert [line for line, _ in wrong] == [2, 5, 8, 8, 21, 24]
    assert wrong[2][1] == "`pflow run good.json` (exit code 0) said:\nhello\n"


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a b d\n", False),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n…\nc\n", "a\nb\n", False),
        ("run 20261116-035545-d0656b67799eb302 took 5 ms\n", "run 20270101-000000-0123456789abcdef took 1.2 s\n", True),
        ("3 items\n", "4 items\n", False),
        ("", "anything\n", False),
    ],
)
def test_only_what_changes_from_run_to_run_may_differ(shown: str, said: str, same: bool) -> None:
    assert matches(shown, said) is same


@pytest.mark.parametrize("page", PAGES)
def test_a_reader_sees_the_name_of_every_file(page: str) -> None:
    text = read_page(page)
    for block in blocks_of(text):
        before = [line for line in text.splitlines()[: block.line - 1] if line.strip()]
        assert block.file is None or f"`{block.file}`" in before[-1], f"docs/{page}:{block.line}"


def test_links_lead_somewhere() -> None:
    anchors = {page: headings_of(read_page(page)) for page in PAGES}
    dead = []
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", read_page(page)):
            name, _, anchor = target.partition("#")
            if name.endswith(".png") and (DOCS / name).is_file():
                continue
            if (name or page) not in anchors or (anchor and anchor not in anchors[name or page]):
                dead.append(f"{page}: {target}")
    assert not dead


def test_the_page_of_nodes_says_what_the_registry_knows(home: Path) -> None:
    known = {name: node_part(entry) for name, entry in builtin_nodes(home).items()}
    assert written_nodes(read_page("nodes.md")) == known, "run `python -m tests.docs.node_table`"


def test_every_host_that_reads_skills_is_listed_with_its_place() -> None:
    listed = {row[0].strip("`"): row[2].strip("`") for row in rows("cli.md", "skills")}
    assert listed == {host: f"{folder}/skills/pflow/SKILL.md" for host, folder in PROJECT_FOLDERS.items()}


def commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below one, by the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    names = command.list_commands(context)
    for name in names:
        inner = command.get_command(context, name)
        assert inner is not None
        yield from commands(inner, f"{words} {name}")


COMMANDS = dict(commands(root, "pflow"))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_an_example_and_its_options_are_named(words: str) -> None:
    text = read_page("cli.md")
    consoles = "".join(block.text for block in blocks_of(text) if block.language == "console")
    assert re.search(rf'^\$ (.*\| )?([A-Z]+="[^"]*" )?{words}( |$)', consoles, flags=re.MULTILINE)
    for param in COMMANDS[words].params:
        if isinstance(param, click.Option) and not param.hidden:
            assert all(name in text for name in param.opts), param.opts


FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "document": ({"zz": 1, "nodes": [{"id": "echo"}]}, "zz"),
    "input": ({"inputs": {"a": {"zz": 1}}, "nodes": [{"id": "echo"}]}, "inputs.a.zz"),
    "output": ({"outputs": {"a": {"zz": 1}}, "nodes": [{"id": "echo"}]}, "outputs.a.zz"),
    "node": ({"nodes": [{"id": "echo", "zz": 1}]}, "nodes[0].zz"),
    "batch": ({"nodes": [{"id": "echo", "batch": {"items": [], "zz": 1}}]}, "nodes[0].batch.zz"),
    "retry": ({"nodes": [{"id": "echo", "retry": {"zz": 1}}]}, "nodes[0].retry.zz"),
    "edge": (
        {"nodes": [{"id": "echo"}, {"id": "b", "type": "echo"}], "edges": [{"from": "echo", "to": "b", "zz": 1}]},
        "edges[0].zz",
    ),
    "mapping": ({"nodes": [{"id": "echo"}], "mappings": {"echo": {"zz": {}}}}, "mappings.echo.zz"),
    "state": ({"name": "w", "state": {"a": {"zz": 1}}, "nodes": [{"id": "echo"}]}, "state.a.zz"),
}

PAGE_OF_FIELDS = {"state": "state.md"}
"""Where the fields are listed that `documents.md` does not list."""


@pytest.mark.parametrize("name", FIELDS)
def test_the_table_of_fields_is_complete(name: str, home: Path) -> None:
    document, path = FIELDS[name]
    with Workspace(Home(home)) as workspace:
        [issue] = [issue for issue in workspace.check(document).issues if issue.path == path]
    page = PAGE_OF_FIELDS.get(name, "documents.md")
    assert sorted(first_cells(page, f"fields {name}")) == sorted(issue.known)


def test_every_issue_code_is_listed() -> None:
    listed = re.findall(r"^([a-z-]+)  +\S", pflow.core.document.parse.__doc__ or "", flags=re.MULTILINE)
    source = "".join(
        map(
            inspect.getsource,
            (
                absence_check,
                absence_output,
                ask_check,
                asking_check,
                choice,
                code_lint,
                endless_loop,
                compiler,
                foreign_syntax,
                declared,
                state_check,
                literal_fit,
                llm_check,
                membership,
                natural_key,
                node_check,
                parsed,
                plan_edges,
                purity,
                reference,
                template_fit,
                value,
                wait_check,
                waiting,
                word_list,
            ),
        )
    )
    reported = re.findall(r'report\(\s*"([a-z-]+)"', source)
    own = {CREDENTIAL, MISSING, BAD_SERVER, NO_SCOPE, *get_args(Code)}
    assert set(first_cells("documents.md", "codes")) == {*listed, *reported, *own}


def test_every_function_of_expressions_is_listed_with_an_example_that_holds() -> None:
    table = rows("choosing.md", "functions")
    assert sorted(CELL.findall(cells[0])[0] for cells in table) == sorted(("has", *FUNCTIONS, *MACROS))
    for name, examples, values in table:
        for example, wanted in zip(CELL.findall(examples), CELL.findall(values), strict=True):
            assert name.strip("`") in example
            assert evaluate(parse(example), {}).value == json.loads(wanted), example


def test_every_setting_is_listed_with_its_default() -> None:
    shown = {CELL.findall(row[0])[0]: row[1].strip("`") for row in rows("runs.md", "settings")}
    assert shown == {name: str(option.default).lower() for name, option in OPTIONS.items()}


def test_every_provider_of_language_models_is_listed_as_the_data_has_it() -> None:
    listed = [[cell.strip("`") for cell in row] for row in rows("models.md", "providers")]
    assert listed == [[one.name, one.wire, one.base_url, one.key] for one in providers().values()]


FAMILY_TABLES = {"llm.models": ("models.md", "model settings"), "on": ("cluster.md", "places")}


@pytest.mark.parametrize("prefix", FAMILIES)
def test_every_field_of_a_family_of_settings_is_listed_with_its_default(prefix: str) -> None:
    shown = {CELL.findall(row[0])[0].rpartition(".")[2]: row[1].strip("`") for row in rows(*FAMILY_TABLES[prefix])}
    assert shown == {name: str(option.default).lower() for name, option in FAMILIES[prefix].items()}


def test_every_error_type_is_listed_with_its_exit_code() -> None:
    tree: dict[str, set[int]] = {}
    for _, found in inspect.getmembers(pflow.core.errors, inspect.isclass):
        if issubclass(found, pflow.core.errors.PflowError):
            tree.setdefault(found.code, set()).add(found.exit_code)
    listed = {CELL.findall(row[0])[0]: int(row[1]) for row in rows("runs.md", "error types")}
    assert listed.keys() == tree.keys()
    assert all(listed[code] in codes for code, codes in tree.items())
    exits = {int(code) for row in rows("runs.md", "exit codes") for code in row[0].split(",")}
    assert exits >= {code for codes in tree.values() for code in codes}


def test_every_variable_that_programs_inherit_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = set(CELL.findall(part("security.md", "environment")))
    candidates = set(re.findall(r'"([A-Za-z_]{2,})"', inspect.getsource(process))) | {"MY_TOKEN"}
    for name in (*candidates, *(name.replace("*", "X") for name in listed)):
        monkeypatch.setenv(name, "x")
    inherited = {re.sub(r"^(LC|XDG)_.*", r"\1_*", name) for name in process.child_environment()}
    assert inherited == listed


def test_every_protected_place_is_listed() -> None:
    listed = set(CELL.findall(part("security.md", "protected places")))
    below = {f"~/{name}" for names in protected_place.CREDENTIALS.values() for name in names}
    system = {path for paths in protected_place.SYSTEM.values() for path in paths}
    assert listed == below | system | set(protected_place.MOVED) | {"*".join(protected_place.HOST_KEY)}
    read = " ".join(f"`{path}`" for path in sorted(protected_place.READABLE_KERNEL))
    assert read in " ".join(read_page("security.md").split())


def test_the_limits_of_servers_are_those_of_the_code() -> None:
    shown = part("mcp.md", "limits")
    for text in (
        f"| {frame.LINE_LIMIT >> 20} MiB, with {frame.MOST_BRACKETS:,} objects and lists, ",
        f" {frame.MOST_FIELDS:,} fields, {frame.MOST_STRINGS:,} texts |",
        f"| {tool_entry.MOST_BYTES >> 10} KiB, {tool_entry.MOST_PARAMS:,} parameters |",
        f"| {nested.MOST_FIELDS:,} are shown at once |",
        f"| {server_sync.MOST_INSTRUCTIONS:,} characters are kept |",
        f"| {session.MOST_TOOLS:,} in {session.MOST_PAGES} pages; {sync_plan.MOST_BYTES >> 20} MiB as node types |",
        f"| {result.MOST_BYTES >> 20} MiB, {result.MOST_FILES:,} files |",
        f"| {config.TIMEOUT:g} s, or the server's `timeout` (up to {config.MAX_TIMEOUT / 3600:g} hours); "
        f"a call {rpc.CAP / 60:g} minutes |",
        f"| {http_client.MAX_REDIRECTS}; ",
    ):
        assert text in shown


def test_every_transport_and_every_file_of_servers_is_listed(home: Path) -> None:
    listed = {name for row in rows("mcp.md", "transports") for name in CELL.findall(row[0])}
    assert listed == {*config.TRANSPORTS, "http"}
    folder = Home(home)
    files = {path.name for path in (folder.servers, folder.server_states, folder.observed, folder.tokens)}
    assert files | {"registry.json", "runs/RUN/"} == set(first_cells("mcp.md", "files"))


def test_every_message_about_servers_is_one_of_the_code() -> None:
    source = "".join(path.read_text("utf-8") for path in Path(pflow.core.errors.__file__).parents[1].rglob("*.py"))
    messages = [row[0] for row in rows("runs.md", "messages")]
    assert len(messages) > 15
    for message in messages:
        fixed = max(re.split(r"[`…]|\b[A-Z]{4,}\b|\bURL\b|mcp-|the token|\d+", message), key=len).strip()
        assert fixed in source, message


def test_what_python_programs_use_is_listed() -> None:
    parts = [kind for kind in Workspace.__mro__ if kind is not object]
    methods = {name for kind in parts for name in vars(kind) if not name.startswith("_")} - {"open"}
    named = {re.findall(r"^\w+", name)[0] for name in first_cells("python.md", "workspace")}
    assert named == methods
    members = {name for name in (*Outcome._fields, *vars(Outcome)) if not name.startswith("_")}
    told_elsewhere = {"primary", "notices", "limit", "store", "output_data", "shared_after"}
    assert {name.rstrip("()") for name in first_cells("python.md", "outcome")} == members - told_elsewhere
    assert set(first_cells("python.md", "events")) == set(EVENTS) == set(pflow.events.__all__)
    assert set(first_cells("python.md", "public")) == set(pflow.__all__)
    assert all(issubclass(getattr(pflow.errors, name), pflow.PflowError) for name in pflow.errors.__all__)


def test_no_page_imports_an_inner_module() -> None:
    public = ("pflow", "pflow.errors", "pflow.events", "pflow.testing")
    pages = {page: read_page(page) for page in PAGES} | {"README.md": (ROOT / "README.md").read_text("utf-8")}
    imported = {
        (page, module)
        for page, text in pages.items()
        for module in re.findall(r"^(?:from|import) (pflow[\w.]*)", text, flags=re.MULTILINE)
    }
    assert {found for found in imported if found[1] not in public} == set()


@pytest.mark.requirement("server5:impact-5")
def test_setting_up_the_server_is_told_for_every_host_and_every_tool() -> None:
    page = read_page("serve.md")
    for host in HOSTS.values():
        assert f"| {host.title} |" in page, host
        assert host.table in page, host
    for toolset in TOOLSETS.values():
        for spec in toolset():
            assert f"`{spec.name}`" in page, spec.name
