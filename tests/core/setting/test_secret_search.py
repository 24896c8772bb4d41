"""A secret is found in whatever form programs write it, in pieces too; ordinary text is left alone."""

from __future__ import annotations

import base64
import html
import textwrap
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pflow.core.setting.redactor import Redactor

TOKEN = "ghp_nR5xt0123456789/abc+def=hijklmnopqrstuvw"
LONG = "nrtx" + "".join(f"{number:x}Q-" for number in range(40)) + "é"

lines = st.sampled_from(["\n", "\r\n", "\n    ", "\n\t", "\n  > "])
widths = st.integers(1, 80)


def wrap(text: str, width: int, separator: str) -> str:
    return separator.join(text[at : at + width] for at in range(0, len(text), width))


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "reversed": lambda text: text[::-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of more": lambda text: base64.b64encode(f"user:{text}!".encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "encodebytes": lambda text: base64.encodebytes(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32 of more": lambda text: base64.b32encode(f"xy{text}".encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "colons": lambda text: text.encode().hex(":"),
    "spaces": lambda text: text.encode().hex(" ", 2).upper(),
    "\\x": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "url twice": lambda text: quote(quote(text, safe=""), safe=""),
    "partly": lambda text: "".join(
        f"%{ord(c):02X}" if at % 3 and c.isascii() else quote(c) for at, c in enumerate(text)
    ),
    "html": lambda text: html.escape(text),
    "entities": lambda text: "".join(
        f"&#{ord(char)};" if at % 2 else f"&#x{ord(char):X};" for at, char in enumerate(text)
    ),
    "utf-16": lambda text: "\0".join(text),
    "json": lambda text: orjson.dumps(orjson.dumps(text).decode()).decode(),
}
IN_LINES = ["plain", "reversed", "base64", "base64 of more", "base64url", "base32", "base32 of more", "hex", "HEX"]


def hidden(secret: str, text: str) -> None:
    """That a text is hidden, but for a few characters at its ends that belong to others as well, and comes back."""
    redactor = Redactor({"T": secret})
    shown = redactor.text(f"it is {text}, really")
    assert shown.startswith("it is ") and shown.endswith(", really") and "«secret:T»" in shown
    left = shown.removeprefix("it is ").removesuffix(", really").replace("«secret:T»", "").replace(">", "")
    assert len("".join(left.split())) <= 16, left
    data = orjson.dumps({"a": [f"it is {text}, really"], text: 1})
    stored = redactor.data(data)
    for piece in (piece for piece in textwrap.wrap(text, 24)[1:-1] if len(piece) > 16):
        assert piece not in stored.decode()
    assert orjson.dumps(redactor.restore(orjson.loads(stored)).value) == data
    assert redactor.restore(orjson.loads(stored)).missing == frozenset()


@pytest.mark.parametrize("secret", [TOKEN, LONG])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_hidden_and_restored(secret: str, form: str) -> None:
    hidden(secret, FORMS[form](secret))


@pytest.mark.parametrize("form", IN_LINES)
@given(widths, lines)
def test_a_form_in_lines_is_hidden_and_restored(form: str, width: int, separator: str) -> None:
    if ">" in separator and form in ("plain", "reversed"):
        separator = "\n"
    hidden(LONG, wrap(FORMS[form](LONG), width, separator))


@pytest.mark.parametrize("form", ["base64", "hex"])
def test_lines_inside_json_inside_text_are_found(form: str) -> None:
    hidden(LONG, orjson.dumps(wrap(FORMS[form](LONG), 20, "\n")).decode())


@given(st.text(min_size=8, max_size=30), st.text(max_size=200))
def test_text_without_the_secret_is_left_alone(secret: str, text: str) -> None:
    assume("«" not in secret)
    bare = "".join(char for char in secret if char.isalnum())
    assume(len(bare) >= 6 and bare not in "".join(char for char in text if char.isalnum()))
    assume(bare not in "".join(char for char in text if char.isalnum())[::-1])
    assert Redactor({"T": secret}).text(text) == text


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("correcthorse", "the correct horse"),
        ("correcthorse", "correct, horse"),
        ("12345678", "1234 5678, 12-34-56-78"),
        ("passwords", "pass words"),
        ("abcdefgh", "a b c d e f g h"),
        ("deadbeef", "de ad be ef"),
    ],
)
def test_words_that_a_secret_is_made_of_are_left_alone(secret: str, text: str) -> None:
    assert Redactor({"T": secret}).text(text) == text


def test_secrets_that_overlap_are_hidden_whole() -> None:
    redactor = Redactor({"A": "abcdefgh-123", "B": "h-123-XYZW"})
    assert redactor.text("x abcdefgh-123-XYZW y") == "x «secret:A» y"
    data = orjson.dumps("x abcdefgh-123-XYZW y")
    assert orjson.dumps(redactor.restore(orjson.loads(redactor.data(data))).value) == data


def test_a_value_that_is_kept_comes_back_with_the_key_alone() -> None:
    key = b"k" * 32
    redactor = Redactor(key=lambda: key)
    redactor.keep("auth", TOKEN)
    data = orjson.dumps({"a": TOKEN, "b": TOKEN.encode().hex()})
    stored = redactor.data(data)
    assert TOKEN.encode() not in stored and TOKEN.encode().hex().encode() not in stored
    assert orjson.dumps(Redactor(key=lambda: key).restore(orjson.loads(stored)).value) == data
    assert Redactor(key=lambda: b"x" * 32).restore(orjson.loads(stored)).missing == {"auth"}


def test_many_secrets_in_much_text_take_one_pass() -> None:
    """No assertion on time: what grows faster than the text would not come to an end."""
    redactor = Redactor({f"T{number}": f"{TOKEN}{number}" for number in range(30)})
    text = "\n".join(["a1 b2 " * 12, "6e 52 35 " * 9, "nR5xt0123 " * 8, "%6e%52" * 12] * 2000)
    assert redactor.text(text) == text
    assert "«secret:T7»" in redactor.text(text + TOKEN + "7" + text)
