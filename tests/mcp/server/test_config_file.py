"""The file of servers: what is written is read, nothing is lost, and damage is said."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import CorruptError, ExistsError, NotFoundError, SecurityError, StorageError, UsageError
from pflow.core.file.home import Home
from pflow.mcp.server.config import ServerConfig, read_server
from pflow.mcp.server.config_file import ServerBook


@pytest.fixture
def book(home: Path) -> ServerBook:
    return ServerBook(Home(home))


@pytest.fixture
def file(home: Path) -> Path:
    home.mkdir(mode=0o700)
    return home / "mcp-servers.json"


def server(name: str, command: str = "x", **fields: Any) -> ServerConfig:
    return ServerConfig(name=name, transport="stdio", command=command, **fields)


@pytest.mark.requirement("client:effect-2", "client:test-1", "client:format-1")
def test_a_server_is_kept_in_the_documents_form(book: ServerBook, home: Path) -> None:
    book.add(server("github", "npx", args=("-y", "x"), env={"T": "${T}"}))
    assert json.loads((home / "mcp-servers.json").read_text()) == {
        "servers": {
            "github": {"transport": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"T": "${T}"}},
        }
    }
    assert stat.S_IMODE((home / "mcp-servers.json").stat().st_mode) == 0o600
    assert book.get("github") == server("github", "npx", args=("-y", "x"), env={"T": "${T}"})
    assert book.notices == []


def test_servers_come_sorted_and_go_one_by_one(book: ServerBook) -> None:
    book.add_all([server("b"), server("a")])
    book.add(server("c"))
    assert book.names() == ["a", "b", "c"]
    assert [found.name for found in book.servers()] == ["a", "b", "c"]
    book.remove("b")
    assert book.names() == ["a", "c"]


def test_a_home_without_servers_has_none(book: ServerBook) -> None:
    assert book.names() == []
    assert book.servers() == []
    assert book.notices == []


def test_an_existing_name_is_kept_unless_told(book: ServerBook) -> None:
    book.add(server("a", "old"))
    with pytest.raises(ExistsError) as caught:
        book.add_all([server("b"), server("a", "new")])
    assert caught.value.message == "there is already a server `a`"
    assert book.names() == ["a"]
    book.add(server("a", "new"), overwrite=True)
    assert book.get("a").command == "new"


@pytest.mark.requirement("client:error-1")
def test_an_unknown_server_is_not_configured_and_near_names_are_shown(book: ServerBook) -> None:
    book.add(server("github"))
    for ask in (book.get, book.remove):
        with pytest.raises(NotFoundError) as caught:
            ask("githb")
        assert caught.value.message == "Server githb not configured"
        assert caught.value.suggestions == ("did you mean `github`?",)
    with pytest.raises(NotFoundError) as caught:
        book.get("\x1b[31m")
    assert caught.value.message == "Server \\x1b[31m not configured"
    assert caught.value.suggestions == ("add it with `pflow mcp add`",)


def test_a_server_that_cannot_be_is_not_kept(book: ServerBook, home: Path) -> None:
    with pytest.raises(UsageError):
        book.add(ServerConfig(name="a", transport="telepathy"))
    with pytest.raises(SecurityError):
        book.add(ServerConfig(name="a", transport="sse", url="http://example.com"))
    assert not (home / "mcp-servers.json").exists()


@pytest.mark.parametrize("text", ["{", "[]", "", '{"servers": []}', '{"servers": null}', "\xff", "[" * 100_000])
@pytest.mark.parametrize("ask", ["names", "add"])
def test_a_damaged_file_is_set_aside_and_not_forgotten(book: ServerBook, file: Path, text: str, ask: str) -> None:
    file.write_text(text, "latin-1")
    with pytest.raises(CorruptError) as caught:
        book.names() if ask == "names" else book.add(server("a"))
    assert "it was set aside as `mcp-servers.json.corrupt-" in caught.value.message
    [aside] = file.parent.glob("mcp-servers.json.corrupt-*")
    assert aside.read_text("latin-1") == text
    assert book.names() == []
    assert "was damaged and set aside" in book.notices[0]
    book.add(server("a"))
    assert book.names() == ["a"]


def test_what_is_unknown_in_the_file_is_kept_and_reported(book: ServerBook, file: Path) -> None:
    file.write_text(
        json.dumps({"$schema": "x", "servers": {"a": {"command": "x", "shiny": {"n": 1}}, "Bad Name": {"odd": True}}})
    )
    file.chmod(0o600)
    book.add(server("b"))
    kept = json.loads(file.read_text())
    assert kept["$schema"] == "x"
    assert kept["servers"]["a"] == {"command": "x", "shiny": {"n": 1}}
    assert kept["servers"]["Bad Name"] == {"odd": True}
    assert [found.name for found in book.servers()] == ["a", "b"]
    assert book.notices == [
        "`mcp-servers.json` holds an unknown field `$schema`; it has no effect",
        "`mcp-servers.json`: `Bad Name` cannot be the name of a server: it has 1 to 64 of a-z, 0-9 and `-`",
    ]
    assert book.get("a").unknown == {"shiny": {"n": 1}}
    book.remove("Bad Name")
    assert book.names() == ["a", "b"]


def test_what_is_nested_too_deeply_to_be_written_again_stays_as_it_is(book: ServerBook, file: Path) -> None:
    text = '{"servers": {"a": {"command": "x", "odd": ' + "[" * 500 + "]" * 500 + "}}}"
    file.write_text(text)
    with pytest.raises(StorageError, match="nested too deeply"):
        book.add(server("b"))
    assert file.read_text() == text
    assert book.names() == ["a"]


def test_a_file_that_others_can_read_is_made_private(book: ServerBook, file: Path) -> None:
    file.write_text('{"servers": {}}')
    file.chmod(0o644)
    book.names()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "now only you can read it" in book.notices[0]


def test_a_link_is_not_followed(book: ServerBook, file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"servers": {"evil": {"command": "x"}}}')
    file.symlink_to(tmp_path / "other.json")
    with pytest.raises(SecurityError):
        book.names()
    with pytest.raises(SecurityError):
        book.add(server("a"))


def test_servers_that_are_added_at_once_are_all_kept(home: Path) -> None:
    names = [f"s{number}" for number in range(8)]
    start = threading.Barrier(len(names))

    def add(name: str) -> None:
        start.wait()
        ServerBook(Home(home)).add(read_server(name, {"command": "x"}))

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ServerBook(Home(home)).names() == names
