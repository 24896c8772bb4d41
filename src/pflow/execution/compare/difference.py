"""Where two values differ, path by path. Arrays are compared place by place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.document.difference import Change
from pflow.core.document.position import Path


def compare_values(path: Path, before: object, after: object) -> Iterator[Change]:
    """Everything in which two JSON values differ, in the order of the first."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            here = (*path, str(name))
            if name not in after:
                yield Change(path=here, before=before[name], kind="removed")
            elif name not in before:
                yield Change(path=here, after=after[name], kind="added")
            else:
                yield from compare_values(here, before[name], after[name])
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(min(len(before), len(after))):
            yield from compare_values((*path, index), before[index], after[index])
        for index in range(len(after), len(before)):
            yield Change(path=(*path, index), before=before[index], kind="removed")
        for index in range(len(before), len(after)):
            yield Change(path=(*path, index), after=after[index], kind="added")
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield Change(path=path, before=before, after=after)
