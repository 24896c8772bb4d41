"""Reads test files as strictly as documents: every problem is an issue with its line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath

from pflow.core.document.fields import Fields, wrong_type
from pflow.core.document.issue import Issue
from pflow.core.document.json_text import load_json, scan_json
from pflow.core.document.plain_copy import copy_within
from pflow.core.document.position import Issues, Path, Places
from pflow.core.document.yaml_text import load_yaml
from pflow.core.errors import NotFoundError, StorageError
from pflow.core.expression.tree import Expression
from pflow.core.file.os_call import open_at_once, read_up_to
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.core.suite.match import check_matchers
from pflow.core.suite.suite import Case, Expected, ExpectedStep, Suite
from pflow.core.template.computed import One, compile_expression

MAX_BYTES = 8 << 20
"""Bytes of a test file; large values belong into cassettes."""

SUFFIXES = (".test.yaml", ".test.yml", ".test.json")
_TOP = dict.fromkeys(("workflow", "tests"))
_CASE = dict.fromkeys(("description", "inputs", "cassette", "stub", "real", "expect"))
_EXPECT = dict.fromkeys(("status", "outputs", "error", "steps", "reached", "edges", "calls", "that"))
_STEP = dict.fromkeys(("count", "outputs", "action", "error"))
_ERROR = dict.fromkeys(("type", "message", "action", "details", "suggestions"))
_STATUSES = ("completed", "failed")
_EDGE = re.compile(r"\s*(\S+)\s*(?:->|→)\s*(\S+)\s*")


class ReadSuite(Frozen):
    """A test file after reading: the tests, as far as they could be read, and what is wrong with it."""

    suite: Suite
    issues: tuple[Issue, ...]
    places: Places


def is_test_file(path: FilePath) -> bool:
    """Whether a file holds tests, by its name."""
    return path.name.endswith(SUFFIXES)


def read_suite(path: FilePath) -> ReadSuite:
    """The tests in a file. Raises `NotFoundError` and `StorageError` for one that cannot be read."""
    try:
        with open_at_once(path) as file:
            data = read_up_to(file, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no test file `{path}`", suggestions=["check the path"]) from None
    except OSError as error:
        raise StorageError(f"`{path}` cannot be read: {error.strerror}") from error
    if data is None:
        raise StorageError(
            f"`{path}` is larger than {MAX_BYTES >> 20} MiB", suggestions=["keep large values in cassettes"]
        )
    return parse_suite(data.decode(errors="replace"), is_json=path.suffix == ".json")


def parse_suite(text: str, *, is_json: bool = False) -> ReadSuite:
    """The tests in the text of a test file."""
    issues = Issues(Places(text, scan_json if is_json else None), what="test file")
    value = load_json(text, issues) if is_json else load_yaml(text, issues)
    value = None if issues.stopped else copy_within(value, issues, 2 * MAX_BYTES)
    issues.places.value = value
    if not isinstance(value, dict):
        if not issues.stopped:
            hint = "write `workflow: FILE` and `tests: {NAME: {…}}`"
            issues.add("wrong-type", "a test file must be an object", hint=hint)
        return ReadSuite(suite=Suite(), issues=issues.found(), places=issues.places)
    top = Fields(issues, value, (), _TOP, what="a test file", required=("tests",))
    tests = top.mapping("tests")
    if "tests" in value and not tests and not issues.found():
        issues.add("missing-field", "the file has no tests", ("tests",), hint="add one: `NAME: {expect: {…}}`")
    cases = [_Reader(issues, ("tests", name)).case(name, body) for name, body in tests.items()]
    suite = Suite(workflow=top.word("workflow"), cases=tuple(cases))
    return ReadSuite(suite=suite, issues=issues.found(), places=issues.places)


class _Reader:
    """Reads one test; `path` is where it stands."""

    def __init__(self, issues: Issues, path: Path) -> None:
        self._issues = issues
        self._path = path

    def case(self, name: str, body: object) -> Case:
        fields = self._fields(body, self._path, _CASE, "a test")
        if fields is None:
            return Case(name=name)
        expect = self._fields(fields.values.get("expect") or {}, (*self._path, "expect"), _EXPECT, "`expect`")
        return Case(
            name=name,
            description=fields.text("description"),
            inputs=fields.mapping("inputs"),
            cassette=fields.word("cassette"),
            stubs=self._stubs(fields.mapping("stub")),
            real=self._words(fields, "real", "the id of a node"),
            expected=Expected() if expect is None else self._expected(expect),
        )

    def _expected(self, fields: Fields) -> Expected:
        outputs = fields.mapping("outputs")
        self._matchers(outputs, (*fields.path, "outputs"))
        error = self._error(fields)
        return Expected(
            status=fields.choice("status", _STATUSES, "failed" if error else "completed"),
            outputs=outputs,
            error=error,
            steps={name: self._step(name, body, fields.path) for name, body in fields.mapping("steps").items()},
            reached=self._words(fields, "reached", "the id of a node"),
            edges=tuple(self._edges(fields)),
            calls=self._counts(fields),
            that=tuple(self._expressions(fields)),
        )

    def _step(self, name: str, body: object, path: Path) -> ExpectedStep:
        here = (*path, "steps", name)
        if isinstance(body, str):
            words = {"not reached": False, "reached": True}
            if body not in words:
                hint = did_you_mean(body, words)
                message = f"`{shorten(name)}` cannot be expected to be `{shorten(body)}`"
                self._issues.add("bad-choice", message, here, known=tuple(words), hint=hint)
            return ExpectedStep(reached=words.get(body, True))
        fields = self._fields(body, here, _STEP, "an expected step")
        if fields is None:
            return ExpectedStep()
        outputs = fields.mapping("outputs") if "outputs" in fields.values else None
        self._matchers(outputs, (*here, "outputs"))
        count = fields.integer("count", None, 0, 1_000_000)
        action = fields.text("action") or None
        return ExpectedStep(reached=count != 0, count=count, outputs=outputs, action=action, error=self._error(fields))

    def _error(self, fields: Fields) -> Mapping[str, object] | None:
        if fields.values.get("error") is None:
            return None
        path = (*fields.path, "error")
        self._fields(fields.values["error"], path, _ERROR, "an error")
        error = fields.mapping("error")
        self._matchers(error, path)
        return error

    def _stubs(self, stubs: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
        found: dict[str, Mapping[str, object]] = {}
        for name, body in stubs.items():
            path = (*self._path, "stub", name)
            if not isinstance(body, dict):
                wrong_type(self._issues, path, "the outputs of the step, or `{error: {…}}`", body)
                continue
            if set(body) == {"error"} and isinstance(body["error"], dict):
                self._fields(body["error"], (*path, "error"), _ERROR, "an error")
            found[name] = body
        return found

    def _edges(self, fields: Fields) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for index, word in enumerate(self._list(fields, "edges")):
            match = _EDGE.fullmatch(word) if isinstance(word, str) else None
            if match is None:
                self._issues.add(
                    "wrong-type",
                    f"`{shorten(str(word))}` is not an edge",
                    (*fields.path, "edges", index),
                    hint="write the ids of two nodes: `fetch -> parse`",
                )
            else:
                found.append((match[1], match[2]))
        return found

    def _counts(self, fields: Fields) -> dict[str, int]:
        counts = fields.mapping("calls")
        reader = Fields(self._issues, counts, (*fields.path, "calls"), dict.fromkeys(counts), what="`calls`")
        return {name: reader.integer(name, 0, 0, 1_000_000) for name in counts}

    def _expressions(self, fields: Fields) -> list[Expression]:
        found: list[Expression] = []
        for index, text in enumerate(self._list(fields, "that")):
            compiled, problems = compile_expression(text, "condition")
            for problem in problems:
                self._issues.add("expression", problem.message, (*fields.path, "that", index), hint=problem.hint)
            if isinstance(compiled, One):
                found.append(compiled.expression)
        return found

    def _words(self, fields: Fields, name: str, what: str) -> tuple[str, ...]:
        found: list[str] = []
        for index, word in enumerate(self._list(fields, name)):
            if isinstance(word, str):
                found.append(word)
            else:
                wrong_type(self._issues, (*fields.path, name, index), what, word)
        return tuple(found)

    def _list(self, fields: Fields, name: str) -> list[object]:
        value = fields.values.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            wrong_type(self._issues, (*fields.path, name), "a list", value)
            return []
        return value

    def _matchers(self, value: object, path: Path) -> None:
        for inner, message in check_matchers(value):
            self._issues.add("bad-value", message, (*path, *inner))

    def _fields(self, body: object, path: Path, known: Mapping[str, None], what: str) -> Fields | None:
        if not isinstance(body, dict):
            wrong_type(self._issues, path, f"{what}, written as an object", body)
            return None
        return Fields(self._issues, body, path, known, what=what)
