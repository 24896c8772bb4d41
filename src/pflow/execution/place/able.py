"""What a worker has that documents need, and whether one that lives can run a plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import NoWorkerError, RunError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.setting.place import Place
from pflow.engine.binding import recordable
from pflow.engine.credential import learn_inputs
from pflow.engine.plan import Plan
from pflow.execution.wiring import Wiring
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from pflow.adapters.postgres.roster import WorkerRow

_DIGEST_CHARACTERS = 16


class _Need(Frozen):
    """Something that a worker must have: a node type with this definition, a value for a secret input, a key, or a
    credential that the inputs or the document hold.
    """

    kind: str = ""
    definition: str = ""
    server: str = ""
    secret: str = ""
    credential: str = ""
    seal: str = ""
    place: str = ""

    def is_met(self, row: WorkerRow) -> bool:
        if self.seal:
            return row.seal == self.seal
        if self.credential:
            return self.credential in row.variables
        if self.secret:
            return self.secret in row.variables or self.secret.upper() in row.variables
        return row.kinds.get(self.kind) == self.definition

    def describe(self, rows: Iterable[WorkerRow]) -> str:
        """What is missing."""
        if self.seal:
            return "the key of this home, with which credentials in this run are sealed"
        if self.credential:
            return f"the credential `{self.credential}`, whose value the inputs or the document hold"
        if self.secret:
            return f"a value for the secret input `{self.secret}`"
        others = [row.name for row in rows if self.kind in row.kinds]
        as_here = f", as it is here (another one is at {', '.join(others)})" if others else ""
        return f"the node type `{self.kind}`{as_here}"

    def advise(self) -> str:
        """What to do about it."""
        if self.seal:
            return Advice(
                "give every machine of the place one key: store it as a credential, and name that with `{set_option}`",
                name=f"on.{self.place}.key",
                value="PLACE_KEY",
            )
        if self.credential:
            return Advice("store it where the workers are, with `{store_secret}`", name=self.credential)
        if self.secret:
            return Advice("store it where the workers are, with `{store_secret}`", name=self.secret.upper())
        if self.server:
            return Advice(
                "where the workers are, add the server `{server}` with `{add_server}`, or sync it with `{sync_server}`",
                server=self.server,
            )
        return f"install the node type `{self.kind}` where the workers are, as it is here"


def kinds_of(registry: Registry) -> dict[str, str]:
    """Every node type with the hash of its definition; what is built in has none, because the version says it."""
    return {name: _definition(registry.get(name)) for name in registry.names()}


def digest_kinds(kinds: Mapping[str, str]) -> str:
    """Stands for node types and their definitions; the same on every machine that has the same."""
    return hashlib.sha256(orjson.dumps(kinds, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_DIGEST_CHARACTERS]


def left_to_workers(plan: Plan, params: Mapping[str, object]) -> list[str]:
    """The secret inputs, which workers look up themselves. Raises `RunError` for one that is given here."""
    secret = [name for name, declared in plan.inputs.items() if declared.secret]
    given = [name for name in secret if name in params]
    if given:
        raise RunError(
            f"secret inputs do not leave this machine: {_list(given)}",
            suggestions=[
                Advice(
                    "store it where the workers are, with `{store_secret}`, and leave it out here", name=name.upper()
                )
                for name in given
            ],
        )
    return secret


def seal_of(wiring: Wiring) -> str:
    """Stands for the key with which credentials are sealed here, and does not give it away."""
    return wiring.derive_key("seal of a worker").hex()[:_DIGEST_CHARACTERS]


def _is_sealed(plan: Plan, inputs: Mapping[str, object]) -> bool:
    """Whether the document or the inputs hold credentials, which are recorded under seal."""
    found: list[str] = []
    learn_inputs(plan, inputs, lambda name, _: found.append(name))
    return bool(found or plan.credentials.literals)


def _named(wiring: Wiring, plan: Plan, inputs: Mapping[str, object]) -> list[str]:
    """The credentials of this home that the document or the inputs hold, which are recorded by name."""
    told = orjson.dumps([plan.raw, recordable(plan, inputs)], repr, orjson.OPT_NON_STR_KEYS).decode()
    stored = wiring.settings.secrets()
    return [name for name in wiring.redactor.names_in(told) if name in stored]


def check_able(wiring: Wiring, plan: Plan, inputs: Mapping[str, object] | None = None, queue: str = "") -> None:
    """Raise `NoWorkerError` if no worker lives that could run the plan with these inputs, with what is missing.

    Only workers of the queue count: the one that is named, else that of the place.
    """
    place = wiring.place
    if place is None:
        raise UsageError("say at which place, with `--on PLACE`")
    alive = [row for row in wiring.roster.read() if not row.is_gone]
    queue = queue or place.queue
    ours = [row for row in alive if row.queue == queue]
    listing = Advice("`{list_workers}` shows who works there", place=place.name)
    if not ours:
        elsewhere = sorted({row.queue for row in alive})
        others = f"; those that live take runs from {_list(elsewhere)}" if elsewhere else ""
        raise NoWorkerError(
            f"no worker of place `{place.name}` takes runs from queue `{shorten(queue)}`, so none was begun{others}",
            details={"place": place.name, "queue": queue, "queues": elsewhere},
            suggestions=[_start(place, queue), listing],
        )
    needs = list(_needs(wiring.registry, plan))
    needs += [_Need(credential=name) for name in _named(wiring, plan, inputs or {})]
    if _is_sealed(plan, inputs or {}):
        needs.append(_Need(seal=seal_of(wiring), place=place.name))
    if any(all(need.is_met(row) for need in needs) for row in ours):
        return
    missing = [need for need in needs if not any(need.is_met(row) for row in ours)]
    if not missing:  # each of them has a part
        missing = [need for need in needs if not all(need.is_met(row) for row in ours)]
    what = " and ".join(need.describe(ours) for need in missing)
    together = "" if len(missing) == 1 else ", all at once"
    raise NoWorkerError(
        f"no worker of place `{place.name}` has {what}{together}",
        details={
            "place": place.name,
            "queue": queue,
            "missing": [need.secret or need.credential or need.kind or "key" for need in missing],
            "workers": [row.name for row in ours],
        },
        suggestions=[*dict.fromkeys(need.advise() for need in missing), listing],
    )


def _start(place: Place, queue: str) -> Advice:
    if queue == place.queue:
        return Advice("start one with `{start_worker}`", place=place.name)
    return Advice("start one with `{start_worker_of}`", place=place.name, queue=quote(queue))


def _needs(registry: Registry, plan: Plan) -> Iterator[_Need]:
    for name, declared in plan.inputs.items():
        if declared.secret and declared.required and not declared.has_default:
            yield _Need(secret=name)
    for kind in dict.fromkeys(_kinds(plan)):
        if kind in registry:
            entry = registry.get(kind)
            server = entry.tool.server if entry.tool is not None else ""
            yield _Need(kind=kind, definition=_definition(entry), server=server)


def _kinds(plan: Plan) -> Iterator[str]:
    """The node types of a plan and of the workflows inside."""
    for node in plan.nodes:
        if node.child is not None:
            yield from _kinds(node.child)
        elif node.make is not None:
            yield node.type


def _definition(entry: Entry) -> str:
    if entry.tool is not None:
        return entry.manifest_hash
    return entry.node_hash if entry.is_user else ""


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
