"""Checks Python source that a document holds, without running any of it."""

from __future__ import annotations

import re
import warnings
from keyword import iskeyword

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TEMPLATE = re.compile(r"\$\{([^}\n]*)\}")


def check_code(code: str) -> list[tuple[int, int, str]]:
    """Why `code` is not valid Python: line and column from 1, and a message. Empty when it is valid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<code>", "exec", dont_inherit=True)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        return [(line, column, f"{error.msg}{_advice(code, line, error.msg)}")]
    except (ValueError, OverflowError) as error:
        return [(1, 1, str(error))]
    except (RecursionError, MemoryError):
        return [(1, 1, "the code is nested too deeply")]
    return []


def source_lines(code: str) -> list[str]:
    """The lines as Python counts them, which is not how `str.splitlines` does."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _advice(code: str, line: int, message: str) -> str:
    lines = source_lines(code)
    text = lines[line - 1] if line <= len(lines) else ""
    template = _TEMPLATE.search(text) or _TEMPLATE.search(code)
    if template:
        words = [word for word in _WORD.findall(template[1].partition(":-")[0]) if not iskeyword(word)]
        name = words[-1] if words else "value"
        return (
            f". Templates do not apply inside code: pass `{template[0]}` through `inputs`, "
            f'as {{"{name}": "{template[0]}"}}, and write `{name}`'
        )
    if message.startswith("'return' outside"):
        return ". Assign to `result` instead of returning"
    if message.startswith("'await' outside"):
        return ". Code runs synchronously; use `asyncio.run(…)`"
    return ""
