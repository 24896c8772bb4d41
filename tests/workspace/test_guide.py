"""The guide teaches what holds: its documents are valid and run, and its pages are short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pflow.core.document.parse import parse_text
from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from pflow.workspace.guide import TOPICS, guide_page
from tests.nodes.model.scripted import ScriptedModel

BYTES_PER_TOKEN = 4
"""Of English and YAML, about."""


def documents_of(topic: str) -> list[str]:
    return re.findall(r"```(?:yaml|json)\n(.*?)```", guide_page(topic), re.DOTALL)


def test_the_main_page_has_at_most_1500_tokens_and_names_every_topic() -> None:
    page = guide_page()
    assert len(page.encode()) <= 1_500 * BYTES_PER_TOKEN
    assert all(topic in page for topic in TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_page_of_a_topic_is_short(topic: str) -> None:
    assert guide_page(topic).startswith("# ")
    assert len(guide_page(topic).encode()) <= 800 * BYTES_PER_TOKEN


@pytest.mark.parametrize("topic", ["", *TOPICS])
def test_the_documents_of_the_guide_run(
    topic: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one two three")
    given = {"path": "a.txt", "file": "a.txt", "names": ["Ada"]}
    model = ScriptedModel({"subject": "the printer", "urgent": True})
    with Workspace(Home(home), on_ask=lambda question: question.choices[0], llm=model) as workspace:
        for text in documents_of(topic):
            parsed = parse_text(text)
            assert parsed.issues == () and parsed.document is not None, text
            if "mcp-" in text:
                continue  # its tools are those of a server that is not there
            params = {
                name: given[name]
                for name, one in parsed.document.inputs.items()
                if not one.has_default and one.required
            }
            outcome = workspace.run(text, params)
            assert outcome.success, (text, outcome)


def test_a_topic_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        guide_page("template")
    assert caught.value.suggestions == ("did you mean `templates`?",)
    with pytest.raises(NotFoundError):
        guide_page("../guide")
