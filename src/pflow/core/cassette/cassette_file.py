"""Cassettes as text: a header, then a line for each call; large values are files in a folder beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from pflow.core.cassette.cassette import FORMAT, Cassette, Recorded
from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.author_file import write_file
from pflow.core.setting.token_shape import has_token

_LARGE_BYTES = 64 << 10
_DIGEST_CHARACTERS = 40
_OWN = ("key", "n")
"""Fields of a line that are not those of a call: what identifies it, and which of several it is."""
_HEADER: Mapping[str, type[str] | type[dict[str, object]]] = {
    **dict.fromkeys(("workflow", "at", "pflow", "run_id", "date"), str),
    **dict.fromkeys(("inputs", "tools", "definitions", "state"), dict),
}
"""The fields of the header, and what each holds."""


def values_folder(path: Path) -> Path:
    """Where the large values of a cassette are."""
    return path.with_name(path.name.removesuffix(".jsonl"))


def write_cassette(path: Path, cassette: Cassette, names_in: Callable[[str], tuple[str, ...]]) -> bool:
    """Write a cassette, all or nothing; whether the file changed. Raises `SecurityError` if it would hold a secret.

    `names_in` finds those that are known. A file that holds the same from another time stays as it is.
    """
    header = {"cassette": FORMAT, **{name: getattr(cassette, name) for name in _HEADER if getattr(cassette, name)}}
    values: dict[str, bytes] = {}
    numbers: dict[str, int] = {}
    lines = [_written(header), *(_line(call, values, numbers) for call in cassette.calls)]
    lines += [_written({"step": step, "gave": gave}) for step, gave in cassette.gave.items()]
    for data in (*lines, *values.values()):
        _check_secrets(data.decode(), names_in)
    for text in _texts([header, *(call._asdict() for call in cassette.calls)]):  # before JSON escapes what is in them
        if "\\" in text or '"' in text or "\n" in text:
            _check_secrets(text, names_in)
    if _holds(path, cassette):
        return False
    for digest, data in values.items():
        write_file(values_folder(path) / f"{digest}.json", data)
    write_file(path, b"\n".join(lines) + b"\n")
    _remove_values(path, values)
    return True


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, keys of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _holds(path: Path, cassette: Cassette) -> bool:
    try:
        return path.exists() and read_cassette(path).is_like(cassette)
    except UsageError:
        return False


def _remove_values(path: Path, kept: Mapping[str, bytes]) -> None:
    """Delete the large values of a former recording."""
    for file in values_folder(path).glob("*.json"):
        if file.stem not in kept and len(file.stem) == _DIGEST_CHARACTERS:
            file.unlink(missing_ok=True)
    with suppress(OSError):
        values_folder(path).rmdir()  # only if it is empty


def read_cassette(path: Path) -> Cassette:
    """A cassette from its file. Raises `UsageError` for one that is damaged, or of another version."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(
            f"the cassette `{path}` cannot be read: {error.strerror}",
            suggestions=["record the run again"],
        ) from None
    header = _parse(path, 1, lines[0] if lines else b"")
    if header.get("cassette") != FORMAT:
        raise UsageError(
            f"`{path}` is a cassette of version `{header.get('cassette')}`; this release reads version {FORMAT}",
            suggestions=["record it again"],
        )
    for name, kind in _HEADER.items():
        if not isinstance(header.get(name, kind()), kind):
            raise UsageError(
                f"the header of `{path}` has a `{name}` that is not {'text' if kind is str else 'an object'}",
                suggestions=["record it again"],
            )
    calls: list[Recorded] = []
    gave: dict[str, Mapping[str, str]] = {}
    seen: dict[tuple[str, object], int] = {}
    for number, line in enumerate(lines[1:], 2):
        data = _parse(path, number, line)
        if set(data) == {"step", "gave"} and isinstance(data["gave"], dict):
            gave[str(data["step"])] = data["gave"]
            continue
        try:
            fields: dict[str, Any] = {name: _whole(path, value) for name, value in data.items() if name not in _OWN}
            call = Recorded(**fields)
        except TypeError:
            raise _no_call(path, number) from None
        if not _is_sound(call):
            raise _no_call(path, number)
        if data.get("key") != call.key:
            raise UsageError(
                f"line {number} of `{path}` was changed: its key is not that of its params",
                suggestions=["record it again, or delete the `key` of the line and let `stub` answer the step"],
            )
        place = (call.key, data.get("n", 1))
        if place in seen:
            raise UsageError(
                f"line {number} of `{path}` repeats the call of line {seen[place]}",
                suggestions=["delete one of the two lines, or record it again"],
            )
        seen[place] = number
        calls.append(call)
    return Cassette(calls=tuple(calls), gave=gave, **{name: header.get(name, kind()) for name, kind in _HEADER.items()})


def _no_call(path: Path, number: int) -> UsageError:
    return UsageError(f"line {number} of `{path}` is not a recorded call", suggestions=["record it again"])


def _is_sound(call: Recorded) -> bool:
    """Whether the fields of a call are what they should be: the file may have been edited."""
    texts, objects = (call.step, call.type, call.action), (call.params, call.reads)
    given = call.outputs if call.error is None else call.error
    return (
        all(isinstance(one, str) for one in texts)
        and all(isinstance(one, Mapping) for one in objects)
        and isinstance(given, Mapping)
        and isinstance(call.ms, int | float)
    )


def _line(call: Recorded, values: dict[str, bytes], numbers: dict[str, int]) -> bytes:
    kept = {name: value for name, value in call._asdict().items() if value not in (None, {}, 0.0) or name == "params"}
    if call.outputs is not None:
        kept["outputs"] = dict(call.outputs)
    if call.action == "default":
        kept.pop("action")
    small = {name: _apart(value, values) for name, value in kept.items()}
    number = numbers[call.key] = numbers.get(call.key, 0) + 1
    return _written({"key": call.key, **({"n": number} if number > 1 else {}), **small})


def _written(line: Mapping[str, object]) -> bytes:
    """A line, its fields sorted; what is in them keeps its order, for texts may be made of it."""
    return orjson.dumps(dict(sorted(line.items())))


def _apart(value: object, values: dict[str, bytes]) -> object:
    """A value of a line; the large parts of an object stand in files of their own."""
    if isinstance(value, Mapping):
        return {name: _reference(part, values) for name, part in value.items()}
    return value


def _reference(part: object, values: dict[str, bytes]) -> object:
    data = orjson.dumps(part)
    if len(data) <= _LARGE_BYTES:
        return part
    digest = sha256(data).hexdigest()[:_DIGEST_CHARACTERS]
    values[digest] = data
    return {"$value": digest}


def _whole(path: Path, value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: _load(path, part) for name, part in value.items()}


def _load(path: Path, part: object) -> object:
    if not (isinstance(part, dict) and set(part) == {"$value"}):
        return part
    file = values_folder(path) / f"{part['$value']}.json"
    try:
        data = file.read_bytes()
    except OSError:
        data = b""
    if sha256(data).hexdigest()[:_DIGEST_CHARACTERS] != part["$value"]:
        raise UsageError(
            f"the value `{file}` of the cassette is missing or was changed",
            suggestions=["keep the folder of a cassette beside it, or record it again"],
        )
    loaded: object = orjson.loads(data)
    return loaded


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"line {number} of `{path}` is not a JSON object", suggestions=["record the cassette again"])
    return found


def _check_secrets(text: str, names_in: Callable[[str], tuple[str, ...]]) -> None:
    names = names_in(text)
    step = 2048
    if names or any(has_token(text[at : at + 2 * step]) for at in range(0, len(text), step)):
        what = f"the value of `{names[0]}`" if names else "what looks like a credential"
        raise SecurityError(
            f"the cassette would hold {what}, so that it was not written",
            suggestions=["declare the value as a secret input, or let `stub` answer the step that gives it"],
        )
