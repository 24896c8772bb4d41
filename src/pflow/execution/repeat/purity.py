"""Whether a node of a document is pure, only reads, or has effects: its type says it, its params, or its author."""

from __future__ import annotations

from collections.abc import Callable

from pflow.core.errors import PflowError
from pflow.core.interface import Purity
from pflow.core.template.compiled import Compiled, Lookup
from pflow.execution.node_check import CheckedNode, Report

OnlyReads = Callable[[Lookup], bool]
"""Whether a step only reads, once what it names is known."""


def purity_of(node: CheckedNode) -> Purity:
    """What may be done with a node again. What is asked until it answers otherwise is never taken from the cache."""
    if node.spec.repeatable is not None:
        return "read" if node.spec.repeatable else "impure"
    found = _by_itself(node)
    return "read" if found == "pure" and node.until is not None else found


def reads_when_known(node: CheckedNode) -> OnlyReads | None:
    """How to decide when the step starts, for a node of which only then is known what it does."""
    method = node.params.get("method") if node.is_built_in("http") else None
    if method is None or not method.references or node.spec.repeatable is not None:
        return None
    return _MethodReads(method)


def check_repeats(node: CheckedNode, report: Report) -> None:
    """Report a condition that would repeat a step which nothing says may be repeated, and `pure` that is not known."""
    spec = node.spec
    if node.is_built_in("code") and node.params.get("pure", Compiled()).references:
        path = ("nodes", node.index, "params", "pure")
        report("template-here", "whether code is pure must be known when checking; templates do not apply here", path)
    if spec.retry is None or not spec.retry.until or node.entry is None or purity_of(node) != "impure":
        return
    why = "its author says that it may not" if spec.repeatable is False else "it may have effects"
    hint = "write `repeatable: true` on the node if running it several times does no harm"
    if node.child is not None and spec.repeatable is None:
        hint += ", or on the nodes inside that are not known only to read"
    message = f"`until` would run `{spec.id}` ({spec.type}) again after it has succeeded, and {why}"
    report("not-repeatable", message, ("nodes", node.index, "retry", "until"), hint=hint)


def _by_itself(node: CheckedNode) -> Purity:
    if node.child is not None:
        return "impure" if any(inner.purity == "impure" for inner in node.child.nodes) else "read"
    if node.is_built_in("http"):
        return _of_request(node)
    if node.is_built_in("code"):
        return "pure" if node.spec.params.get("pure") is True else "impure"
    return node.interface.purity if node.interface else "impure"


def _of_request(node: CheckedNode) -> Purity:
    from pflow.nodes.http.message import only_reads  # lazy: few documents call an address

    given = {name: node.params[name] for name in ("method", "body", "json") if name in node.params}
    if "method" in given and given["method"].references:
        return "impure"
    values = {name: "…" if compiled.references else compiled.value for name, compiled in given.items()}
    has_body = any(values.get(name) is not None for name in ("body", "json"))
    return "read" if only_reads(values.get("method"), has_body=has_body) else "impure"


class _MethodReads:
    """Decides by the method of a call that a template gives."""

    def __init__(self, method: Compiled) -> None:
        self._method = method

    def __call__(self, lookup: Lookup) -> bool:
        from pflow.nodes.http.message import only_reads  # lazy: few documents call an address

        try:
            method = self._method.render(lookup)
        except PflowError:
            return False  # the step itself says what is wrong
        return bool(method) and only_reads(method, has_body=True)
