"""What was learnt from a session, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.core.printable import escape, shorten
from pflow.core.session.number_list import write_numbers

if TYPE_CHECKING:
    from pflow.workspace.learning.lesson import Lesson

_WIDEST = 80


def render_lesson(lesson: Lesson) -> str:
    """Calls and steps, bindings, inputs, what is open, the replay, and where everything is."""
    facts = lesson.as_dict()
    lines = [f"calls {lesson.calls} → steps {len(lesson.steps)}"]
    if lesson.explored:
        lines.append(f"explored, not needed: {write_numbers(lesson.explored)}")
    lines += ["", *_table(facts["steps"])]
    lines += _section("inputs", [_input(name, one) for name, one in _objects(facts["inputs"]).items()])
    questions = [f"{one.text}{f'   [{one.settle}]' if one.settle else ''}" for one in lesson.questions]
    lines += _section("open questions", [escape(text) for text in questions])
    lines += _section("notes", [escape(note) for note in lesson.notes])
    lines += ["", *_proof(lesson)]
    kept = f"draft {lesson.name}" if lesson.is_draft else f"saved as {lesson.name}" if lesson.name else "written"
    lines += ["", f"{kept}: {lesson.path}"]
    lines += [f"test: {lesson.test}"] if lesson.test else []
    return "\n".join(lines)


def _table(steps: object) -> list[str]:
    rows = [("step", "calls", "binding", "confidence")]
    for step in steps if isinstance(steps, list) else ():
        begin = (step["id"], write_numbers(step["calls"]) or "–")
        for one in step["bindings"] or [None]:
            bound = ("", "") if one is None else (f"{one['argument']} ← {one['source']}", one["confidence"])
            rows.append((*begin, escape(shorten(bound[0], _WIDEST)), bound[1]))
            begin = ("", "")
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=True)).rstrip() for row in rows
    ]


def _input(name: str, declared: object) -> str:
    facts = _objects(declared)
    if facts.get("secret"):
        return f"{name} (secret): {facts.get('description', '')}"
    return f"{name} = {escape(shorten(str(facts.get('default', '')), _WIDEST))}   {facts.get('description', '')}"


def _proof(lesson: Lesson) -> list[str]:
    proof = lesson.proof
    lines = [f"replay: {proof.equal} of {proof.total} equal"]
    if proof.error:
        lines.append(f"  {escape(proof.error)}")
    lines += [f"  not asked for: {escape(name)}" for name in proof.differing[:10]]
    if proof.mutated:
        changed = ", ".join(proof.changed) or "nothing"
        verdict = "exactly what depends on it" if proof.is_sound else f"expected: {', '.join(proof.dependent)}"
        lines.append(f"mutation: {escape(proof.mutated)} changed → {changed} ({verdict})")
    elif proof.is_equal:
        lines.append("mutation: no step takes a value of another one")
    return lines


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _objects(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
