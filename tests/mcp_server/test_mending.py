"""An agent reads what is saved, replaces the version that it has read, renames it, and keeps secrets it cannot see."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from tests.mcp_server.client import Client

TOKEN = "tok-7f3a9c2e51d84b60"
PIN = 4217998877

TEXT = dedent("""\
    # Says hello; Ada looks after it.
    description: Say hello
    nodes:
      - id: say
        type: echo
        params:
          text: hello   # to be louder
    outputs:
      said:
        source: ${say.text}
    """)


def saying(text: str, **params: object) -> dict[str, Any]:
    """A document that says something."""
    nodes = [{"id": "say", "type": "echo", "params": {"text": text, **params}}]
    return {"description": "Say something", "nodes": nodes, "outputs": {"said": {"source": "${say.text}"}}}


@pytest.fixture(scope="module")
def holder(start: Callable[..., Client]) -> Client:
    """A server whose settings hold two secrets."""
    client = start()
    client.call("settings_set", key="SHOP_TOKEN", value=TOKEN).data  # noqa: B018 it raises if it failed
    client.call("settings_set", key="SHOP_PIN", value=str(PIN)).data  # noqa: B018
    return client


def stored(client: Client, name: str) -> str:
    """What is in a workflow's file."""
    [path] = [path for path in (client.home / "workflows").glob(f"{name}.*") if path.suffix != ".lock"]
    return path.read_text()


def test_a_saved_workflow_is_read_as_its_author_wrote_it(either: Client) -> None:
    name = f"hello-{either.session.peer.era}"
    path = either.call("workflow_save", workflow=TEXT, name=name).data["path"]
    answer = either.call("workflow_list", name=name)
    assert answer.data == {"name": name, "version": 1, "form": "yaml", "path": path, "text": TEXT}
    assert answer.text == f"`{name}`, version 1, yaml:\n{TEXT}".rstrip()


def test_what_was_read_can_be_replaced_and_the_version_before_is_kept(client: Client) -> None:
    assert client.call("workflow_save", workflow=TEXT, name="louder").data["name"] == "louder"
    saved = client.call("workflow_save", workflow=TEXT.replace("hello ", "HELLO "), name="louder", replaces=1)
    assert saved.data["version"] == 2
    assert saved.text == "saved version 2 of `louder`; version 1 is kept"
    assert client.call("workflow_execute", workflow="louder").data["outputs"] == {"said": "HELLO"}
    assert client.call("workflow_list", name="louder", version=1).data["text"] == TEXT
    assert "# to be louder" in client.call("workflow_list", name="louder").data["text"]


def test_the_description_stays_when_a_replacement_has_none(client: Client) -> None:
    client.call("workflow_save", workflow={"nodes": [{"id": "echo"}]}, name="bare", description="Barely there")
    client.call(
        "workflow_save", workflow={"nodes": [{"id": "echo"}, {"id": "b", "type": "echo"}]}, name="bare", replaces=1
    )
    [entry] = client.call("workflow_list", filter="bare").data["workflows"]
    assert entry["description"] == "Barely there"


@pytest.mark.parametrize("diff", [1, "1"])
def test_versions_are_compared_by_meaning(client: Client, diff: object) -> None:
    name = f"compared-{type(diff).__name__}"
    client.call("workflow_save", workflow=saying("a"), name=name)
    client.call("workflow_save", workflow=saying("b"), name=name, replaces=1)
    answer = client.call("workflow_list", name=name, diff=diff)
    assert answer.data["changes"] == [
        {"change": "changed", "path": "nodes.say.params.text", "before": "a", "after": "b"}
    ]
    assert answer.text.splitlines() == [
        f"from {name}, version 1 to {name}, version 2:",
        "- changed nodes.say.params.text: a → b",
    ]


def test_a_workflow_is_compared_with_another(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="left")
    client.call("workflow_save", workflow=saying("a"), name="right")
    assert client.call("workflow_list", name="left", diff="right").data["changes"] == []


def test_a_lost_race_is_a_conflict_that_says_what_to_do(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="raced")
    client.call("workflow_save", workflow=saying("b"), name="raced", replaces=1)
    lost = client.call("workflow_save", workflow=saying("c"), name="raced", replaces=1)
    assert (lost.error["type"], lost.error["details"]) == ("exists", {"version": 2})
    assert lost.error["message"] == "`raced` has changed: it is at version 2, and version 1 was to be replaced"
    assert "workflow_list(name='raced')" in lost.text
    assert client.call("workflow_execute", workflow="raced").data["outputs"] == {"said": "b"}


def test_of_many_that_replace_the_same_version_one_wins(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="crowd")

    def replace(text: str) -> Callable[[], Any]:
        return lambda: client.ask("workflow_save", {"workflow": saying(text), "name": "crowd", "replaces": 1})

    answers = client.both(*(replace(str(number)) for number in range(8)))
    assert sorted(answer.is_error for answer in answers) == [False, *[True] * 7]
    assert client.call("workflow_list", name="crowd").data["version"] == 2


def test_a_name_that_is_taken_needs_the_version_that_was_read(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="taken")
    answer = client.call("workflow_save", workflow=saying("b"), name="taken")
    assert answer.error["type"] == "exists"
    assert "workflow_list(name='taken')" in answer.text and "replaces=VERSION" in answer.text
    assert "pflow workflow" not in answer.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "nowhere", "workflow": saying("a"), "replaces": 1},
        {"name": "greeting-draft", "workflow": saying("a"), "replaces": 1, "is_temp": True},
        {"name": "new-name", "rename": "nowhere"},
        {"name": "new-name", "rename": "greeting", "workflow": saying("a")},
        {"name": "new-name", "rename": "../greeting"},
        {"name": "../new-name", "rename": "greeting"},
    ],
)
def test_what_cannot_be_replaced_or_renamed_changes_nothing(client: Client, arguments: dict[str, object]) -> None:
    before = client.call("workflow_list", include_temp=True).data
    assert client.call("workflow_save", **arguments).is_error
    assert client.call("workflow_list", include_temp=True).data == before


def test_a_replacement_that_cannot_run_is_refused(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="sound")
    assert client.call("workflow_save", workflow=saying("${no.such}"), name="sound", replaces=1).is_error
    assert client.call("workflow_list", name="sound").data["version"] == 1


def test_a_workflow_is_renamed_with_its_versions(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="old-name")
    client.call("workflow_save", workflow=saying("b"), name="old-name", replaces=1)
    client.call("workflow_save", workflow=saying("c"), name="in-the-way")
    assert client.call("workflow_save", name="in-the-way", rename="old-name").error["type"] == "exists"
    assert client.call("workflow_save", name="newer-name", rename="old-name").data["name"] == "newer-name"
    assert client.call("workflow_list", name="newer-name", version=1).data["version"] == 1
    assert client.call("workflow_list", name="old-name").error["type"] == "not_found"


def test_a_draft_is_read_by_its_name_and_can_replace_a_workflow(client: Client) -> None:
    client.call("workflow_save", workflow=saying("a"), name="kept")
    client.call("workflow_save", workflow=saying("b"), name="kept-next", is_temp=True)
    read = client.call("workflow_list", name="kept-next").data
    assert (read["is_temp"], "version" in read, '"b"' in read["text"]) == (True, False, True)
    assert client.call("workflow_save", workflow="kept-next", name="kept", replaces=1).data["version"] == 2


def test_a_long_text_comes_in_pages_that_make_the_whole(client: Client) -> None:
    text = TEXT + "".join(f"# {number} ü\n" for number in range(6_000))
    client.call("workflow_save", workflow=text, name="long")
    pages = [client.call("workflow_list", name="long")]
    while pages[-1].data["next"] is not None:
        pages.append(client.call("workflow_list", name="long", offset=pages[-1].data["next"]))
    assert all(len(page.text) < 22_000 for page in pages)
    assert "".join(page.data["text"] for page in pages) == text


@pytest.mark.parametrize("arguments", [{"version": 1}, {"diff": 1}, {"offset": 5}])
def test_one_workflow_has_to_be_named_to_be_read(client: Client, arguments: dict[str, object]) -> None:
    assert "`name`" in client.call("workflow_list", **arguments).text


# ---- secrets


def with_token(text: str = "hello", token: str = TOKEN) -> dict[str, Any]:
    return saying(text, header=f"Bearer {token}")


def test_a_secret_is_read_as_a_marker_and_stays_when_it_is_written_back(holder: Client) -> None:
    holder.call("workflow_save", workflow=with_token(), name="shop")
    read = holder.call("workflow_list", name="shop")
    assert TOKEN not in f"{read.raw}"
    assert "Bearer «secret:SHOP_TOKEN»" in read.data["text"] and "«secret:SHOP_TOKEN»" in read.text
    edited = read.data["text"].replace("hello", "good morning")
    assert holder.call("workflow_save", workflow=edited, name="shop", replaces=1).data["version"] == 2
    assert stored(holder, "shop") == read.data["text"].replace("hello", "good morning").replace(
        "«secret:SHOP_TOKEN»", TOKEN
    )


def test_a_secret_stays_when_a_document_is_written_back_as_an_object(holder: Client) -> None:
    holder.call("workflow_save", workflow=with_token(), name="shop-object")
    document = with_token("good evening", "«secret:SHOP_TOKEN»")
    document["nodes"].insert(0, {"id": "first", "type": "echo"})
    holder.call("workflow_save", workflow=document, name="shop-object", replaces=1).data  # noqa: B018
    assert TOKEN in stored(holder, "shop-object") and "«secret" not in stored(holder, "shop-object")


def test_comments_and_layout_stay_when_a_secret_is_put_back(holder: Client) -> None:
    text = TEXT.replace("hello ", f"{TOKEN} ")
    holder.call("workflow_save", workflow=text, name="shop-yaml")
    shown = holder.call("workflow_list", name="shop-yaml").data["text"]
    assert shown == text.replace(TOKEN, "«secret:SHOP_TOKEN»")
    holder.call("workflow_save", workflow=f"{shown}# seen\n", name="shop-yaml", replaces=1).data  # noqa: B018
    assert stored(holder, "shop-yaml") == f"{text}# seen\n"


def test_a_secret_that_is_a_number_is_hidden_and_put_back_as_one(holder: Client) -> None:
    holder.call("workflow_save", workflow=saying("hello", pin=PIN), name="shop-pin")
    read = holder.call("workflow_list", name="shop-pin")
    assert str(PIN) not in f"{read.raw}"
    edited = read.data["text"].replace("hello", "bye")
    holder.call("workflow_save", workflow=edited, name="shop-pin", replaces=1).data  # noqa: B018
    assert f": {PIN}" in stored(holder, "shop-pin") and "bye" in stored(holder, "shop-pin")


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(saying("«secret:SHOP_TOKEN»"), id="another place"),
        pytest.param(with_token(token="«secret:SHOP_TOKEN» and more"), id="another string"),
        pytest.param(with_token(token="«secret:OTHER»"), id="another secret"),
        pytest.param(saying("hello", **{"Bearer «secret:SHOP_TOKEN»": 1}), id="a key"),
        pytest.param(saying("hello", list=["Bearer «secret:SHOP_TOKEN»"]), id="a list"),
    ],
)
def test_a_marker_that_does_not_stand_where_it_was_read_is_refused(holder: Client, document: dict[str, Any]) -> None:
    name = "shop-moved"
    holder.call("workflow_save", workflow=with_token(), name=name)
    before = stored(holder, name)
    answer = holder.call("workflow_save", workflow=document, name=name, replaces=1)
    assert answer.error["type"] == "validation"
    assert "marker of a secret" in answer.error["message"] and "nodes[0].params" in answer.error["message"]
    assert "secret" in answer.error["suggestions"][0]
    assert stored(holder, name) == before


@pytest.mark.parametrize("is_temp", [False, True])
def test_a_marker_is_not_saved_as_a_new_workflow(holder: Client, is_temp: bool) -> None:
    document = with_token(token="«secret:SHOP_TOKEN»")
    assert holder.call("workflow_save", workflow=document, name="shop-copy", is_temp=is_temp).is_error


def test_a_comparison_hides_secrets(holder: Client) -> None:
    holder.call("workflow_save", workflow=with_token(), name="shop-diff")
    holder.call("workflow_save", workflow=saying("hello"), name="shop-diff", replaces=1)
    answer = holder.call("workflow_list", name="shop-diff", diff=1)
    assert TOKEN not in f"{answer.raw}" and "«secret:SHOP_TOKEN»" in answer.text


def test_a_page_never_ends_inside_a_secret(holder: Client) -> None:
    padding = "x" * (20 * 1024 - 60)
    holder.call("workflow_save", workflow=saying(padding, header=TOKEN), name="shop-long")
    page = holder.call("workflow_list", name="shop-long")
    assert page.data["next"] is not None
    assert TOKEN[:6] not in f"{page.raw}"
