"""Saved documents that include others: paths that lead nowhere from another directory, and names in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import NamedTuple

from pflow.core.advice import Advice
from pflow.core.document.parse import Parsed, parse_text, parse_value
from pflow.core.document.position import Path, Spot
from pflow.core.errors import DocumentError, ExistsError
from pflow.core.library.reference import is_path
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText, text_of_parsed
from pflow.core.printable import shorten
from pflow.execution.workflow_source import Source

_PLAIN = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_WORDS_WITH_MEANING = frozenset({"null", "true", "false"})


class Inclusion(NamedTuple):
    """A path to a document inside another one: where it stands, and what it says."""

    path: Path
    written: str


class Bundle(NamedTuple):
    """A text to save with all that it includes by name, and the texts of those, innermost first."""

    text: WorkflowText
    included: dict[str, WorkflowText]


def included_paths(document: object, path: Path = ()) -> Iterator[Inclusion]:
    """Every path to another document that a document holds, those in documents written in place included."""
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
        params = node.get("params") if isinstance(node, Mapping) else None
        if not isinstance(params, Mapping) or node.get("type", node.get("id")) != "workflow":
            continue
        here: Path = (*path, "nodes", index, "params", "workflow")
        wanted = params.get("workflow")
        if isinstance(wanted, str) and is_path(wanted):
            yield Inclusion(here, wanted)
        else:
            yield from included_paths(wanted, here)


def refuse_relative(source: Source) -> list[str]:
    """What to know of the paths that a saved document holds; raises `DocumentError` for those from here."""
    found = list(included_paths(source.parsed.places.value))
    relative = [each for each in found if is_relative(each.written)]
    if relative:
        written = shorten(relative[0].written)
        raise DocumentError(
            f"the workflow includes `{written}`, which is found only from here; a saved workflow is run from anywhere",
            suggestions=[
                Advice("save `{path}` with `{save_workflow}` and write its name in the node", path=written),
                Advice("`{save_included}` saves it along, and writes its name"),
            ],
        )
    return [f"the saved workflow includes the file `{each.written}`: it runs only where that file is" for each in found]


def is_relative(written: str) -> bool:
    """Whether a path depends on where it is read."""
    return not written.startswith("~") and not FilePath(written).is_absolute()


def bundle(source: Source, name: str, taken: dict[str, WorkflowText] | None = None) -> Bundle:
    """A document with its inclusions by name instead of by path; raises `DocumentError` and `ExistsError`.

    Each included document has the name that it gives itself, else that of its file.
    """
    included = {} if taken is None else taken
    names: dict[Path, str] = {}
    for each in included_paths(source.parsed.places.value):
        if not is_relative(each.written):
            continue
        parsed, load = source.load(each.written)
        inner = (parsed.document.name if parsed.document else "") or FilePath(each.written).name.split(".", 1)[0]
        text = bundle(source._replace(parsed=parsed, load=load), inner, included).text
        if inner == name or included.get(inner, text) != text:
            raise ExistsError(
                f"two of the documents are called `{inner}`; `{each.written}` is one of them",
                suggestions=["give each a `name` of its own"],
            )
        included[inner] = text
        names[each.path] = inner
    return Bundle(_rewritten(source.parsed, names) if names else text_of_parsed(source.parsed), included)


def check_free(manager: WorkflowManager, included: Mapping[str, WorkflowText]) -> list[str]:
    """The names that have to be saved; raises `ExistsError` for one that something else is saved under."""
    new = []
    for name, text in included.items():
        if not manager.exists(name):
            new.append(name)
        elif manager.text(name) != text:
            raise ExistsError(
                f"something else is saved as `{name}`, which is the name of an included workflow",
                suggestions=["give the included document another `name`, or delete what is saved"],
            )
    return new


def _rewritten(parsed: Parsed, names: Mapping[Path, str]) -> WorkflowText:
    """The text with these names in place of what stands at their paths; nothing else in it changes."""
    wanted = parsed.places.value
    for path, name in names.items():
        wanted = _with(wanted, path, name)
    before = text_of_parsed(parsed)
    if parsed.places.text is None:
        return text_of_parsed(parse_value(wanted))
    parsed.places.find(())
    text = parsed.places.text
    spots = sorted(((_spot(parsed.places.root, path), name) for path, name in names.items()), reverse=True)
    for offset, name in spots:
        text = f"{text[:offset]}{_replaced(text[offset:], name)}"
    after = before._replace(data=text.encode())
    if parse_text(after.data, suffix=after.suffix).places.value != wanted:
        raise DocumentError(
            "the paths in the document could not be replaced by names",
            suggestions=["write the names of the included workflows in their place"],
        )
    return after


def _with(value: object, path: Path, name: str) -> object:
    if not path:
        return name
    part, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_with(item, rest, name) if index == part else item for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: _with(item, rest, name) if key == part else item for key, item in value.items()}
    return value


def _spot(root: Spot | None, path: Path) -> int:
    for part in path:
        root = root.children[part] if root is not None else None
    return root.value if root is not None else 0


def _replaced(text: str, name: str) -> str:
    """Text that begins with a scalar, with a name in its place; quotes stay, and an anchor does."""
    found = re.match(r"""(&\S+[ \t]+)?("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\n#,}\]]+(?:#\S[^\n,}\]]*)*)""", text)
    if found is None:
        return text
    old = found[2]
    rest = old[len(old.rstrip()) :] + text[found.end() :]
    if old[0] in "\"'":
        new = f"{old[0]}{name}{old[0]}"
    else:
        new = name if _PLAIN.fullmatch(name) and name not in _WORDS_WITH_MEANING else f'"{name}"'
    return f"{found[1] or ''}{new}{rest}"
