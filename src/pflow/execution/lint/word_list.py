"""Notices arrays and objects in a command where a list of words was meant: each is one word of JSON there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pflow.core.document.position import Path
from pflow.core.template.compiled import Reference
from pflow.execution.fit.given import GivenTypes
from pflow.execution.node_check import CheckedNode, Report

_OPENS = re.compile(
    r"(?:^|[;&|(\s])(?:(?:for|select)\s+\w+\s+in|set\s+--)(?=\s)|(?:^|[;&|(\s])\w+\+?=\(",
    re.MULTILINE,
)
_ENDS = re.compile(r"[;\n&|)]")
_WORDS = frozenset(("array", "object"))


def lint_word_lists(nodes: Iterable[CheckedNode], types: GivenTypes, report: Report) -> None:
    """Report templates that are known to be arrays or objects in `for … in`, `set --` and the like."""
    for node in nodes:
        command, compiled = node.spec.params.get("command"), node.params.get("command")
        if node.spec.type != "shell" or not isinstance(command, str) or compiled is None:
            continue
        for reference in compiled.references:
            kinds = (types.of(node.index, reference).type.kinds or frozenset()) - {"null"}
            if kinds and kinds <= _WORDS and _in_word_list(command, reference):
                _report(node, reference, "array" if "array" in kinds else "object", report)


def _in_word_list(command: str, reference: Reference) -> bool:
    """Whether a template stands in a list of words; only literal text tells, which a value never becomes."""
    at = command.find(reference.text)
    while at >= 0:
        opens = [found.end() for found in _OPENS.finditer(command, 0, at)]
        before = re.sub(r"\$\{[^}]*\}", "", command[opens[-1] : at]) if opens else ";"
        if not _ENDS.search(before) and before.count("'") % 2 == 0:
            return True
        at = command.find(reference.text, at + 1)
    return False


def _report(node: CheckedNode, reference: Reference, kind: str, report: Report) -> None:
    each = ".[]" if kind == "array" else "to_entries[]"
    path: Path = ("nodes", node.index, "params", "command")
    report(
        "word-list",
        f"`{reference.text}` is an {kind}, and is one word of JSON in the command, not a list of words",
        path,
        hint=(
            f'to run the node once per item, give it `batch: {{items: "{reference.text}"}}` and write `${{item}}`; '
            f"or give it `stdin: \"{reference.text}\"` and read `jq -r '{each}'` line by line"
        ),
        severity="warning",
        newer=True,
    )
