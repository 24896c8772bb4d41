"""The providers of language models and the installed agents, read from the one file that names them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pflow.core.frozen import Frozen

WIRES = ("chat", "responses", "messages")


class Provider(Frozen):
    """Who serves models. `key` is the variable that holds the key; "" for one that runs on this machine."""

    name: str
    wire: str
    base_url: str
    key: str = ""


@cache
def _content() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    import tomllib  # lazy: only what asks a model needs it

    return tomllib.loads(Path(__file__).with_name("providers.toml").read_text("utf-8"))


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider by its name."""
    rows = {name: {field: str(value) for field, value in row.items()} for name, row in _content()["providers"].items()}
    return {name: Provider(name=name, **row) for name, row in rows.items()}


@cache
def agents() -> Mapping[str, tuple[str, ...]]:
    """The variables that each installed agent is given, by the agent's name, which is also its command."""
    found: dict[str, tuple[str, ...]] = {}
    for name, row in _content()["agents"].items():
        variables = row["variables"]
        assert isinstance(variables, list)
        found[name] = tuple(map(str, variables))
    return found
