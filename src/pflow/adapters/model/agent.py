"""Installed agents as models: their programs are run once per question, with the prompt on stdin and no tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orjson

from pflow.adapters.model.message import Level, Question, Reply, SchemaRefused, count_in, text_in
from pflow.adapters.model.provider import agents
from pflow.adapters.model.target import Target
from pflow.core.errors import ModelError, NoModelError, StepError, StepTimeout
from pflow.core.json_type import JsonView, object_in
from pflow.core.printable import shorten
from pflow.engine.model.llm import Report, Usage
from pflow.process.command import Finished, child_environment, run_process

_SECONDS = 1800.0
_OUTPUT_BYTES = 8 << 20
_SHOWN_CHARACTERS = 500


class Program(NamedTuple):
    """How an agent is asked. `arguments` get the model, the schema as JSON, and an empty folder for files."""

    levels: tuple[Level, ...]
    arguments: Callable[[str, bytes | None, Path], list[str]]
    read: Callable[[bytes], Reply]


def is_installed(program: str) -> bool:
    """Whether an agent's program is on the path."""
    return shutil.which(program) is not None


class Agent:
    """Talks to one installed agent; see `Talker`."""

    def __init__(self, target: Target, variables: Mapping[str, str]) -> None:
        self.name = target.shown
        self.place = target.provider
        self._program = PROGRAMS[target.provider]
        self.levels = self._program.levels
        given = {name: variables[name] for name in agents()[target.provider] if variables.get(name)}
        self._environment = child_environment(given)
        if not is_installed(target.provider):
            raise NoModelError(
                f"the agent `{target.provider}` is not installed", suggestions=["install it, or use another model"]
            )

    async def say(self, question: Question, report: Report) -> Reply:
        """The answer to one question."""
        if any(turn.images for turn in question.turns):
            raise ModelError(f"{self.name} takes no images", suggestions=["use a model of a provider for images"])
        schema = orjson.dumps(question.schema) if question.level == "native" else None
        report(f"{self.name} answers")
        with TemporaryDirectory(prefix="pflow-agent-") as folder:
            arguments = self._program.arguments(question.model, schema, Path(folder))
            try:
                done = await run_process(
                    [self.place, *arguments],
                    stdin=_transcript(question).encode(errors="replace"),
                    env=self._environment,
                    cwd=folder,
                    timeout=_SECONDS,
                    limit=_OUTPUT_BYTES,
                )
            except StepTimeout as error:
                raise ModelError(error.message, action="timeout") from error
            except StepError as error:
                raise ModelError(error.message, suggestions=error.suggestions) from error
        return self._read(done, question)

    def _read(self, done: Finished, question: Question) -> Reply:
        head = shorten((done.stdout or done.stderr).decode(errors="replace").strip(), _SHOWN_CHARACTERS)
        details: dict[str, object] = {"exit_code": done.exit_code, "answer": head}
        if done.stdout_cut:
            raise ModelError(f"{self.name} answered with more than {_OUTPUT_BYTES >> 20} MiB", details=details)
        if done.exit_code:
            said = done.stderr.decode(errors="replace").lower()
            if question.level == "native" and (
                "schema" in said or "unknown option" in said or "unexpected arg" in said
            ):
                raise SchemaRefused(ModelError(f"{self.name} does not take the schema", details=details))
            raise ModelError(
                f"{self.name} failed with exit code {done.exit_code}: {shorten(head, 200)}",
                action="auth_failed" if "login" in said or "api key" in said else "error",
                details=details,
                suggestions=[f"try it by hand: `{self.place}`"],
            )
        try:
            return self._program.read(done.stdout)
        except (ValueError, LookupError) as error:
            raise ModelError(f"{self.name} answered in a form that is not known", details=details) from error


def _transcript(question: Question) -> str:
    """A conversation as one text."""
    first, *rest = question.turns
    parts = [question.system, first.text]
    parts += [f"{'Your answer was' if turn.role == 'assistant' else 'Now'}:\n{turn.text}" for turn in rest]
    return "\n\n".join(filter(None, parts))


def _ask_claude(model: str, schema: bytes | None, folder: Path) -> list[str]:
    arguments = ["-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--no-session-persistence"]
    arguments += ["--json-schema", schema.decode()] if schema else []
    return arguments + (["--model", model] if model else [])


def _read_claude(output: bytes) -> Reply:
    answer = _object(output)
    if answer.get("is_error"):
        raise ModelError(f"the agent failed: {shorten(text_in(answer, 'result') or text_in(answer, 'subtype'), 200)}")
    usage = object_in(answer, "usage")
    cached = count_in(usage, "cache_read_input_tokens")
    given = count_in(usage, "input_tokens") + cached + count_in(usage, "cache_creation_input_tokens")
    structured, cost = answer.get("structured_output"), answer.get("total_cost_usd")
    return Reply(
        text=text_in(answer, "result") if structured is None else orjson.dumps(structured).decode(),
        usage=Usage(input=given, output=count_in(usage, "output_tokens"), cached=cached),
        model=next(iter(object_in(answer, "modelUsage")), ""),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _ask_codex(model: str, schema: bytes | None, folder: Path) -> list[str]:
    arguments = ["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral"]
    if schema:
        place = folder / "schema.json"
        place.write_bytes(schema)
        arguments += ["--output-schema", str(place)]
    return [*arguments, *(["--model", model] if model else []), "-"]


def _read_codex(output: bytes) -> Reply:
    text, usage = "", Usage()
    for event in _events(output):
        kind, item = text_in(event, "type"), object_in(event, "item")
        if kind == "item.completed" and text_in(item, "type") == "agent_message":
            text = text_in(item, "text")
        elif kind == "turn.completed":
            told = object_in(event, "usage")
            usage = Usage(
                input=count_in(told, "input_tokens"),
                output=count_in(told, "output_tokens"),
                cached=count_in(told, "cached_input_tokens"),
            )
        elif kind in ("turn.failed", "error"):
            message = text_in(object_in(event, "error"), "message") or text_in(event, "message")
            raise ModelError(f"the agent failed: {shorten(message, 200)}")
    return Reply(text=text, usage=usage)


def _ask_gemini(model: str, schema: bytes | None, folder: Path) -> list[str]:
    asked = ["-p", "Answer what stands above.", "--output-format", "json"]
    return asked + (["--model", model] if model else [])


def _read_gemini(output: bytes) -> Reply:
    answer = _object(output[max(output.find(b"{"), 0) :])
    models = object_in(object_in(answer, "stats"), "models")
    counts = [object_in(one, "tokens") for one in models.values() if isinstance(one, dict)]
    usage = Usage(
        input=sum(count_in(one, "prompt") for one in counts),
        output=sum(count_in(one, "candidates") + count_in(one, "thoughts") for one in counts),
        cached=sum(count_in(one, "cached") for one in counts),
    )
    text = answer["response"]
    return Reply(text=text if isinstance(text, str) else "", usage=usage, model=next(iter(models), ""))


def _object(data: bytes) -> JsonView:
    found = orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _events(data: bytes) -> Iterator[JsonView]:
    for line in data.splitlines():
        if line.startswith(b"{"):
            yield _object(line)


PROGRAMS: Mapping[str, Program] = {
    "claude": Program(levels=("native", "prompt"), arguments=_ask_claude, read=_read_claude),
    "codex": Program(levels=("native", "prompt"), arguments=_ask_codex, read=_read_codex),
    "gemini": Program(levels=("prompt",), arguments=_ask_gemini, read=_read_gemini),
}
