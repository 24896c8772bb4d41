"""How a module of pflow looks: a docstring, a size one can read, imports at the top or with their reason."""

import ast
from collections.abc import Iterator

import pytest

from tests.conventions.source import module_paths, text_of, tree_of

MOST_LINES = 400

# Modules that are longer, and how long they may be. The numbers only go down.
LONGER: dict[str, int] = {}

# Where everything may be caught and kept: the step boundary, the MCP edge, the command line's main.
CATCH_ALL = {
    "cli/main.py": "the command line's main",
    "mcp_server/server.py": "the MCP edge",
    "engine/batch.py": "the step boundary, for the items of a batch",
    "engine/scope.py": "the step boundary",
    "engine/thread.py": "the step boundary, for nodes that block",
    "nodes/code/worker.py": "the step boundary, for an author's code in its own process",
}

# Modules outside of `pflow.http` that may import the HTTP library. All others go through the one client.
HTTP = {
    "mcp/oauth/grant.py",  # the SDK's flows raise the library's errors, and want a request of it in return
}


@pytest.mark.parametrize("path", module_paths())
def test_a_module_opens_with_a_docstring(path):
    if path.endswith("__init__.py") and not text_of(path):
        return
    docstring = ast.get_docstring(tree_of(path))
    assert docstring, f"src/pflow/{path} has no docstring"
    assert docstring.splitlines()[0].endswith((".", ":", "?")), "its first line is a sentence"


@pytest.mark.parametrize("path", module_paths())
def test_a_module_is_short_enough_to_read(path):
    lines = text_of(path).count("\n")
    assert lines <= LONGER.get(path, MOST_LINES), f"src/pflow/{path} has {lines} lines: split it"


def test_the_list_of_longer_modules_only_shrinks():
    lines = {path: text_of(path).count("\n") for path in LONGER}
    assert [path for path in LONGER if lines[path] <= MOST_LINES] == [], "these are short enough by now"
    assert [path for path, most in LONGER.items() if lines[path] < most - 25] == [], "lower the numbers of these"


@pytest.mark.parametrize("path", module_paths())
def test_an_import_inside_a_function_says_why(path):
    silent = [f"src/pflow/{path}:{line}" for line in unexplained_imports(text_of(path), tree_of(path))]
    assert not silent, f"no `# lazy: <reason>` on or above: {silent}"


def unexplained_imports(text: str, tree: ast.Module) -> Iterator[int]:
    """First lines of imports inside functions with no reason beside them, or above their paragraph."""
    lines = ["", *text.splitlines()]
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        explained = 0  # the last line of a run of imports that has its reason
        found = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
        for item in sorted(found, key=lambda n: n.lineno):
            end = item.end_lineno or item.lineno
            follows = explained and not "".join(lines[explained + 1 : item.lineno]).strip()
            if follows or any("# lazy: " in line for line in lines[item.lineno - 1 : end + 1]):
                explained = end
            else:
                yield item.lineno


def test_a_lazy_import_needs_a_reason_for_it_or_its_run():
    text = """import a
def f():
    import b
    x = 1
    # lazy: slow
    import c

    from d import (
        e,
    )
    x = 2
    import g  # lazy: rare
    import h
    x = 3
    import i
"""
    assert list(unexplained_imports(text, ast.parse(text))) == [3, 15]


def test_everything_is_caught_only_at_the_edges():
    assert {path for path in module_paths() if any(catches_all(tree_of(path)))} == set(CATCH_ALL)


def catches_all(tree: ast.Module) -> Iterator[int]:
    """Lines of handlers that catch `Exception` or more and do not end in a raise."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {None if kind is None else getattr(kind, "id", "") for kind in caught}
        if names & {None, "Exception", "BaseException"} and not isinstance(node.body[-1], ast.Raise):
            yield node.lineno


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        ("except Exception: pass", [2]),
        ("except: pass", [2]),
        ("except (OSError, BaseException) as e: x = 1", [2]),
        ("except Exception: raise", []),
        ("except Exception as e: raise OSError from e", []),
        ("except ValueError: pass", []),
    ],
)
def test_catching_everything_is_seen(handler, found):
    assert list(catches_all(ast.parse(f"try: x\n{handler}"))) == found


def test_only_one_package_speaks_http():
    users = {path for path in module_paths() if {"httpx2", "httpcore2"} & imported_roots(tree_of(path))}
    assert {path for path in users if not path.startswith("http/")} == HTTP


def test_nothing_imports_what_is_banned():
    banned = {"pydantic", "numpy", "starlette", "requests", "aiohttp", "pickle", "marshal", "shelve"}
    assert {path: found for path in module_paths() if (found := banned & imported_roots(tree_of(path)))} == {}


def imported_roots(tree: ast.Module) -> set[str]:
    """Top-level names of everything a module imports, wherever it does."""
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return roots
