"""`pflow llm …`: language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.completion import complete_model, complete_provider
from pflow.cli.console import Console
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.workspace.model.models import ModelTest, ModelView, Trial

_ANSWER_CHARACTERS = 100


@click.group(cls=CommandGroup)
def llm() -> None:
    """Configure language models, see who could answer, and try them."""


@llm.command("add")
@click.argument("name")
@click.option(
    "--provider", default="", shell_complete=complete_provider, help="Whose model it is; see `pflow llm list`."
)
@click.option("--model", required=True, help="The id that the provider gives the model.")
@click.option("--base-url", default="", help="Where requests go, if not to the provider's own address.")
@click.option(
    "--wire", default="", type=click.Choice(["", "chat", "responses", "messages"]), help="The protocol.", metavar="WIRE"
)
@click.option("--key", default="", metavar="NAME", help="The credential or environment variable that holds the key.")
@click.option("--overwrite", is_flag=True, help="Replace a model of that name.")
@with_console
def add_model(
    console: Console, name: str, provider: str, model: str, base_url: str, wire: str, key: str, overwrite: bool
) -> None:
    """Configure a model as NAME. The first one becomes the default."""
    added = console.workspace().models.add(
        name, provider=provider, model=model, base_url=base_url, wire=wire, key=key, overwrite=overwrite
    )
    said = f"{name} is {escape(added.model)} at {escape(added.base_url)}, over `{added.wire}`"
    console.reply(added.as_dict(), f"{said}; it is the default" if added.is_default else said)
    if added.problem:
        console.remark(f"note: {escape(added.problem)}")
        if added.key:
            console.remark(f"hint: `pflow settings set {added.key}` stores the key")
    else:
        console.remark(f"hint: `pflow llm test {name}` tries it")


@llm.command("remove")
@click.argument("name", shell_complete=complete_model)
@with_console
def remove_model(console: Console, name: str) -> None:
    """Forget the configured model NAME. Its key stays."""
    console.workspace().models.remove(name)
    console.reply({"name": name, "removed": True}, f"{escape(name)} is no longer configured")


@llm.command("list")
@with_console
def list_models(console: Console) -> None:
    """Configured models, providers, and installed agents that could answer."""
    found = console.workspace().models.list()
    lines = (
        columns([_model_row(one) for one in found.models], indent="") if found.models else ["no model is configured"]
    )
    rows = [
        (f"{one.name}/MODEL", one.wire, one.base_url, one.key and f"{one.key}{' (set)' if one.has_key else ''}")
        for one in found.providers
    ]
    agents = [
        (f"agent:{one.name}", "installed" if one.is_installed else "not installed", "allowed" if one.is_allowed else "")
        for one in found.agents
    ]
    shown = [*lines, "", "providers:", *columns(rows), "", "agents:", *columns(agents)]
    console.reply(found.as_dict(), "\n".join(shown))


@llm.command("test")
@click.argument("name", required=False, default="", shell_complete=complete_model)
@with_console
def test_model(console: Console, name: str) -> None:
    """Ask NAME, or the default model, one small question and one with a schema. It may cost a fraction of a cent."""
    report = console.workspace().models.test(name, report=lambda message: console.remark(f"  {escape(message)}"))
    console.reply({**report.as_dict(), "ok": report.ok}, "\n".join(_test_lines(report)))
    for hint in dict.fromkeys(hint for trial in report.trials for hint in trial.hints):
        console.remark(f"hint: {escape(hint)}")
    if not report.ok:
        raise click.exceptions.Exit(1)


def _model_row(one: ModelView) -> tuple[str, ...]:
    mark = " (default)" if one.is_default else ""
    return (f"{one.name}{mark}", escape(one.model), one.wire, escape(one.base_url), escape(one.problem))


def _test_lines(report: ModelTest) -> list[str]:
    about = f"{escape(report.name)}: {escape(report.model or 'its own model')} over `{report.wire}`"
    return [about, *columns([_trial_row(trial) for trial in report.trials]), *_notes(report)]


def _trial_row(trial: Trial) -> tuple[str, ...]:
    tokens = f"{trial.tokens.input} + {trial.tokens.output} tokens" if trial.tokens.input else ""
    cost = "cost unknown" if trial.cost is None else f"${trial.cost:.6f}"
    level = f"by `{trial.level}`" if trial.level else ""
    said = shorten(trial.answer, _ANSWER_CHARACTERS) if trial.ok else f"failed: {escape(trial.problem)}"
    return (trial.question, f"{trial.seconds:.1f} s", tokens, cost, level, said)


def _notes(report: ModelTest) -> list[str]:
    return [f"  note: {escape(note)}" for trial in report.trials for note in trial.notes]
