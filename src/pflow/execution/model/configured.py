"""The language models of a home: what its settings and the environment name, and whoever asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow.adapters.model.memory import LevelMemory
from pflow.adapters.model.models import Models
from pflow.adapters.model.target import Choice
from pflow.core.setting.settings import Settings

if TYPE_CHECKING:
    from pflow.execution.wiring import Wiring


def open_models(wiring: Wiring) -> Models:
    """Whoever asks the models. Nothing is connected to before a prompt."""
    return Models(
        lambda: model_choice(wiring),
        LevelMemory(wiring.home),
        limits=wiring.limits,
        hide=lambda text: str(wiring.redactor.text(text)),
        learn=lambda name, key: wiring.redactor.add(name, key),
    )


def model_choice(wiring: Wiring) -> Choice:
    """What the settings and the environment say now: a model can be configured while a process lives on."""
    settings = Settings.load(wiring.home, environ=wiring.environ)
    return Choice(
        models=settings.family("llm.models"),
        default=str(settings.option("llm.default")),
        agents=str(settings.option("llm.agents")),
        variables=settings.variables(),
    )
