"""`pflow settings …`: what goes in, what comes out, and what never does."""

from __future__ import annotations

from tests.cli.conftest import Pflow

TOKEN = "ghp_abcdefghijklmnop1234"


def test_a_value_from_stdin_stays_out_of_the_command_line(pflow: Pflow) -> None:
    said = pflow("settings", "set", "GITHUB_TOKEN", stdin=f"{TOKEN}\n")
    assert (said.code, said.out, said.err) == (0, "GITHUB_TOKEN = ghp…1234\n", "")
    assert pflow("settings", "set", "OTHER_TOKEN", "-", stdin=TOKEN).code == 0


def test_a_credential_on_the_command_line_is_stored_with_a_warning(pflow: Pflow) -> None:
    said = pflow("settings", "set", "GITHUB_TOKEN", TOKEN)
    assert said.code == 0
    assert said.err == (
        "note: the value is in your shell's history now; `pflow settings set GITHUB_TOKEN` asks for it instead\n"
    )


def test_a_credential_is_never_shown_again(pflow: Pflow) -> None:
    pflow("settings", "set", "GITHUB_TOKEN", stdin=TOKEN)
    for words in (("get", "GITHUB_TOKEN"), ("list",), ("list", "--json"), ("get", "GITHUB_TOKEN", "--json")):
        said = pflow("settings", *words)
        assert said.code == 0
        assert "ghp…1234" in said.out
        assert TOKEN not in said.out + said.err


def test_options_have_types_and_defaults(pflow: Pflow) -> None:
    assert pflow("settings", "get", "trace.keep_days").out == "30\n"
    assert pflow("settings", "set", "trace.keep_days", "7").out == "trace.keep_days = 7\n"
    assert pflow("settings", "get", "trace.keep_days", "--json").json["data"]["value"] == 7
    assert pflow("settings", "unset", "trace.keep_days").out == "trace.keep_days is no longer set\n"
    assert pflow("settings", "get", "http.allow_private").out == "false\n"
    said = pflow("settings", "set", "trace.keep_days", "soon")
    assert said.code == 2
    assert said.err.startswith("error: `soon` is not a valid value for `trace.keep_days`\n")


def test_what_is_not_set_or_unknown_is_an_error(pflow: Pflow) -> None:
    assert pflow("settings", "unset", "GITHUB_TOKEN").code == 2
    assert pflow("settings", "get", "trace.keep").code == 2
    assert "did you mean `trace.keep_days`?" in pflow("settings", "set", "trace.keep-days", "1").err
    assert pflow("settings", "get", "GITHUB_TOKEN").out == "not set\n"
