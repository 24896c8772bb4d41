"""A bridge to the Python package `llm`, where it is installed: its models, under `llm:NAME`, with its own keys."""

from __future__ import annotations

import asyncio
from importlib import import_module
from types import ModuleType

from pflow.adapters.model.message import Level, Question, Reply
from pflow.adapters.model.target import Target
from pflow.core.errors import ModelError, NoModelError
from pflow.core.printable import shorten
from pflow.engine.model.llm import Report, Usage


class Package:
    """Talks to one model of the package; see `Talker`."""

    levels: tuple[Level, ...] = ("native", "prompt")

    def __init__(self, target: Target) -> None:
        self.name = target.shown
        self.place = "llm"
        try:
            self._llm: ModuleType = import_module("llm")
        except ImportError as error:
            raise NoModelError(
                f"{self.name} needs the Python package `llm`, which is not installed",
                suggestions=["install it into the environment of pflow, with the plugin for the model"],
            ) from error

    async def say(self, question: Question, report: Report) -> Reply:
        """The answer to one question. The package blocks, so that it works in a thread."""
        report(f"{self.name} answers")
        return await asyncio.to_thread(self._ask, question)

    def _ask(self, question: Question) -> Reply:
        llm = self._llm
        options = dict(question.options)
        if question.temperature is not None:
            options["temperature"] = question.temperature
        if question.max_tokens is not None:
            options["max_tokens"] = question.max_tokens
        images = [image for turn in question.turns for image in turn.images]
        try:
            model = llm.get_model(question.model)
            response = model.prompt(
                "\n\n".join(turn.text for turn in question.turns),
                system=question.system or None,
                schema=question.schema if question.level == "native" else None,
                attachments=[llm.Attachment(type=image.media_type, content=image.data) for image in images],
                stream=False,
                **options,
            )
            text, usage = str(response.text()), response.usage()
        except llm.UnknownModelError as error:
            raise NoModelError(f"the package `llm` knows no model `{shorten(question.model)}`") from error
        except llm.ModelError as error:
            raise ModelError(f"{self.name} failed: {shorten(str(error), 200)}") from error
        return Reply(text=text, usage=Usage(input=usage.input or 0, output=usage.output or 0))
