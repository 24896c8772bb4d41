"""Documents that are made by chance run; what they did is learnt, and what was learnt does the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.file.home import Home
from pflow.workspace.workspace import Workspace
from tests.quick import examples

WORD = st.text("bcdfghjklmnpqrstvwxz", min_size=6, max_size=10)


@st.composite
def documents(draw: Any) -> dict[str, Any]:
    """A list of words, then steps that go through it or take the last result, then a file."""
    words = draw(st.lists(WORD, min_size=2, max_size=4, unique=True))
    nodes: list[dict[str, Any]] = [
        {"id": "words", "type": "shell", "params": {"command": ["printf", "%s\\n", *words]}},
        {"id": "lines", "type": "parse", "params": {"text": "${words.stdout}", "as": "lines"}},
    ]
    last = "${words.stdout}"
    for number in range(draw(st.integers(0, 3))):
        mark = draw(WORD)
        if draw(st.booleans()):
            node = {
                "id": f"each{number}",
                "type": "shell",
                "params": {"command": ["echo", f"{mark}-${{item}}"]},
                "batch": {"items": "${lines.value}", "as": "item"},
            }
            nodes.append(node)
            last = f"${{each{number}.results[0].stdout}}"
        else:
            nodes.append({"id": f"one{number}", "type": "shell", "params": {"command": ["echo", mark, last]}})
            last = f"${{one{number}.stdout}}"
    nodes.append({"id": "keep", "type": "write-file", "params": {"path": "${out}", "content": last}})
    return {"inputs": {"out": {"type": "string"}}, "nodes": nodes, "outputs": {"size": {"source": "${keep.size}"}}}


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_what_is_learnt_from_a_run_does_what_the_run_did(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        out = folder / "out.txt"
        with Workspace(Home(folder / "home")) as workspace:
            outcome = workspace.run(document, {"out": str(out)})
            assert outcome.success, outcome.error
            written = out.read_text()
            out.unlink()
            session = workspace.session_of([outcome.run_id])
            lesson = workspace.learning.learn(session, keep_all=True, file=folder / "learnt.yaml")
            assert lesson.is_proven, (lesson.proof, lesson.text)
            again = workspace.run(str(folder / "learnt.yaml"))
            assert again.success, (again.error, lesson.text)
            assert out.read_text() == written
