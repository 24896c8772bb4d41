"""The use cases of state: what workflows keep between runs, looked at, changed by hand, and carried along."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import Document, StateKey
from pflow.core.errors import ExistsError, NotFoundError, SecurityError, StepError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.json_type import describe, fits, with_article
from pflow.core.printable import shorten
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.token_shape import has_certain_token
from pflow.core.suggest import did_you_mean
from pflow.engine.binding import coerce_text
from pflow.engine.keeping.change import encode
from pflow.engine.keeping.reading import read_value
from pflow.engine.ports import Decide, StateStore, StateVersion
from pflow.execution.workflow_source import Source


class KeptScope(Frozen):
    """A workflow that keeps something, by the name under which it does: how many values, and when the last was set."""

    workflow: str
    values: int
    changed_at: float


class KeptValue(Frozen):
    """A value as it is now. One that `is_set` has a version; others have the default that the document declares.

    `type` is the declared one, "" for a value that no document declares.
    """

    workflow: str
    key: str
    value: object
    is_set: bool
    type: str = ""
    version: int = 0
    run_id: str = ""
    at: float | None = None


class KeptVersion(Frozen):
    """A value as it was: set, or unset, by a run or, where `run_id` is empty, by a person."""

    key: str
    version: int
    value: object
    is_set: bool
    run_id: str
    at: float


class KeptState:
    """What workflows keep. A workflow is named by its saved name, by a path, or by the scope that it keeps under."""

    def __init__(
        self, states: Callable[[], StateStore], find: Callable[[str], Source], redactor: Callable[[], Redactor]
    ) -> None:
        self._states = states
        self._find_source = find
        self._redactor = redactor

    def scopes(self) -> list[KeptScope]:
        """Every name under which something is kept."""
        states = self._states()
        found: dict[str, list[StateVersion]] = {name: [] for name in states.workflows()}
        for version in states.read(found):
            found[version.workflow].append(version)
        return [
            KeptScope(
                workflow=name,
                values=sum(one.data is not None for one in versions),
                changed_at=max(one.at for one in versions),
            )
            for name, versions in found.items()
        ]

    def values(self, workflow: str) -> list[KeptValue]:
        """What a workflow declares that it keeps, and what else is kept under its name."""
        scope, declared = self._find(workflow)
        known = {one.key: one for one in self._states().read([scope])}
        names = dict.fromkeys((*declared, *(key for key, one in known.items() if one.data is not None)))
        return [self._value(scope, name, declared.get(name), known.get(name)) for name in names]

    def get(self, workflow: str, key: str) -> KeptValue:
        """One value; raises `NotFoundError` for one that is neither declared nor kept."""
        found = {one.key: one for one in self.values(workflow)}
        if key not in found:
            raise _unknown(workflow, key, found)
        return found[key]

    def set(self, workflow: str, key: str, value: object, *, text: bool = False) -> KeptValue:
        """Give a value by hand; with `text` it is a word of a command line, read as the declared type."""
        scope, declared = self._find(workflow)
        if declared and key not in declared:
            raise _unknown(workflow, key, declared)
        kind = declared[key].type if key in declared else "any"
        if text:
            value = _read(str(value), kind, key)
        if not fits(value, kind):
            raise UsageError(f"`{key}` must be {with_article(kind)}, as `state` declares it, not {describe(value)}")
        try:
            data = encode(key, value, self._redactor())
        except StepError as error:
            raise UsageError(error.message, suggestions=error.suggestions) from None
        if has_certain_token(data.decode()):
            raise SecurityError(
                f"`{key}` holds what looks like a credential, and secrets are not kept between runs",
                suggestions=[
                    Advice(
                        "store it with `{store_secret}`, and take it as an input with `secret: true`", name=key.upper()
                    )
                ],
            )
        self._change(scope, key, lambda _: data)
        return self.get(workflow, key)

    def unset(self, workflow: str, key: str) -> None:
        """Let a value have its default again; its earlier versions stay."""
        scope, declared = self._find(workflow)
        known = {one.key: one for one in self._states().read([scope])}
        if key not in known and key not in declared:
            raise _unknown(workflow, key, {**declared, **known})
        self._change(scope, key, lambda _: None)

    def forget(self, workflow: str) -> bool:
        """Delete all that a workflow has kept, earlier versions included; whether there was something."""
        scope, _ = self._find(workflow)
        return self._states().forget(scope)

    def history(self, workflow: str, key: str | None = None) -> list[KeptVersion]:
        """The versions that are kept of one value, or of all, newest first."""
        scope, declared = self._find(workflow)
        versions = self._states().history(scope, key)
        if key is not None and not versions and key not in declared:
            raise _unknown(workflow, key, {**declared, **{one.key: one for one in self._states().history(scope)}})
        return [
            KeptVersion(
                key=one.key,
                version=one.version,
                value=self._shown(one),
                is_set=one.data is not None,
                run_id=one.run_id,
                at=one.at,
            )
            for one in versions
        ]

    def is_kept(self, name: str) -> bool:
        """Whether something is kept under a name."""
        return name in self._states().workflows()

    @contextmanager
    def carried(self, name: str, new_name: str) -> Iterator[None]:
        """Carry the state of a workflow along that gets another name meanwhile. What a `scope` names stays there."""
        document = self._document(name)
        if (document is not None and document.state_scope) or not self.is_kept(name):
            yield
            return
        try:
            self._states().rename(name, new_name)
        except ExistsError as error:
            advice = Advice("`{forget_state}` deletes it; then rename the workflow", workflow=new_name)
            raise ExistsError(error.message, suggestions=[advice]) from None
        try:
            yield
        except BaseException:  # undone, and raised again
            self._states().rename(new_name, name)
            raise

    def _change(self, scope: str, key: str, decide: Decide) -> None:
        self._states().change({(scope, key): decide}, run_id="", at=time.time())

    def _value(self, scope: str, name: str, key: StateKey | None, version: StateVersion | None) -> KeptValue:
        kind = key.type if key is not None else ""
        if version is None or version.data is None:
            default = key.default if key is not None else None
            return KeptValue(workflow=scope, key=name, value=default, is_set=False, type=kind)
        return KeptValue(
            workflow=scope,
            key=name,
            value=self._shown(version),
            is_set=True,
            type=kind,
            version=version.version,
            run_id=version.run_id,
            at=version.at,
        )

    def _shown(self, version: StateVersion) -> object:
        """A value without what has become a secret since it was set."""
        return self._redactor().value(read_value(version))

    def _find(self, workflow: str) -> tuple[str, Mapping[str, StateKey]]:
        """The scope that a word means, and what its document declares, if there is one."""
        try:
            source = self._find_source(workflow)
        except NotFoundError as error:
            if self.is_kept(workflow):
                return workflow, {}
            near = did_you_mean(workflow, self._states().workflows())
            error.suggestions = (near, *error.suggestions) if near else error.suggestions
            raise
        document = source.parsed.document
        if document is None:
            return source.library or source.draft or workflow, {}
        name = source.library or source.draft or (source.shown if source.project else document.name)
        scope = document.state_scope or name
        if not scope:
            raise UsageError(
                f"`{shorten(workflow)}` keeps nothing: nothing says under which name",
                suggestions=["give the document a `name`, or its `state` a `scope`; or save it"],
            )
        return scope, document.state

    def _document(self, name: str) -> Document | None:
        try:
            return self._find_source(name).parsed.document
        except NotFoundError:
            return None


def _read(word: str, kind: str, key: str) -> object:
    """A word as a value of a type; without one, as the JSON that it is, or else as text."""
    if kind != "any":
        return coerce_text(word, kind, key)
    try:
        value: object = orjson.loads(word)
    except ValueError:
        return word
    return value


def _unknown(workflow: str, key: str, known: Mapping[str, object]) -> NotFoundError:
    hint = did_you_mean(key, known) if known else "its document declares no `state`"
    return NotFoundError(
        f"`{shorten(workflow)}` keeps no `{shorten(key)}`",
        details={"available": list(known)} if known else {},
        suggestions=[hint] if hint else [],
    )
