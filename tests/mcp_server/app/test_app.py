"""The page in the chat as clients get it: a resource, a binding, and data that no model reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.mcp_server.app.speaking import ASKING, Era, Speaker, view_of

URI = "ui://pflow/run.html"
MOST_BYTES = 60_000
BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])
FAILING = {"name": "failing", "nodes": [{"id": "bad", "type": "shell", "params": {"command": "exit 3"}}]}

Speak = Callable[..., Speaker]


@pytest.fixture
def speak(home: Path) -> Iterator[Speak]:
    made: list[Speaker] = []

    def make(era: Era = "modern", *, shows: bool = True) -> Speaker:
        made.append(Speaker(home, era, shows=shows))
        return made[-1]

    yield make
    for speaker in made:
        speaker.close()


@BOTH
def test_the_page_is_one_small_document_bound_to_two_tools(speak: Speak, era: Era) -> None:
    speaker = speak(era)
    [read] = speaker.ask("resources/read", {"uri": URI})["result"]["contents"]
    assert (read["uri"], read["mimeType"]) == (URI, "text/html;profile=mcp-app")
    assert read["_meta"] == {"ui": {"prefersBorder": True}}
    assert len(read["text"].encode()) <= MOST_BYTES
    assert re.findall(r"<link|<script src|https?://(?!www.w3.org)", read["text"]) == []
    [listed] = [one for one in speaker.ask("resources/list")["result"]["resources"] if one["uri"] == URI]
    assert (listed["mimeType"], listed["_meta"]) == ("text/html;profile=mcp-app", {"ui": {"prefersBorder": True}})
    tools = speaker.ask("tools/list")["result"]["tools"]
    bound = {tool["name"]: tool["_meta"]["ui"] for tool in tools if "_meta" in tool}
    assert bound == dict.fromkeys(
        ("workflow_execute", "trace_read"), {"resourceUri": URI, "visibility": ["model", "app"]}
    )


@BOTH
def test_another_page_is_refused(speak: Speak, era: Era) -> None:
    refused = speak(era).ask("resources/read", {"uri": "ui://pflow/other.html"})
    assert refused["error"]["code"] == -32602


@BOTH
@pytest.mark.parametrize(
    "document",
    [
        ASKING,
        pytest.param(FAILING, marks=pytest.mark.slow),
        pytest.param({**ASKING, "nodes": ASKING["nodes"][:1], "edges": []}, marks=pytest.mark.slow),
    ],
)
def test_who_shows_no_pages_gets_the_same_answer_without_the_data(
    speak: Speak, era: Era, document: dict[str, Any]
) -> None:
    plain, shown = (speak(era, shows=shows).call("workflow_execute", workflow=document) for shows in (False, True))
    assert "pflow/view" not in plain.get("_meta", {})
    view = view_of(shown)
    assert view["status"] in ("waiting", "failed", "completed")
    assert view["svg"].startswith("<svg")
    assert _alike(plain) == _alike(shown)
    assert len(shown["content"][0]["text"].encode()) <= 1_000


def _alike(result: dict[str, Any]) -> bytes:
    """An answer without what differs between any two runs."""
    kept = {name: part for name, part in result.items() if name != "_meta"}
    text = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode()
    text = re.sub(r"\d{8}-\d{6}-[0-9a-z]+", "RUN", text)
    text = re.sub(r'"since":"[^"]*"', '"since":""', text)
    return re.sub(r'("duration_ms":|in )[0-9.]+', r"\1N", text).encode()


@BOTH
def test_the_key_of_a_question_for_persons_is_only_where_no_model_reads(speak: Speak, era: Era) -> None:
    speaker = speak(era)
    asked = speaker.call("workflow_execute", workflow=ASKING)
    view = view_of(asked)
    [question] = view["questions"]
    assert question["key"].encode() not in orjson.dumps({**asked, "_meta": None})
    refused = speaker.call("workflow_execute", resume=view["run_id"], answers={"approve": {"choice": "post"}})
    assert refused["isError"]
    assert "for a person" in refused["content"][0]["text"]
    looked = speaker.call("trace_read", trace_file=view["run_id"], format="view", since=view["seq"])
    assert looked["structuredContent"]["data"].keys() == {"run_id", "status", "seq"}
    assert question["key"].encode() not in orjson.dumps({**looked, "_meta": None})
    assert [row["step"] for row in view_of(looked)["steps"]] == ["approve"]  # what ended before is known
    given = {"approve": {"choice": "post", "key": question["key"]}}
    done = speaker.call("workflow_execute", resume=view["run_id"], answers=given)
    assert view_of(done)["status"] == "completed"


def test_the_key_stays_here_where_only_page_and_terminal_count(speak: Speak, home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("ask.require_page", "true")
    speaker = speak()
    [question] = view_of(speaker.call("workflow_execute", workflow=ASKING))["questions"]
    assert "key" not in question
    assert question["elsewhere"] is True


def test_who_shows_no_pages_gets_no_key_by_asking_like_the_page(speak: Speak) -> None:
    speaker = speak(shows=False)
    run_id = speaker.call("workflow_execute", workflow=ASKING)["structuredContent"]["data"]["run_id"]
    looked = speaker.call("trace_read", trace_file=run_id, format="view")
    assert looked["content"][0]["text"] == f"run {run_id}: waiting"
    assert b'"key"' not in orjson.dumps(looked)


def test_an_unknown_run_or_format_is_a_tools_error(speak: Speak) -> None:
    speaker = speak()
    for given, said in (
        ({"trace_file": "20990101-000000-zzzz", "format": "view"}, "20990101-000000-zzzz"),
        ({"format": "picture"}, "there is no format `picture`"),
        ({"trace_file": "latest", "format": "view", "since": "one"}, "since"),
    ):
        refused = speaker.call("trace_read", **given)
        assert refused["isError"]
        assert said in refused["content"][0]["text"]
        assert "pflow/view" not in refused.get("_meta", {})
