"""Takes secrets out of a session before anything else looks at it: by name, by shape, by how random they are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pflow.core.session.call import Call, Session
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.secret_name import is_secret_name
from pflow.core.setting.token_shape import tokens_in
from pflow.planning.learning.leaf import leaves

_SHORTEST = 8
_RANDOM_CHARACTERS = 24
_RANDOM_BITS = 3.8
"""Bits a character: prose and paths stay below 3.6, random letters and digits are above 4."""

_GIVEN = re.compile(
    r"""(?ix) (?:\b(?:bearer|basic)\s+
    | (?<![\w])[\w-]*(?:token|secret|password|passwd|api[_-]?key|credential)[\w-]*["']?\s*[=:\s]\s*["']?)
    ([^\s"'&;|<>]{8,})"""
)
_RANDOM = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+_=-]{24,}(?![\w+/=.-])")
_REFERENCE = re.compile(r"\$|^<|^\{|^\*+$|^«")
"""A variable, a placeholder, or what is hidden already."""


def hide_secrets(session: Session, redact: Callable[[object], object]) -> Session:
    """A session with `«secret:NAME»` in place of secrets; `redact` knows those that are stored here."""
    known = Redactor()
    for name, value in _secrets_in(session):
        known.add(name, value)

    def hide(value: Any) -> Any:
        return _without_forms(redact(known.value(value)))

    calls = [
        call._replace(arguments=hide(dict(call.arguments)), result=hide(call.result), said=hide(call.said))
        for call in session.calls
    ]
    prompts = tuple(prompt._replace(text=hide(prompt.text)) for prompt in session.prompts)
    return session._replace(calls=tuple(calls), prompts=prompts, answer=hide(session.answer))


def _secrets_in(session: Session) -> Iterator[tuple[str, str]]:
    for call in session.calls:
        yield from _in_arguments(call)
        for path, value in leaves(call.result):
            if isinstance(value, str):
                yield from (("secret", token) for token in tokens_in(value))
                name = str(next((key for key in reversed(path) if isinstance(key, str)), ""))
                if is_secret_name(name) and _is_random(value):
                    yield _named(name), value
    texts = [session.answer, *(prompt.text for prompt in session.prompts), *(call.said for call in session.calls)]
    for text in texts:
        yield from _in_text(text)


def _in_arguments(call: Call) -> Iterator[tuple[str, str]]:
    for path, value in leaves(call.arguments):
        if not isinstance(value, str):
            continue
        name = str(next((key for key in reversed(path) if isinstance(key, str)), ""))
        if is_secret_name(name) and len(value) >= _SHORTEST and not _REFERENCE.search(value) and " " not in value:
            yield _named(name), value
        yield from _in_text(value)
        yield from (("secret", found[0]) for found in _RANDOM.finditer(value) if _is_random(found[0]))


def _in_text(text: str) -> Iterator[tuple[str, str]]:
    yield from (("secret", token) for token in tokens_in(text))
    for found in _GIVEN.finditer(text):
        if not _REFERENCE.search(found[1]) and (any(char.isdigit() for char in found[1]) or _is_random(found[1])):
            yield "secret", found[1]


def _named(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "secret"


def _is_random(text: str) -> bool:
    """Whether text is as random as keys are: letters of both cases and digits, not the hex of hashes and ids."""
    if len(text) < _RANDOM_CHARACTERS or re.fullmatch(r"[0-9a-fA-F-]+", text):
        return False
    kinds = (any(map(str.islower, text)), any(map(str.isupper, text)), any(map(str.isdigit, text)))
    counts = Counter(text)
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
    return all(kinds) and bits >= _RANDOM_BITS


_FORM = re.compile(r"«secret:([^:»@#]+)[^»]*»")


def _without_forms(value: object) -> object:
    """Every mark by the name of its secret alone, whatever form of it stood there."""
    if isinstance(value, str):
        return _FORM.sub(lambda found: f"«secret:{found[1]}»", value)
    if isinstance(value, Mapping):
        return {key: _without_forms(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_forms(part) for part in value]
    return value
