"""A real model on this machine, over all three wires. Form is asserted, not wit: it has 135 million parameters."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import dev_needs
from dev_install import python_of
from pflow.core.errors import ModelError
from pflow.engine.model.llm import Image
from tests.adapters.model.asking import Asking

pytestmark = pytest.mark.needs("local-model")
WIRES = ("chat", "responses", "messages")
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
SCRIPT = Path(__file__).with_name("serve_local.py")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the model is served."""
    command = [str(python_of(dev_needs.LOCAL_MODEL)), str(SCRIPT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdout is not None and running.stdin is not None
        yield f"{running.stdout.readline().strip()}/v1"
        running.stdin.close()


@pytest.mark.parametrize("wire", WIRES)
def test_text_comes_in_a_stream_with_its_usage(home: Path, url: str, wire: str) -> None:
    asking = Asking(home, url, wire)
    asking.tick = 10.0  # so that every piece that arrives is reported
    stops = [".", ",", "!", "?"]
    try:
        answer = asking.ask("Say yes.", temperature=0, max_tokens=12, options={"stop": stops, "stop_sequences": stops})
    except ModelError as error:
        assert (error.action, error.tokens > 12) == ("cut", True)
    else:
        assert answer.text.strip() and answer.value == answer.text
        assert answer.usage.input > 0 and answer.usage.output > 0
        assert (answer.cost, answer.notes) == (None, ())
    assert asking.reports and all("answers (" in report for report in asking.reports)


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_answer_fits_its_schema(home: Path, url: str, wire: str) -> None:
    # This server knows schemas over the first wire; over the second it enforces one that comes as its own option.
    own = {"json_schema": SCHEMA} if wire == "responses" else {}
    told = Asking(home, url, wire).tell("Is it day?", schema=SCHEMA, temperature=0, max_tokens=40, options=own)
    assert told.completion.value in ({"ok": True}, {"ok": False})
    assert (told.level, told.completion.notes) == ("strict", ())


def test_a_server_that_ignores_schemas_does_not_get_away_with_it(home: Path, url: str) -> None:
    try:
        answer = Asking(home, url, "messages").ask("Is it day?", schema=SCHEMA, temperature=0, max_tokens=8)
    except ModelError as error:
        assert error.action in ("cut", "error")
        assert error.tokens > 8 and error.details["answer"]
    else:
        assert answer.value in ({"ok": True}, {"ok": False})


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_beyond_its_context_is_refused_with_sizes(home: Path, url: str, wire: str) -> None:
    with pytest.raises(ModelError, match="the prompt is too long: 12,000 characters"):
        Asking(home, url, wire).ask("one two " * 1500)


def test_an_image_that_it_cannot_see_is_an_error_in_its_own_words(home: Path, url: str) -> None:
    with pytest.raises(ModelError) as caught:
        Asking(home, url).ask("what is it?", images=(Image(media_type="image/png", data=b"\x89PNG"),))
    assert "image" in str(caught.value.details["answer"])
