"""Installed agents as models: stand-ins that take the arguments, and answer in the forms, of the real programs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from pflow.adapters.model.memory import LevelMemory
from pflow.adapters.model.models import Models
from pflow.adapters.model.target import Choice
from pflow.core.errors import ModelError, NoModelError
from pflow.core.file.home import Home
from pflow.engine.attempt.turn import Limits
from pflow.engine.model.llm import Completion, Image, Prompt, Usage

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
KEY = "sk-ant-0123456789abcdef"
PROMPT = "what is it?"

CLAUDE = {
    "type": "result",
    "is_error": False,
    "result": "three",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 2},
    "modelUsage": {"some-model": {}},
}
CODEX = [
    {"type": "thread.started"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": '{"n": 3}'}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 6, "output_tokens": 2}},
]
GEMINI = {"response": '{"n": 3}', "stats": {"models": {"g": {"tokens": {"prompt": 10, "candidates": 2, "cached": 6}}}}}


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def install(folder: Path, name: str, output: str, *, code: int = 0, error: str = "") -> Path:
    """A program that notes how it was called, and answers."""
    log = folder.parent / f"{name}.json"
    script = folder / name
    script.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"files = {{p: open(p).read() for p in os.listdir('.')}}\n"
        f"call = dict(argv=sys.argv[1:], stdin=sys.stdin.read(), env=dict(os.environ), files=files)\n"
        f"open({str(log)!r}, 'w').write(json.dumps(call))\n"
        f"sys.stdout.write({output!r}); sys.stderr.write({error!r}); sys.exit({code})\n"
    )
    script.chmod(0o755)
    return log


def ask(home: Path, model: str, **fields: object) -> Completion:
    variables = {"ANTHROPIC_API_KEY": KEY, "OTHER_TOKEN": "tok-0123456789"}
    choice = Choice(models={}, default="", agents="claude codex gemini", variables=variables)
    models = Models(
        lambda: choice, LevelMemory(Home(home)), limits=Limits(), hide=lambda text: text, learn=lambda name, key: None
    )
    return asyncio.run(models.ask(Prompt(text=PROMPT, model=model)._replace(**fields)))


def test_claude_answers_with_its_own_cost(home: Path, bin_folder: Path) -> None:
    log = install(bin_folder, "claude", json.dumps(CLAUDE))
    answer = ask(home, "agent:claude/opus", system="be brief")
    assert (answer.text, answer.cost, answer.model) == ("three", 0.25, "some-model")
    assert answer.usage == Usage(input=10, output=2, cached=6)
    call = json.loads(log.read_text())
    assert call["stdin"] == f"be brief\n\n{PROMPT}"
    assert call["argv"][:3] == ["-p", "--output-format", "json"]
    assert call["argv"][-2:] == ["--model", "opus"]
    assert PROMPT not in str(call["argv"]) and KEY not in str(call["argv"])
    assert call["env"]["ANTHROPIC_API_KEY"] == KEY
    assert "OTHER_TOKEN" not in call["env"]


def test_claude_takes_a_schema(home: Path, bin_folder: Path) -> None:
    log = install(bin_folder, "claude", json.dumps({**CLAUDE, "structured_output": {"n": 3}}))
    assert ask(home, "agent:claude", schema=SCHEMA).value == {"n": 3}
    argv = json.loads(log.read_text())["argv"]
    assert json.loads(argv[argv.index("--json-schema") + 1]) == SCHEMA


def test_codex_takes_a_schema_as_a_file_and_the_prompt_on_stdin(home: Path, bin_folder: Path) -> None:
    log = install(bin_folder, "codex", "\n".join(map(json.dumps, CODEX)))
    answer = ask(home, "agent:codex", schema=SCHEMA)
    assert (answer.value, answer.usage) == ({"n": 3}, Usage(input=10, output=2, cached=6))
    call = json.loads(log.read_text())
    assert call["argv"][:2] == ["exec", "--json"] and call["argv"][-1] == "-"
    assert json.loads(call["files"]["schema.json"]) == SCHEMA
    assert call["stdin"] == PROMPT


def test_gemini_is_asked_in_words(home: Path, bin_folder: Path) -> None:
    log = install(bin_folder, "gemini", "Loaded cached credentials.\n" + json.dumps(GEMINI))
    assert ask(home, "agent:gemini", schema=SCHEMA).value == {"n": 3}
    assert "JSON Schema" in json.loads(log.read_text())["stdin"]


@pytest.mark.parametrize(
    ("output", "code", "error", "action"),
    [
        ("", 1, "Please run /login", "auth_failed"),
        ("", 3, "boom", "error"),
        ("garbage", 0, "", "error"),
        ("[]", 0, "", "error"),
        (json.dumps({"is_error": True, "result": "no"}), 0, "", "error"),
    ],
)
def test_an_agent_that_fails_is_a_typed_error(
    home: Path, bin_folder: Path, output: str, code: int, error: str, action: str
) -> None:
    install(bin_folder, "claude", output, code=code, error=error)
    with pytest.raises(ModelError) as caught:
        ask(home, "agent:claude")
    assert caught.value.action == action


def test_a_version_that_knows_no_schemas_is_asked_in_words(home: Path, bin_folder: Path) -> None:
    script = bin_folder / "claude"
    script.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "if '--json-schema' in sys.argv: sys.stderr.write('error: unknown option'); sys.exit(1)\n"
        f"sys.stdout.write({json.dumps({**CLAUDE, 'result': json.dumps({'n': 3})})!r})\n"
    )
    script.chmod(0o755)
    answer = ask(home, "agent:claude", schema=SCHEMA)
    assert answer.value == {"n": 3}
    assert "it was asked in the prompt" in answer.notes[0]


def test_an_agent_that_is_not_installed_is_said_to_be_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NoModelError, match="`codex` is not installed"):
        ask(home, "agent:codex")


def test_an_agent_takes_no_images(home: Path, bin_folder: Path) -> None:
    install(bin_folder, "claude", json.dumps(CLAUDE))
    with pytest.raises(ModelError, match="takes no images"):
        ask(home, "agent:claude", images=(Image(media_type="image/png", data=b"x"),))


def test_the_package_llm_is_used_where_it_is_installed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoModelError, match="needs the Python package `llm`"):
        ask(home, "llm:tiny")
    (tmp_path / "llm.py").write_text(
        "class ModelError(Exception): pass\n"
        "class UnknownModelError(KeyError): pass\n"
        "class Usage: input, output = 5, 2\n"
        "class Response:\n"
        "    def text(self): return '{\"n\": 3}'\n"
        "    def usage(self): return Usage\n"
        "class Model:\n"
        "    def prompt(self, text, system, schema, attachments, stream, **options):\n"
        "        if options: raise ModelError('no options, please')\n"
        "        assert schema['type'] == 'object' and text == 'what is it?'\n"
        "        return Response()\n"
        "def get_model(name):\n"
        "    if name != 'tiny': raise UnknownModelError(name)\n"
        "    return Model()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        answer = ask(home, "llm:tiny", schema=SCHEMA)
        assert (answer.value, answer.usage, answer.cost) == ({"n": 3}, Usage(input=5, output=2), None)
        with pytest.raises(NoModelError, match="knows no model `other`"):
            ask(home, "llm:other")
        with pytest.raises(ModelError, match="no options, please"):
            ask(home, "llm:tiny", temperature=0.5)
    finally:
        sys.modules.pop("llm", None)
