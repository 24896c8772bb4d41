"""Commands stand in one table, and an edge with words of its own knows them by kind."""

import ast
import re
from pathlib import Path

import pflow
from pflow.core.advice import COMMANDS
from pflow.mcp_server.envelope import IN_TOOLS

SOURCE = Path(pflow.__file__).parent
NAME = re.compile(r"(?<!\$)\{(\w+)\}")
COMMAND = re.compile(r"\bpflow (runs|schedule|mcp|settings|registry|workflow|run|call|trace|serve)\b(?! workflows)")


def below_the_command_line() -> list[Path]:
    """Modules other than those of the command line, whose own words commands are."""
    table = SOURCE / "core" / "advice.py"
    return [path for path in SOURCE.rglob("*.py") if SOURCE / "cli" not in path.parents and path != table]


def strings(tree: ast.AST) -> list[str]:
    """Every string of a module that is not a docstring."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documentation]
    return [node.value for node in constants if isinstance(node.value, str)]


def advice(tree: ast.AST) -> list[tuple[str, set[str]]]:
    """Sentences of a module that are advice, with the names of their arguments."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return [
        (ast.literal_eval(call.args[0]), {word.arg for word in call.keywords if word.arg is not None})
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Advice"
    ]


def test_tools_are_listed_for_kinds_of_advice_only() -> None:
    assert set(IN_TOOLS) <= set(COMMANDS)


def test_a_tool_call_needs_no_other_arguments_than_the_command() -> None:
    for kind, said in IN_TOOLS.items():
        assert set(NAME.findall(said)) <= set(NAME.findall(COMMANDS[kind])), kind


def test_no_command_is_written_out_below_the_command_line() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {text}"
        for path in below_the_command_line()
        for text in strings(ast.parse(path.read_text()))
        if COMMAND.search(text)
    }
    assert found == set()


def test_every_piece_of_advice_names_kinds_that_exist_and_gives_their_arguments() -> None:
    used = set()
    for path in below_the_command_line():
        for text, given in advice(ast.parse(path.read_text())):
            names = set(NAME.findall(text))
            kinds = names & set(COMMANDS)
            needed = {name for kind in kinds for name in NAME.findall(COMMANDS[kind])}
            assert kinds, f"{path}: {text}"
            assert needed | (names - kinds) == given, f"{path}: {text}"
            used |= kinds
    assert used == set(COMMANDS)
