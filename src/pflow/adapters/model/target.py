"""Which model is meant: by its name in the settings, as `PROVIDER/MODEL`, an agent, or by default. Asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pflow.adapters.model.provider import Provider, agents, providers
from pflow.core.advice import Advice
from pflow.core.errors import ModelError, NoModelError, SecurityError, UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.rate import FORM, Rate, read_rate
from pflow.core.suggest import did_you_mean
from pflow.mcp.server.address import check_address, has_reference

AGENT_PREFIX = "agent:"
PACKAGE_PREFIX = "llm:"

Kind = Literal["wire", "agent", "package"]
Fields = Mapping[str, str | int | bool]


class Target(Frozen):
    """A model that can be asked. `key` is the name of the variable with the key, "" if there is none."""

    name: str
    model: str
    kind: Kind = "wire"
    provider: str = ""
    wire: str = ""
    base_url: str = ""
    key: str = ""
    strict: str = "auto"
    context: int = 0
    limit: Rate | None = None

    @property
    def shown(self) -> str:
        """The model as messages name it."""
        return f"`{shorten(self.name)}`"


class Choice(Frozen):
    """What the settings say about models, and which variables are set."""

    models: Mapping[str, Fields]
    default: str
    agents: str
    variables: Mapping[str, str]

    @property
    def allowed_agents(self) -> list[str]:
        """The installed agents that the person lets answer."""
        return [name for name in self.agents.replace(",", " ").split() if name]

    def find(self, model: str) -> Target:
        """The model that a step means, or the default one. Raises `NoModelError` if nobody could answer."""
        name = model or self.default
        if not name and len(self.models) == 1:
            [name] = self.models
        if not name:
            raise self._none("no language model is configured")
        if name in self.models:
            return self.check_key(self.configured(name))
        if name.startswith(AGENT_PREFIX):
            return self._agent(name)
        if name.startswith(PACKAGE_PREFIX):
            return Target(name=name, model=name.removeprefix(PACKAGE_PREFIX), kind="package")
        owner, slash, rest = name.partition("/")
        if slash and owner in providers():
            return self._of(providers()[owner], name, rest)
        with_key = self.with_key()
        if not slash and len(with_key) == 1:
            return self._of(with_key[0], f"{with_key[0].name}/{name}", name)
        near = did_you_mean(name, [*self.models, *(f"{one}/MODEL" for one in providers())])
        raise self._none(f"there is no language model `{show(name)}`", *([near] if near else []))

    def with_key(self) -> list[Provider]:
        """The providers whose key is set."""
        return [one for one in providers().values() if one.key and self.variables.get(one.key)]

    def configured(self, name: str) -> Target:
        """A model of the settings, which may still lack its key. Raises `NoModelError` if more is missing."""
        fields = self.models[name]
        provider = providers().get(str(fields.get("provider", "")))
        base_url = str(fields.get("base_url", "")) or (provider.base_url if provider else "")
        model = str(fields.get("model", ""))
        missing = [field for field, value in (("model", model), ("base_url", base_url)) if not value]
        if missing:
            raise NoModelError(
                f"the language model `{name}` is not configured whole: it has no {' and no '.join(missing)}",
                suggestions=[Advice("{add_model}", name=name)],
            )
        check_base_url(base_url)
        return Target(
            name=name,
            model=model,
            provider=provider.name if provider else "",
            wire=str(fields.get("wire", "")) or (provider.wire if provider else "chat"),
            base_url=base_url,
            key=str(fields.get("key", "")) or (provider.key if provider and "base_url" not in fields else ""),
            strict=str(fields.get("strict", "auto")),
            context=int(fields.get("context", 0)),
            limit=_limit(name, str(fields.get("limit", ""))),
        )

    def _of(self, provider: Provider, name: str, model: str) -> Target:
        if not model:
            raise self._none(f"`{show(name)}` names no model")
        return self.check_key(
            Target(
                name=name,
                model=model,
                provider=provider.name,
                wire=provider.wire,
                base_url=provider.base_url,
                key=provider.key,
            )
        )

    def _agent(self, name: str) -> Target:
        program, _, model = name.removeprefix(AGENT_PREFIX).partition("/")
        if program not in agents():
            known = ", ".join(f"`{AGENT_PREFIX}{one}`" for one in agents())
            raise self._none(f"`{show(program)}` is not an agent that pflow can ask", f"it can ask {known}")
        if program not in self.allowed_agents:
            allowed = " ".join([*self.allowed_agents, program])
            raise NoModelError(
                f"the settings do not allow the agent `{program}` to answer as a language model",
                suggestions=[
                    Advice("{set_option}", name="llm.agents", value=f"'{allowed}'" if " " in allowed else allowed)
                ],
            )
        return Target(name=name, model=model, kind="agent", provider=program)

    def check_key(self, target: Target) -> Target:
        """The same model. Raises `NoModelError` if it has a key that is not set."""
        if target.key and not self.variables.get(target.key):
            raise NoModelError(
                f"{target.shown} needs the key in `{target.key}`, which is not set",
                details={"key": target.key},
                suggestions=[Advice("`{set_setting}` stores it", name=target.key)],
            )
        return target

    def _none(self, message: str, *hints: str) -> NoModelError:
        """Nobody can answer: the ways out, and what is there already."""
        found = [one.key for one in self.with_key()]
        has = f"; {' and '.join(f'`{key}`' for key in found)} {'is' if len(found) == 1 else 'are'} set" if found else ""
        example = self.with_key()[0].name if found else "PROVIDER"
        return NoModelError(
            f"{message}{has}",
            suggestions=[
                *hints,
                Advice("`{add_model}` configures one, and `{list_models}` shows the providers", name="NAME"),
                f"or name the model in the step, `model: {example}/MODEL`"
                + ("" if found else ", with the provider's key in the environment"),
                "or run it from an agent over MCP, which then answers itself",
            ],
        )


def check_base_url(url: str) -> None:
    """Raise unless requests with a key may go to an address: it is encrypted, or on this machine."""
    try:
        check_address(url, insecure=False)
    except UsageError as error:
        raise UsageError("the base URL of a model has the form `https://host/path`", details=error.details) from None
    except SecurityError as error:
        advice = ["use `https://`; only addresses of this machine may go without"]
        raise SecurityError(error.message, suggestions=advice) from None
    if has_reference(url):
        raise UsageError("the base URL of a model cannot refer to variables")


def _limit(name: str, text: str) -> Rate | None:
    found = read_rate(text) if text else None
    if isinstance(found, str):
        raise ModelError(f"`llm.models.{name}.limit` {found}", suggestions=[f"write it like {FORM}"])
    return found
