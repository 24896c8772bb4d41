"""Settings: options in clear, credentials write-only, nothing silently forgotten."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import CorruptError, NotFoundError, PflowError, SecurityError, StorageError, UsageError
from pflow.core.file.home import Home
from pflow.core.setting.settings import Settings, is_credential, mask
from tests.core.file.faults import Faulty, failing
from tests.core.file.forking import in_child, together

TOKEN = "ghp_0123456789abcdefghij"


@pytest.fixture
def place(home: Path) -> Home:
    return Home(home)


def load(place: Home, environ: dict[str, str] | None = None) -> Settings:
    return Settings.load(place, environ=environ or {})


def put(place: Home, content: object) -> None:
    place.root.mkdir(exist_ok=True, mode=0o700)
    place.settings.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    place.settings.chmod(0o600)


def test_a_credential_is_stored_privately_and_comes_back_masked(place: Home) -> None:
    Settings(place).set("GITHUB_TOKEN", TOKEN)
    assert stat.S_IMODE(place.settings.stat().st_mode) == 0o600
    stored = json.loads(place.settings.read_bytes())
    assert (stored.pop("checksum"), stored) == ("e41fe0ad", {"version": 1, "env": {"GITHUB_TOKEN": TOKEN}})
    settings = load(place)
    assert settings.get("GITHUB_TOKEN").as_dict() == {
        "key": "GITHUB_TOKEN",
        "value": "ghp…ghij",
        "set": True,
        "secret": True,
    }
    assert TOKEN not in repr([settings.get("GITHUB_TOKEN"), settings.list()])
    assert settings.lookup("GITHUB_TOKEN") == TOKEN


def test_a_credential_that_is_not_set_says_so(place: Home) -> None:
    shown = load(place).get("GITHUB_TOKEN").as_dict()
    assert shown == {"key": "GITHUB_TOKEN", "value": None, "set": False, "secret": True}


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("sk-0123456789abcdefc9d2", "sk-…c9d2"),
        ("x" * 19, "********"),
        ("a\nb" + "x" * 30, "********"),
        ("é" * 40, "********"),
    ],
)
def test_a_mask_shows_little_and_nothing_of_a_short_secret(value: str, masked: str) -> None:
    assert mask(value) == masked


@pytest.mark.parametrize("value", ["", "1234567", "pässw"])
def test_a_credential_that_could_not_be_hidden_is_refused(place: Home, value: str) -> None:
    with pytest.raises(UsageError, match="at least 8") as caught:
        Settings(place).set("API_KEY", value)
    assert "hidden" in caught.value.suggestions[0]
    assert not place.settings.exists()


@pytest.mark.parametrize("value", ["a\0bcdefghij", "\ud800abcdefgh", "x" * 70_000])
def test_a_credential_that_no_environment_can_hold_is_refused(place: Home, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(place).set("API_KEY", value)
    assert value not in caught.value.message


def test_options_have_types_and_defaults(place: Home) -> None:
    settings = Settings(place)
    assert settings.option("trace.keep_days") == 30
    assert settings.option("journal.sync") == "normal"
    assert settings.option("http.allow_private") is False
    settings.set("trace.keep_days", "7")
    settings.set("journal.sync", "full")
    settings.set("http.allow_private", "true")
    settings = load(place)
    assert settings.option("trace.keep_days") == 7
    assert settings.option("journal.sync") == "full"
    assert settings.option("http.allow_private") is True
    assert settings.get("trace.keep_days").as_dict() == {
        "key": "trace.keep_days",
        "value": 7,
        "set": True,
        "secret": False,
        "default": 30,
        "description": "days after which traces are deleted",
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trace.keep_days", "soon"),
        ("trace.keep_days", "-1"),
        ("trace.keep_days", "1.5"),
        ("trace.keep_days", "9999999999"),
        ("trace.keep_days", "٣"),
        ("journal.sync", "off"),
        ("http.allow_private", "1"),
        ("http.allow_private", ""),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_is_right(place: Home, key: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(place).set(key, value)
    assert "it takes" in caught.value.suggestions[0]


@pytest.mark.parametrize(
    "key", ["trace.keep_day", "github_token", "", "a b", "../x", "-x", "A-B", "Ä", "TRACE.KEEP_DAYS", "x" * 500]
)
def test_an_unknown_setting_is_refused_with_what_exists(place: Home, key: str) -> None:
    for attempt in (
        lambda: Settings(place).set(key, "12345678"),
        lambda: load(place).get(key),
        lambda: Settings(place).unset(key),
    ):
        with pytest.raises(NotFoundError) as caught:
            attempt()
        assert caught.value.suggestions
    assert not place.settings.exists()


def test_a_near_miss_is_suggested(place: Home) -> None:
    with pytest.raises(NotFoundError) as caught:
        load(place).get("trace.keep_day")
    assert caught.value.suggestions[0] == "did you mean `trace.keep_days`?"


def test_unset_brings_the_default_back_and_forgets_a_credential(place: Home) -> None:
    settings = Settings(place)
    settings.set("trace.keep_days", "7")
    settings.set("API_KEY", TOKEN)
    settings.unset("trace.keep_days")
    settings.unset("API_KEY")
    assert settings.option("trace.keep_days") == 30
    assert settings.lookup("API_KEY") is None
    assert TOKEN not in place.settings.read_text()
    with pytest.raises(NotFoundError):
        settings.unset("API_KEY")
    with pytest.raises(NotFoundError):
        settings.unset("trace.keep_days")


def test_the_list_has_every_option_and_every_credential_that_is_set(place: Home) -> None:
    Settings(place).set("Z_KEY", TOKEN)
    Settings(place).set("A_KEY", TOKEN)
    keys = [entry.key for entry in load(place).list()]
    assert keys[:2] == ["A_KEY", "Z_KEY"]
    assert {"journal.sync", "trace.max_mb", "runs.keep_days", "output.limit_kb", "http.allow_private"} <= set(keys)


def test_settings_come_before_the_environment(place: Home) -> None:
    Settings(place).set("API_KEY", TOKEN)
    settings = load(place, {"API_KEY": "from-environment", "OTHER": "there"})
    assert settings.lookup("API_KEY") == TOKEN
    assert settings.lookup("OTHER") == "there"
    assert settings.lookup("MISSING") is None
    assert dict(settings.variables()) == {"API_KEY": TOKEN, "OTHER": "there"}


def test_secrets_are_ours_and_what_the_environment_names_like_one(place: Home) -> None:
    Settings(place).set("MINE", TOKEN)
    environ = {
        "GITHUB_TOKEN": "t1",
        "AWS_SECRET_ACCESS_KEY": "t2",
        "DB_PASSWORD": "t3",
        "my_api_key": "t4",
        "EMPTY_TOKEN": "",
        "PATH": "/bin",
        "HOME": "/h",
        "KEYBOARD": "de",
        "MONKEY": "x",
    }
    assert load(place, environ).secrets() == {
        "GITHUB_TOKEN": "t1",
        "AWS_SECRET_ACCESS_KEY": "t2",
        "DB_PASSWORD": "t3",
        "my_api_key": "t4",
        "MINE": TOKEN,
    }


def test_only_names_of_capitals_are_credentials() -> None:
    assert is_credential("GITHUB_TOKEN") and is_credential("A") and is_credential("A1_2")
    assert not any(map(is_credential, ["", "a", "_A", "1A", "A-B", "A.B", "Ä", "A" * 129, "A\n"]))


# What can be wrong with the file


def test_a_file_that_others_can_read_is_restricted_with_a_notice(place: Home) -> None:
    put(place, {"version": 1, "env": {"API_KEY": TOKEN}})
    place.settings.chmod(0o644)
    settings = load(place)
    assert stat.S_IMODE(place.settings.stat().st_mode) == 0o600
    assert len(settings.notices) == 1 and "readable by other users" in settings.notices[0]
    assert load(place).notices == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"env": {"A": "b"}', b"\x80\x04K\x01."])
def test_lost_credentials_are_never_taken_for_none(place: Home, content: bytes) -> None:
    put(place, content)
    with pytest.raises(CorruptError) as caught:
        load(place)
    aside = Path(str(caught.value.details["aside"]))
    assert aside.read_bytes() == content and aside.name in caught.value.message
    assert not place.settings.exists()
    for attempt in (
        lambda: load(place),
        lambda: Settings(place).secrets(),
        lambda: Settings(place).lookup("API_KEY"),
        lambda: Settings(place).list(),
    ):
        with pytest.raises(CorruptError, match=r"set aside as `settings.json.corrupt-"):
            attempt()
    Settings(place).set("API_KEY", TOKEN)
    assert load(place).secrets() == {"API_KEY": TOKEN}
    assert aside.read_bytes() == content


def test_setting_something_in_a_corrupt_file_sets_it_aside_first(place: Home) -> None:
    put(place, b"{broken")
    with pytest.raises(CorruptError):
        Settings(place).set("API_KEY", TOKEN)
    Settings(place).set("API_KEY", TOKEN)
    assert load(place).lookup("API_KEY") == TOKEN


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"version": 2, "env": {}}, "version `2`"),
        ({"version": "x", "env": {}}, "version `x`"),
        ({"env": []}, "`env`"),
        ({"options": 1}, "`options`"),
        ({"env": {"PORT": 8080}}, "`env.PORT`"),
        ({"env": {"A": None}}, "`env.A`"),
    ],
)
def test_a_file_of_another_shape_is_refused_and_left_alone(place: Home, content: dict[str, Any], said: str) -> None:
    put(place, content)
    before = place.settings.read_bytes()
    attempts: list[Callable[[], object]] = [lambda: load(place), lambda: Settings(place).set("API_KEY", TOKEN)]
    for attempt in attempts:
        if "options" in content:
            attempt = lambda: Settings(place).option("trace.keep_days")  # noqa: E731
        with pytest.raises(StorageError) as caught:
            attempt()
        assert said in caught.value.message
        assert not isinstance(caught.value, CorruptError)
    assert place.settings.read_bytes() == before


def test_an_option_edited_by_hand_to_nonsense_is_refused_where_it_is_used(place: Home) -> None:
    put(place, {"options": {"http.allow_private": "maybe", "trace.keep_days": True}})
    settings = load(place)
    for key in ("http.allow_private", "trace.keep_days"):
        with pytest.raises(UsageError, match=r"in `settings.json`"):
            settings.option(key)
    assert settings.option("trace.max_mb") == 500


def test_an_unknown_field_or_option_in_the_file_is_kept_and_mentioned(place: Home) -> None:
    put(place, {"options": {"from.future": 1}, "more": [1]})
    assert load(place).notices == [
        "`settings.json` holds an unknown field `more`; it has no effect",
        "`settings.json` holds an unknown option `from.future`; it has no effect",
    ]
    Settings(place).set("trace.keep_days", "7")
    stored = json.loads(place.settings.read_bytes())
    stored.pop("checksum")
    assert stored == {
        "options": {"from.future": 1, "trace.keep_days": 7},
        "more": [1],
        "version": 1,
    }


def test_a_link_in_place_of_the_settings_is_not_followed(place: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('{"env": {"API_KEY": "not yours"}}')
    place.root.mkdir()
    place.settings.symlink_to(tmp_path / "elsewhere")
    for attempt in (lambda: load(place), lambda: Settings(place).set("API_KEY", TOKEN)):
        with pytest.raises(SecurityError):
            attempt()


def test_settings_of_an_unwritable_home_can_be_read_and_not_set(unwritable: Path) -> None:
    def work() -> object:
        place = Home(unwritable)
        assert load(place).option("trace.keep_days") == 30
        with pytest.raises(StorageError) as caught:
            Settings(place).set("API_KEY", TOKEN)
        return caught.value.code

    assert in_child(work, unprivileged=True) == "storage"


def test_a_failure_at_any_call_keeps_the_old_settings_or_stores_the_new(place: Home) -> None:
    Settings(place).set("OLD_KEY", TOKEN)
    for nth in range(1, 20):
        calls = Faulty(nth, failing(errno.ENOSPC))
        name = f"NEW_{nth}"
        try:
            Settings(place, calls=calls).set(name, TOKEN)
            stored = True
        except PflowError as error:
            stored = False
            assert "settings.json" in error.message
        found = load(place).secrets()
        assert "OLD_KEY" in found
        assert not stored or name in found
        if not calls.reached:
            return
    pytest.fail("there are fewer calls than that")


def test_eight_processes_set_eight_credentials(place: Home) -> None:
    def work(index: int) -> object:
        Settings(place).set(f"KEY_{index}", f"{TOKEN}{index}")
        return "done"

    assert together(8, work) == ["done"] * 8
    assert len(load(place).secrets()) == 8


def test_no_flipped_bit_changes_a_setting_unnoticed(place: Home) -> None:
    Settings(place).set("GITHUB_TOKEN", TOKEN)
    Settings(place).set("trace.keep_days", "7")
    sound = place.settings.read_bytes()
    meaning = json.loads(sound)
    for position in range(len(sound) * 8):
        data = bytearray(sound)
        data[position // 8] ^= 1 << position % 8
        put(place, bytes(data))
        try:
            settings = load(place)
        except PflowError:
            for aside in place.root.glob("*.corrupt-*"):
                aside.unlink()
            continue
        assert settings.notices or json.loads(bytes(data)) == meaning, bytes(data)


def test_a_file_that_a_person_edited_is_used_with_a_notice_until_a_setting_is_stored(place: Home) -> None:
    Settings(place).set("GITHUB_TOKEN", TOKEN)
    content = json.loads(place.settings.read_bytes())
    put(place, {**content, "options": {"trace.keep_days": 7}})
    settings = load(place)
    assert settings.option("trace.keep_days") == 7
    assert settings.lookup("GITHUB_TOKEN") == TOKEN
    (notice,) = settings.notices
    assert notice.startswith(f"`{place.settings}` was edited or damaged since pflow saved it")
    storing = Settings(place)
    storing.set("trace.max_mb", "9")
    assert storing.notices == [notice]
    assert load(place).notices == []


def test_settings_without_a_checksum_or_laid_out_differently_are_used_without_a_word(place: Home) -> None:
    put(place, {"version": 1, "env": {"GITHUB_TOKEN": TOKEN}})
    assert load(place).notices == []
    Settings(place).set("trace.keep_days", "7")
    content = json.loads(place.settings.read_bytes())
    put(place, dict(reversed(content.items())))
    assert load(place).notices == []


def test_options_of_a_family_are_set_by_name_and_read_together(place: Home) -> None:
    settings = Settings(place)
    settings.set("llm.models.quick.provider", "openrouter")
    settings.set("llm.models.quick.strict", "OFF")
    settings.set("llm.models.big-one.context", "8000")
    assert load(place).family("llm.models") == {
        "big-one": {"context": 8000},
        "quick": {"provider": "openrouter", "strict": "off"},
    }
    assert [found.key for found in load(place).list() if found.key.startswith("llm.models")] == [
        "llm.models.big-one.context",
        "llm.models.quick.provider",
        "llm.models.quick.strict",
    ]
    settings.unset("llm.models.quick.strict")
    assert load(place).get("llm.models.quick.strict").as_dict() == {
        "key": "llm.models.quick.strict",
        "value": "auto",
        "set": False,
        "secret": False,
        "default": "auto",
        "description": "how an answer is made to fit a schema",
    }
    assert load(place).notices == []


@pytest.mark.parametrize(
    "key",
    ["llm.models", "llm.models.", "llm.models.a", "llm.models.a.nothing", "llm.models.A.key", "llm.models.a.b.key"]
    + ["llm.models..key", "llm.models.-a.key", "llm.models.a b.key", "llm.models." + "a" * 65 + ".key"],
)
def test_a_key_that_no_family_has_is_not_a_setting(place: Home, key: str) -> None:
    for attempt in (lambda: Settings(place).set(key, "x"), lambda: load(place).get(key)):
        with pytest.raises(NotFoundError, match="there is no setting") as caught:
            attempt()
        assert caught.value.suggestions
    assert load(place).family("llm.models") == {}


def test_a_field_of_a_family_takes_only_what_it_can_mean(place: Home) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(place).set("llm.models.quick.wire", "soap")
    assert [*caught.value.suggestions] == ["it takes `chat` or `responses` or `messages`"]


def test_a_misspelt_field_of_a_family_is_suggested_with_its_name(place: Home) -> None:
    with pytest.raises(NotFoundError) as caught:
        Settings(place).set("llm.models.quick.modle", "x")
    assert "llm.models.quick.model" in str(caught.value.suggestions[0])
