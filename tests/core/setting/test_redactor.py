"""No form of a secret survives, and the journal can be put back exactly."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pflow.core.setting.redactor import Redactor, show_markers
from pflow.core.setting.secret_search import MIN_SECRET

TOKEN = "ghp_0123456789abcdefghij"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n"
AWKWARD = "p\"a\\s/s w+o=r&d'%é\t\x1f💥"

secrets = st.one_of(
    st.text(min_size=MIN_SECRET, max_size=40),
    st.text(alphabet='ab"\\\n/+= é«»:!secret', min_size=MIN_SECRET, max_size=16),
    st.text(alphabet="0123456789", min_size=MIN_SECRET, max_size=12),
).filter(lambda text: "«secret" not in text and text not in "«secret:NAME»")
around = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.sampled_from(["«secret", "«secret:NAME»", "«secret!", "«secret#»1", "««secret:NAME»»", "«", "»"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


def forms(secret: str) -> dict[str, str]:
    """Every form that must not survive, each computed the way that some program would."""
    data = secret.encode()
    return {
        "plain": secret,
        "json": orjson.dumps(secret)[1:-1].decode(),
        "ascii json": json.dumps(secret)[1:-1],
        "json in json": json.dumps(json.dumps(secret)[1:-1])[1:-1],
        "url": quote(secret, safe=""),
        "path": quote(secret),
        "query": quote_plus(secret),
        "lower url": re.sub("%..", lambda escape: escape[0].lower(), quote(secret, safe="")),
        "hex": data.hex(),
        "upper hex": data.hex().upper(),
        "repr": repr(secret)[1:-1],
    }


def restored(redactor: Redactor, data: bytes) -> bytes:
    """Stored JSON with the secrets that a redactor knows."""
    return orjson.dumps(redactor.restore(orjson.loads(data)).value)


def shown(data: bytes) -> Any:
    """Stored JSON as a trace shows it."""
    return show_markers(orjson.loads(data))


def base64_core(secret: str, offset: int) -> str:
    """The part of the base64 text that tells the secret, wherever it begins."""
    padded = base64.b64encode(b"\0" * offset + secret.encode() + b"\0" * 3).decode()
    return padded[(8 * offset + 5) // 6 : 8 * (offset + len(secret.encode())) // 6]


@given(secrets, around, around)
@example(TOKEN, "", "")
@example(PEM, "key: ", "")
@example(AWKWARD, "x", "y")
def test_no_form_of_a_secret_survives_in_text(secret: str, before: str, after: str) -> None:
    redactor = Redactor({"NAME": secret})
    for name, form in forms(secret).items():
        assert form not in redactor.text(before + form + after), name


@given(secrets, st.binary(max_size=6), st.binary(max_size=6))
def test_no_base64_of_a_secret_survives_wherever_it_begins(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor({"NAME": secret})
    data = before + secret.encode() + after
    core = base64_core(secret, len(before) % 3)
    for encode, alter in (
        (base64.b64encode, str),
        (base64.urlsafe_b64encode, lambda text: text.replace("+", "-").replace("/", "_")),
    ):
        text = encode(data).decode()
        assert alter(core) in text
        assert alter(core) not in redactor.text(text)


@given(secrets, around, around, json_values)
@example(PEM, "", "", None)
@example("12345678", "", "", 9912345678)
@example("12345678", "", "", {"a": [12345678.5, "12345678"]})
@example("n1234567", "\n1234567", "", "\n1234567")
def test_encoded_json_holds_no_form_and_is_restored_exactly(
    secret: str, before: str, after: str, value: object
) -> None:
    redactor = Redactor({"NAME": secret})
    texts = [before + form + after for form in forms(secret).values()]
    whole = orjson.dumps({"texts": texts, "value": value, secret: secret, "keys": {before + secret: 1}})
    masked = redactor.data(whole)
    shown = orjson.loads(masked)
    for name, form in forms(secret).items():
        assert not any(form in text for text in shown["texts"]), name
    assert secret not in shown
    assert restored(redactor, masked) == whole


@given(json_values)
def test_data_that_looks_like_a_marker_never_becomes_a_secret(value: object) -> None:
    data = orjson.dumps(value)
    unknowing = Redactor().data(data)
    assert restored(Redactor({"NAME": TOKEN}), unknowing) == data
    assert restored(Redactor(), unknowing) == data


@given(st.lists(secrets, min_size=2, max_size=4, unique=True), json_values)
def test_several_secrets_that_overlap_are_restored_exactly(values: list[str], value: object) -> None:
    assume(not any(secret in f"«secret:K{index}»" for secret in values for index in range(4)))
    redactor = Redactor({f"K{index}": secret for index, secret in enumerate(values)})
    data = orjson.dumps([value, "".join(values), " ".join(values), "".join(values)[3:-3]])
    masked = redactor.data(data)
    assert restored(redactor, masked) == data
    for text in orjson.loads(masked)[1:3]:
        for secret in values:
            assert secret not in text


@given(secrets, st.lists(json_values | st.sampled_from([TOKEN, PEM]), max_size=3))
def test_only_what_holds_a_secret_is_changed(secret: str, value: list[Any]) -> None:
    redactor = Redactor({"NAME": secret})
    data = orjson.dumps(value)
    escaped = [orjson.dumps(form)[1:-1] for form in forms(secret).values()]
    if redactor.data(data) is not data:
        assert b"\xc2\xabsecret" in data or any(form in data for form in escaped)
    else:
        assert not any(form in data for form in escaped)
        assert redactor.value(value) == value


def test_untouched_parts_are_shared_and_not_copied() -> None:
    redactor = Redactor({"NAME": TOKEN})
    big = {"rows": [1, 2, 3]}
    data = orjson.dumps(big)
    assert redactor.data(data) is data
    assert redactor.value(big) is big
    masked = redactor.value({"big": big, "token": TOKEN})
    assert masked == {"big": big, "token": "«secret:NAME»"}
    assert masked["big"] is big


def test_a_marker_names_the_secret_and_not_its_form_when_shown() -> None:
    redactor = Redactor({"GITHUB_TOKEN": TOKEN})
    assert redactor.text(f"Authorization: Bearer {TOKEN}!") == "Authorization: Bearer «secret:GITHUB_TOKEN»!"
    assert redactor.text(TOKEN.encode().hex()) == "«secret:GITHUB_TOKEN»"
    assert redactor.value({"a": [TOKEN, {"b": TOKEN}]}) == {
        "a": ["«secret:GITHUB_TOKEN»", {"b": "«secret:GITHUB_TOKEN»"}]
    }


def test_basic_authentication_is_hidden() -> None:
    header = "Basic " + base64.b64encode(f"user:{TOKEN}".encode()).decode()
    shown = Redactor({"T": TOKEN}).text(header)
    assert "«secret:T»" in shown
    assert base64_core(TOKEN, 5 % 3) not in shown


def test_long_lines_of_a_key_are_hidden_one_by_one() -> None:
    redactor = Redactor({"KEY": PEM})
    indented = PEM.replace("\n", "\r\n    ")
    shown = redactor.text(indented)
    assert "MIIEvQIBADANBgkqhkiG9w0B" not in shown and "AQEFAASCBKcwggSjAgEAAoIB" not in shown
    data = orjson.dumps({"pem": indented})
    assert restored(redactor, redactor.data(data)) == data


def test_of_two_secrets_the_longer_goes_first() -> None:
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefgh-ijkl"})
    assert redactor.text("abcdefgh-ijkl abcdefgh") == "«secret:LONG» «secret:SHORT»"


def test_a_short_secret_is_hidden_only_where_it_is_the_whole_string() -> None:
    redactor = Redactor({"PIN": "true"})
    assert redactor.text("true") == "«secret:PIN»"
    assert redactor.text("it is true") == "it is true"
    data = orjson.dumps({"true": "true", "a": ["true", True, "untrue", ",true,"]})
    masked = redactor.data(data)
    assert shown(masked) == {"true": "«secret:PIN»", "a": ["«secret:PIN»", True, "untrue", ",true,"]}
    assert restored(redactor, masked) == data


@pytest.mark.parametrize("secret", [",", '"', "\\", '","', "é", "1"])
def test_a_short_secret_of_json_syntax_breaks_nothing(secret: str) -> None:
    redactor = Redactor({"S": secret})
    data = orjson.dumps(["a", "b", secret, {"k": secret, "n": 1}])
    masked = redactor.data(data)
    assert shown(masked)[2] == "«secret:S»"
    assert restored(redactor, masked) == data


def test_a_long_number_is_hidden_and_stays_a_number_when_restored() -> None:
    redactor = Redactor({"ACCOUNT": "12345678"})
    assert redactor.value({"n": 9912345678, "f": 12345678.5, "ok": 1234}) == {
        "n": "99«secret:ACCOUNT»",
        "f": "«secret:ACCOUNT».5",
        "ok": 1234,
    }
    data = orjson.dumps({"n": 9912345678, "s": "9912345678"})
    masked = redactor.data(data)
    assert b"12345678" not in masked
    assert restored(redactor, masked) == data
    assert restored(Redactor(), masked) == masked


def test_the_journals_own_field_names_stay_readable() -> None:
    redactor = Redactor({"WORD": "definition"})
    masked = redactor.data(orjson.dumps({"definition": "x", "inputs": "definition"}))
    assert shown(masked) == {"definition": "x", "inputs": "«secret:WORD»"}


def test_a_secret_that_is_unknown_later_stays_a_marker_and_is_restored_when_known_again() -> None:
    data = orjson.dumps({"a": f"x{TOKEN}y"})
    masked = Redactor({"T": TOKEN}).data(data)
    assert restored(Redactor(), masked) == masked
    assert restored(Redactor({"OTHER": TOKEN}), masked) == data
    assert restored(Redactor({"T": TOKEN}), masked) == data
    assert restored(Redactor({"T": "rotated-value"}), masked) == masked


def test_secrets_that_could_not_be_restored_are_named() -> None:
    stored = Redactor({"A_TOKEN": TOKEN}).data(orjson.dumps({"a": TOKEN, "b": "«secret:NOT_ONE»"}))
    assert Redactor().restore(orjson.loads(stored)).missing == {"A_TOKEN"}
    assert Redactor({"A_TOKEN": "another-value"}).restore(orjson.loads(stored)).missing == {"A_TOKEN"}


@given(
    before=st.text(" .:x", max_size=30),
    after=st.text(" .:x", max_size=30),
    cuts=st.tuples(st.integers(0), st.integers(0)),
)
def test_what_a_cut_left_of_a_secret_is_hidden(before: str, after: str, cuts: tuple[int, int]) -> None:
    text = f"{before}{TOKEN}{after}"
    start, end = sorted(cut % (len(text) + 1) for cut in cuts)
    redactor = Redactor({"T": TOKEN})
    for cut in (text[start:end], f"it said …{text[start:end]}… and", f"`x` is {text[start:end]!r}, which"):
        shown = str(redactor.value(redactor.ends({"said": [cut]})))
        assert not any(TOKEN[at : at + 8] in shown for at in range(len(TOKEN) - 7))


def test_only_the_ends_of_texts_are_taken_for_cuts() -> None:
    redactor = Redactor({"URL": "https://user:pass@db.example.org/app"})
    kept = ["db.example.org is down", "see https://user.example.org for more", "x", ""]
    assert redactor.ends(kept) is kept
    assert redactor.ends("…ample.org/app is down") == "…«part of a secret» is down"


def test_a_name_that_would_give_a_secret_away_is_not_shown() -> None:
    secrets = {"correct-horse": "battery-staple", "other": "correct-horse"}
    redactor = Redactor(secrets)
    shown = redactor.text("battery-staple")
    assert shown.startswith("«secret:~") and "correct-horse" not in shown
    data = orjson.dumps(["battery-staple", "correct-horse"])
    masked = redactor.data(data)
    assert restored(Redactor(secrets), masked) == data
    fewer = Redactor({"correct-horse": "battery-staple"})
    assert orjson.loads(restored(fewer, masked))[0] == "battery-staple"


@pytest.mark.parametrize("name", ["a/b", "a»b", "a:b", "ä", "", "a b", "%41", "«secret"])
def test_any_name_can_be_restored(name: str) -> None:
    redactor = Redactor({name: TOKEN, "A": "another-secret"})
    data = orjson.dumps([TOKEN, "another-secret", TOKEN.encode().hex()])
    assert restored(redactor, redactor.data(data)) == data


def test_secrets_can_be_added_at_any_time() -> None:
    redactor = Redactor()
    assert redactor.text(TOKEN) == TOKEN
    redactor.add("T", TOKEN)
    assert redactor.text(TOKEN) == "«secret:T»"
    redactor.add("T", "second-value")
    redactor.add("T", "second-value")
    redactor.add("EMPTY", "")
    assert redactor.text(f"{TOKEN} second-value") == "«secret:T» «secret:T%232»"


def test_bytes_in_a_result_are_looked_into() -> None:
    redactor = Redactor({"T": TOKEN})
    assert redactor.value(b"x" + TOKEN.encode()) == "x«secret:T»"
    assert redactor.value(b"\xff\x00") == b"\xff\x00"


def test_the_fields_of_a_dataclass_are_looked_into() -> None:
    @dataclass
    class Account:
        name: str
        key: str

    redactor = Redactor({"KEY": TOKEN})
    harmless = Account("Ada", "none")
    values: Any = redactor.value([harmless])
    assert values[0] is harmless
    assert redactor.value(Account("Ada", TOKEN)) == {"name": "Ada", "key": "«secret:KEY»"}


def test_values_that_are_no_json_pass_through() -> None:
    thing = object()
    assert Redactor({"T": TOKEN}).value({"a": thing, 1: TOKEN, "t": (TOKEN, 2)}) == {
        "a": thing,
        1: "«secret:T»",
        "t": ["«secret:T»", 2],
    }


def test_a_secret_that_is_no_text_is_hidden_where_it_can_be() -> None:
    redactor = Redactor({"RAW": "\udcff" * 10})
    assert redactor.text("x" + "\udcff" * 10) == "x«secret:RAW»"
    assert redactor.data(b'{"a":"b"}') == b'{"a":"b"}'


@pytest.mark.parametrize(
    "quoted", ["it'\\''s-a-\"secret\"", 'it\'"\'"\'s-a-"secret"', "it''s-a-\"secret\"", 'it\'s-a-""secret""']
)
def test_a_secret_with_quotes_is_hidden_as_shells_and_tables_write_it(quoted: str) -> None:
    hidden = Redactor({"S": 'it\'s-a-"secret"'}).text(f"x {quoted} y")
    assert "secret:S" in hidden
    assert quoted not in hidden
