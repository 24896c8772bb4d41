"""How a module of pflow looks: a docstring, a size one can read, imports at the top or with their reason."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conventions.source import imported_roots, module_paths, text_of, tree_of

# Limits of a module's lines of code and of a package's modules. They only go down.
MOST_CODE_LINES = 345
MOST_MODULES = 24

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

# Where everything may be caught and kept: the step boundary, the MCP edge, the command line's main.
CATCH_ALL = {
    "cli/main.py": "the command line's main",
    "mcp_server/tool_server.py": "the MCP edge",
    "engine/batch.py": "the step boundary, for the items of a batch",
    "engine/attempt/trial.py": "the step boundary",
    "engine/thread.py": "the step boundary, for nodes that block",
    "workspace/asking/on_ask.py": "code of the program, which is asked what runs ask",
    "nodes/code/worker.py": "the step boundary, for an author's code in its own process",
}

# Modules outside of `pflow.http` that may import the HTTP library. All others go through the one client.
HTTP = {
    "mcp/oauth/grant.py",  # the SDK's flows raise the library's errors, and want a request of it in return
}


def test_a_module_opens_with_a_docstring() -> None:
    bare = [path for path in module_paths() if not opens_with_a_sentence(path)]
    assert bare == [], "the first line of a module's docstring is a sentence"


def opens_with_a_sentence(path: str) -> bool:
    """Whether a module's docstring starts with one; an empty `__init__.py` needs none."""
    if path.endswith("__init__.py") and not text_of(path):
        return True
    docstring = ast.get_docstring(tree_of(path))
    return docstring is not None and docstring.splitlines()[0].endswith((".", ":", "?"))


def test_a_module_is_short_enough_to_read() -> None:
    texts = {path: text_of(path) for path in module_paths()}
    sizes = {path: code_lines(text) for path, text in texts.items() if text.count("\n") > MOST_CODE_LINES - 25}
    long = {path: size for path, size in sizes.items() if size > MOST_CODE_LINES}
    assert long == {}, f"split these: more than {MOST_CODE_LINES} lines of code"
    assert max(sizes.values()) > MOST_CODE_LINES - 25, "lower the limit: every module is well below it"


def code_lines(text: str) -> int:
    """Lines that hold code: no blanks, comments or docstrings, so that nobody shortens those to meet a limit."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    return len(code - set(docstring_lines(ast.parse(text))))


def docstring_lines(tree: ast.Module) -> Iterator[int]:
    """The lines of the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def test_only_code_counts_as_code() -> None:
    text = '''"""A module.

    With a docstring of several lines.
    """

# a comment
def f(a,
      b):  # a comment beside code
    """A docstring."""
    return """text
in two lines"""
'''
    assert code_lines(text) == 4


def test_a_package_fits_on_one_screen() -> None:
    modules = Counter(path.rpartition("/")[0] for path in module_paths() if not path.endswith("__init__.py"))
    assert {package: count for package, count in modules.items() if count > MOST_MODULES} == {}


def test_an_import_inside_a_function_says_why() -> None:
    silent = [f"{path}:{line}" for path in module_paths() for line in unexplained_imports(text_of(path), tree_of(path))]
    assert silent == [], "no `# lazy: <reason>` on or above these"


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


def test_a_lazy_import_needs_a_reason_for_it_or_its_run() -> None:
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


def test_everything_is_caught_only_at_the_edges() -> None:
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
def test_catching_everything_is_seen(handler: str, found: list[int]) -> None:
    assert list(catches_all(ast.parse(f"try: x\n{handler}"))) == found


def test_only_one_package_speaks_http() -> None:
    users = {path for path in module_paths() if {"httpx2", "httpcore2"} & imported_roots(tree_of(path))}
    assert {path for path in users if not path.startswith("http/")} == HTTP


def test_nothing_imports_what_is_banned() -> None:
    banned = {"pydantic", "numpy", "starlette", "requests", "aiohttp", "pickle", "marshal", "shelve"}
    found = {path: banned & imported_roots(tree_of(path)) for path in module_paths()}
    # The page is an application of starlette, discovery by meaning computes with numpy, and nothing else does.
    own = {"web/": {"starlette"}, "planning/semantic/": {"numpy"}}
    for room, roots in own.items():
        found = {path: used - roots if path.startswith(room) else used for path, used in found.items()}
    assert {path: roots for path, roots in found.items() if roots} == {}
