"""Which steps a cassette answers, and how what they are asked is written: the same for recording and replaying."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from pflow.core.setting.redactor import Redactor
from pflow.engine.failure import shown_params
from pflow.engine.plan import PlanNode
from pflow.engine.value import Opaque, tag

COMPUTES = frozenset({"echo", "code", "let", "switch", "filter", "map", "parse", "format", "fail"})
"""Built-in types that only compute."""

_NUMBERS = re.compile(r"(#[0-9]+|\[[0-9]+\])")


def is_answered(node: PlanNode) -> bool:
    """Whether a cassette answers a node; else it runs for real: it only computes, or is known to have no effects."""
    if node.child is not None or node.type in COMPUTES:
        return False
    return node.trusted or bool(node.server) or node.purity != "pure"


def path_of(step: str) -> str:
    """The nodes that lead to a step: `deploy/fetch` for `deploy[3]/fetch#2`."""
    return _NUMBERS.sub("", step)


def plain(value: object) -> Any:
    """A value as JSON has it: bytes are tagged, objects of the process named by their type."""
    return orjson.loads(orjson.dumps(value, _plain, orjson.OPT_NON_STR_KEYS))


def asked_params(redactor: Redactor, params: Mapping[str, Any]) -> dict[str, object]:
    """The params of a call, without secrets."""
    found: dict[str, object] = plain(redactor.value(shown_params(params)))
    return found


def asked_reads(redactor: Redactor, node: PlanNode, read: Callable[[str], object]) -> dict[str, object]:
    """What a node reads from the store under the natural keys that it declares."""
    found: dict[str, object] = {}
    for name in node.reads:
        try:
            found[name] = plain(redactor.value(read(name)))
        except KeyError:
            continue
    return found


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return tag(value)
    if isinstance(value, Opaque):
        return {"$opaque": value.kind}
    return {"$opaque": type(value).__qualname__}
