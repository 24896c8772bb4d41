"""The use cases of language models: configured by a person, listed with who else could answer, and tried."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import ExistsError, ModelError, NoModelError, NotFoundError, PflowError, UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.setting.option import is_member_name
from pflow.core.setting.settings import Settings, is_credential
from pflow.core.suggest import did_you_mean
from pflow.engine.model.llm import NO_USAGE, Prompt, Report, Usage
from pflow.execution.model.configured import model_choice
from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.adapters.model.message import Level
    from pflow.adapters.model.target import Target

_FAMILY = "llm.models"
_MOST_TOKENS = 64
_SCHEMA = {
    "type": "object",
    "properties": {"color": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["color"],
    "additionalProperties": False,
}


class ModelView(Frozen):
    """A configured model, with what its provider brings. `problem` says why it cannot answer, "" if it can."""

    name: str
    model: str
    provider: str = ""
    wire: str = ""
    base_url: str = ""
    key: str = ""
    strict: str = "auto"
    is_default: bool = False
    problem: str = ""


class ProviderView(Frozen):
    """A provider that pflow knows. `has_key` says whether its key is set; one of this machine needs none."""

    name: str
    wire: str
    base_url: str
    key: str = ""
    has_key: bool = False


class AgentView(Frozen):
    """An agent that could answer."""

    name: str
    is_installed: bool
    is_allowed: bool


class ModelList(Frozen):
    """Who could answer. `default` is what `llm.default` names."""

    models: tuple[ModelView, ...]
    providers: tuple[ProviderView, ...]
    agents: tuple[AgentView, ...]
    default: str = ""


class Trial(Frozen):
    """One question to a model, and how it went. `level` is how its answer was made to fit a schema."""

    question: str
    ok: bool
    seconds: float
    cost: float | None
    answer: str = ""
    level: Level | None = None
    tokens: Usage = NO_USAGE
    notes: tuple[str, ...] = ()
    problem: str = ""
    action: str = ""
    hints: tuple[str, ...] = ()


class ModelTest(Frozen):
    """What came of trying a model."""

    name: str
    model: str
    provider: str
    wire: str
    trials: tuple[Trial, ...]

    @property
    def ok(self) -> bool:
        """Whether it answered everything."""
        return all(trial.ok for trial in self.trials)


class ModelBook:
    """The language models of a home. Keys are named and never shown."""

    def __init__(self, wiring: Wiring, notices: list[str]) -> None:
        self._wiring = wiring
        self._notices = notices

    def add(
        self,
        name: str,
        *,
        provider: str = "",
        model: str,
        base_url: str = "",
        wire: str = "",
        key: str = "",
        overwrite: bool = False,
    ) -> ModelView:
        """Configure a model; the first one becomes the default."""
        # lazy: only what asks a model needs these
        from pflow.adapters.model.provider import providers
        from pflow.adapters.model.target import check_base_url

        if not is_member_name(name):
            raise UsageError(
                f"`{show(name)}` cannot name a model",
                suggestions=["use small letters, digits, `_` and `-`, beginning with a letter or digit"],
            )
        if provider and provider not in providers():
            known = ", ".join(f"`{one}`" for one in providers())
            raise NotFoundError(
                f"there is no provider `{show(provider)}`",
                suggestions=[
                    did_you_mean(provider, providers()) or f"providers: {known}",
                    "any other one can be used with `--base-url`",
                ],
            )
        if not provider and not base_url:
            raise UsageError(
                "a model needs a provider or a base URL", suggestions=["give `--provider` or `--base-url`"]
            )
        if base_url:
            check_base_url(base_url)
        if key and not is_credential(key):
            raise UsageError(
                "the key is given by the name of the credential or variable that holds it, such as `OPENAI_API_KEY`",
                suggestions=[Advice("`{set_setting}` stores a key under a name, without showing it", name="NAME")],
            )
        settings = Settings(self._wiring.home)
        known_models = settings.family(_FAMILY)
        if name in known_models and not overwrite:
            raise ExistsError(f"there is a model `{name}` already", suggestions=["add `--overwrite` to replace it"])
        fields = {"provider": provider, "model": model, "base_url": base_url, "wire": wire, "key": key}
        for field in known_models.get(name, {}):
            settings.unset(f"{_FAMILY}.{name}.{field}")
        for field, value in fields.items():
            if value:
                settings.set(f"{_FAMILY}.{name}.{field}", value)
        if not known_models and not settings.option("llm.default"):
            settings.set("llm.default", name)
        self._notices += settings.notices
        return self._view(name)

    def remove(self, name: str) -> None:
        """Forget a configured model; its key stays where it is."""
        settings = Settings(self._wiring.home)
        fields = settings.family(_FAMILY).get(name)
        if fields is None:
            raise self._unknown(name)
        for field in fields:
            settings.unset(f"{_FAMILY}.{name}.{field}")
        if settings.option("llm.default") == name:
            settings.unset("llm.default")

    def list(self) -> ModelList:
        """Every configured model, every provider, and every agent. Nobody is asked anything."""
        # lazy: only what asks a model needs these
        from pflow.adapters.model.agent import is_installed
        from pflow.adapters.model.provider import agents, providers

        choice = model_choice(self._wiring)
        return ModelList(
            models=tuple(map(self._view, choice.models)),
            providers=tuple(
                ProviderView(
                    name=one.name,
                    wire=one.wire,
                    base_url=one.base_url,
                    key=one.key,
                    has_key=bool(choice.variables.get(one.key)),
                )
                for one in providers().values()
            ),
            agents=tuple(
                AgentView(name=name, is_installed=is_installed(name), is_allowed=name in choice.allowed_agents)
                for name in agents()
            ),
            default=choice.default,
        )

    def test(self, name: str = "", *, report: Report = lambda message: None) -> ModelTest:
        """Ask a model one small question, and one whose answer has a schema. What was learned about it is forgotten.

        Raises `NoModelError` if nobody is configured.
        """
        target = model_choice(self._wiring).find(name)
        plain = Prompt(text="Say hello, in one short sentence.", model=name, max_tokens=_MOST_TOKENS)
        formed = Prompt(
            text="Which color has the sky on a sunny day?", model=name, schema=_SCHEMA, max_tokens=_MOST_TOKENS
        )
        return asyncio.run(self._try(target, {"text": plain, "schema": formed}, report))

    async def _try(self, target: Target, prompts: dict[str, Prompt], report: Report) -> ModelTest:
        trials: list[Trial] = []
        for question, prompt in prompts.items():
            trials.append(await self._ask(question, prompt, report))
            if not trials[-1].ok:
                break  # it would only fail again
        return ModelTest(
            name=target.name,
            model=target.model,
            provider=target.provider,
            wire=target.wire or target.kind,
            trials=tuple(trials),
        )

    async def _ask(self, question: str, prompt: Prompt, report: Report) -> Trial:
        begun = time.monotonic()
        try:
            told = await self._wiring.models.tell(prompt, report, anew=True)
        except ModelError as error:
            is_cut = error.action == "cut" and prompt.schema is None
            return Trial(
                question=question,
                ok=is_cut,  # it does answer; a long greeting is no failure
                seconds=_since(begun),
                answer=str(error.details.get("answer", "")),
                tokens=Usage(output=error.tokens) if error.tokens else NO_USAGE,
                cost=error.cost,
                problem="" if is_cut else error.message,
                action=error.action,
                hints=() if is_cut else tuple(map(str, error.suggestions)),
            )
        answer = told.completion
        return Trial(
            question=question,
            ok=True,
            seconds=_since(begun),
            answer=answer.text,
            level=told.level,
            tokens=answer.usage,
            cost=answer.cost,
            notes=answer.notes,
        )

    def _view(self, name: str) -> ModelView:
        choice = model_choice(self._wiring)
        try:
            target = choice.configured(name)
        except PflowError as error:
            fields = choice.models[name]
            given = {field: str(fields.get(field, "")) for field in ("model", "provider", "wire", "base_url", "key")}
            return ModelView(name=name, is_default=choice.default == name, problem=error.message, **given)
        try:
            choice.check_key(target)
            problem = ""
        except NoModelError as error:
            problem = error.message
        return ModelView(
            name=name,
            model=target.model,
            provider=target.provider,
            wire=target.wire,
            base_url=target.base_url,
            key=target.key,
            strict=target.strict,
            is_default=choice.default == name,
            problem=problem,
        )

    def _unknown(self, name: str) -> NotFoundError:
        known = model_choice(self._wiring).models
        hint = did_you_mean(name, known) or Advice("`{list_models}` shows what is configured")
        return NotFoundError(f"there is no configured model `{show(name)}`", suggestions=[hint])


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 2)
