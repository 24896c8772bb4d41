"""Names that become file names."""

from __future__ import annotations

import ntpath
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError
from pflow.core.file.file_name import MAX_NAME, check_name, is_name, show

HOSTILE = [
    "", ".", "..", "...", "a/b", "a\\b", "/etc/x", "C:x", "~", "~root", "../etc", "/etc/passwd", "a..b",
    "a\0", "a\nb", "a\tb", "a\x1bb", "a\u2028b", "a\x85b", "a\x9bb",
    "CON", "con", "nul.json", "aux.", "aux.x.y", "COM1", "COM1¹", "com¹", "lpt9", "COM0.txt", "CONIN$",
    "a.", "a ", " a", "a b", "a:b", "a*", "a?", "a|b", "a<b", "a\"b", "a`b", "$a", "a;b", "a&b",
    "a" * 65, "a" * 255, "a" * 4096,
    "a\u200bb", "a\u202eb", "a\u2066b", "\ufeffa", "ä", "é", "ａ", "а", "名", "a\ud800",
    "-", "--help", "-rf", "-a", ".hidden", "_a", "%2e%2e", "a%2fb",
]  # fmt: skip

FINE = [
    "a",
    "A",
    "0",
    "a-b",
    "a_b",
    "a.b",
    "v1.2.3",
    "a" * 64,
    "console",
    "com10",
    "communicate",
    "x.con",
    "pr-analyzer",
]


@pytest.mark.requirement("server5:edge-1", "server5:edge-2", "server5:constraint-1", "server5:error-1")
@pytest.mark.requirement("paths:security-1")
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_refused_in_one_line_that_shows_no_path(name: str) -> None:
    with pytest.raises(SecurityError) as caught:
        check_name(name)
    message = caught.value.message
    assert message.isascii() or "…" in message
    assert message.isprintable()
    assert "/" not in message and "\\\\" not in message
    assert len(message) < 400
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("name", FINE)
def test_an_ordinary_name_passes_unchanged(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.requirement("server5:test-16", "server5:test-17")
def test_the_message_says_what_is_wrong_and_what_to_use() -> None:
    with pytest.raises(SecurityError) as caught:
        check_name("../etc/passwd")
    assert caught.value.message == ("workflow name `..\\x2fetc\\x2fpasswd` is not allowed: it holds a path separator")
    assert caught.value.suggestions == ("use lowercase letters, digits and hyphens, at most 64: `my-workflow`",)


def test_fewer_characters_may_be_allowed_inside() -> None:
    assert check_name("my-draft-2", inside="-") == "my-draft-2"
    for name in ("my_draft", "my.draft"):
        with pytest.raises(SecurityError):
            check_name(name, inside="-")


def test_another_kind_of_name_is_called_by_its_kind() -> None:
    with pytest.raises(SecurityError, match="^server name `a b`"):
        check_name("a b", what="server")


def is_reserved(name: str) -> bool:
    """Whether Windows keeps the name for itself; asking a path about it warns from Python 3.13 on."""
    ask = getattr(ntpath, "isreserved", None)
    return bool(ask(name) if ask else pathlib.PureWindowsPath(name).is_reserved())


@given(st.text(max_size=80))
def test_whatever_passes_is_one_portable_path_component(name: str) -> None:
    if not is_name(name):
        with pytest.raises(SecurityError):
            check_name(name)
        return
    assert len(name) <= MAX_NAME and name.isascii()
    for flavour in (pathlib.PurePosixPath, pathlib.PureWindowsPath):
        path = flavour("root") / f"{name}.json"
        assert path.parent == flavour("root")
        assert path.name == f"{name}.json"
    assert not is_reserved(name)
    assert not name.startswith(("-", ".", "~"))


@given(st.text(alphabet="abcCON019-_. ~/\\:\0\n", max_size=12))
def test_names_of_a_hostile_alphabet_never_escape(name: str) -> None:
    if is_name(name):
        assert (pathlib.PurePosixPath("/r/lib") / name).parent == pathlib.PurePosixPath("/r/lib")
        assert not is_reserved(name)


@given(st.text())
def test_shown_text_is_one_printable_line(text: str) -> None:
    shown = show(text)
    assert shown.replace("…", "").isascii()
    assert shown.isprintable()
    assert "/" not in shown and "`" not in shown
