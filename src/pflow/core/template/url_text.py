"""Templates in a URL: each value is encoded for the part it stands in, and can never reach another part.

A template at the very start is the base and goes in as it is. Elsewhere a value adds no parameter, no fragment,
no path segment that climbs, and no host unless the author left it open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from pflow.core.errors import StepError
from pflow.core.printable import shorten
from pflow.core.template.compiled import Compiled, Lookup, Parts, Problem, Reference, Refused, bounded

Region = Literal["host", "path", "query", "fragment"]

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_BASE = re.compile(r"https?://[^\x00-\x20\x7f]+\Z", re.IGNORECASE)
_END: dict[Region, re.Pattern[str]] = {
    "host": re.compile(r"[/?#\\]"),
    "path": re.compile(r"[?#]"),
    "query": re.compile(r"#"),
}
_AFTER: dict[str, Region] = {"/": "path", "\\": "path", "?": "query", "#": "fragment"}

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_IPV6 = r"\[[0-9A-Fa-f:.]+\]"
_PORT = r"(?::[0-9]{1,5})?\Z"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|{_IPV6}){_PORT}")
_HOST_PART = re.compile(rf"(?:[A-Za-z0-9_.-]+|{_IPV6}){_PORT}")


class _Url(Parts):
    __slots__ = ()

    def render(self, lookup: Lookup) -> object:
        writer = _Writer()
        for index, (part, text) in enumerate(zip(self._parts, bounded(self._parts, lookup), strict=True)):
            if isinstance(part, str):
                writer.write(part)
            elif index == 0:
                writer.write_base(part, text)
            else:
                after = self._parts[index + 1] if index + 1 < len(self._parts) else "/"
                ends_host = not isinstance(after, str) or after[0] in _AFTER
                writer.fill(part, text, ends_host=ends_host)
        return writer.finish()


def compile_url(parts: Sequence[str | Reference]) -> tuple[Compiled, list[Problem]]:
    """A URL with its templates encoded for where they stand; it renders to text."""
    parts = _joined(parts)
    references = [part for part in parts if isinstance(part, Reference)]
    if not references:
        return Compiled("".join(part for part in parts if isinstance(part, str))), []
    problems = _scheme_problems(parts, references[0]) or _user_problems(parts)
    return (Refused(references, problems[0]) if problems else _Url(parts)), problems


def _joined(parts: Sequence[str | Reference]) -> list[str | Reference]:
    """The parts with neighbouring strings joined, and without blanks at the start."""
    joined: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif not isinstance(part, str) or (part := part if joined else part.lstrip()):
            joined.append(part)
    return joined


def _scheme_problems(parts: Sequence[str | Reference], first: Reference) -> list[Problem]:
    shown = shorten(first.text)
    head = parts[0]
    if isinstance(head, str):
        if _SCHEME.match(head):
            return []
        if "://" in head:
            return [Problem(f"`{shorten(head)}` is not a web address", "begin it with `https://`", (), first.offset)]
    elif len(parts) == 1 or not (isinstance(parts[1], str) and parts[1].startswith("://")):
        return []
    return [
        Problem(
            f"`{shown}` stands in the scheme of the address",
            "begin it with `https://`, or with one template that holds the whole address up to the path",
            (),
            first.offset,
        )
    ]


def _user_problems(parts: Sequence[str | Reference]) -> list[Problem]:
    if not isinstance(parts[0], str):
        return []
    seen: list[Reference] = []
    for index, part in enumerate(parts):
        if not isinstance(part, str):
            seen.append(part)
            continue
        text = part if index else _SCHEME.sub("", part, count=1)
        end = _END["host"].search(text)
        if "@" in text[: end.start() if end else len(text)]:
            hint = "use the `auth` parameter"
            return [
                Problem(f"`{shorten(one.text)}` stands in the user name of the address", hint, (), one.offset)
                for one in seen
            ]
        if end:
            break
    return []


class _Writer:
    """The address so far, and the part of it that is being written."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.region: Region = "host"
        self.host: list[str] = []
        self.host_end = ""
        self.host_from: Reference | None = None
        self.path: list[str] = []
        self.segment = 0
        self.filled: dict[int, Reference] = {}

    def write(self, text: str) -> None:
        """Add what the author wrote."""
        rest = text
        if not self.texts and (scheme := _SCHEME.match(text)):
            rest = text[scheme.end() :]
        elif self.region == "host" and "@" in _END["host"].split(text, maxsplit=1)[0]:
            raise StepError("a value stands in the user name of the address", suggestions=["use the `auth` parameter"])
        self.texts.append(text)
        while rest:
            end = _END[self.region].search(rest) if self.region in _END else None
            self._extend(rest[: end.start()] if end else rest)
            if end is None:
                return
            self.region = _AFTER[end[0]]
            rest = rest[end.start() if self.region == "path" else end.end() :]

    def write_base(self, reference: Reference, value: str) -> None:
        """Add the value that the address begins with."""
        value = value.strip()
        if not _BASE.match(value):
            raise StepError(
                f"the value of `{shorten(reference.text)}` does not begin an address",
                suggestions=["it must begin with `http://` or `https://` and hold no spaces"],
            )
        self.write(value)

    def fill(self, reference: Reference, value: str, *, ends_host: bool) -> None:
        """Add a value, encoded."""
        if self.region == "host":
            if value.startswith("/") and ends_host and self.host_end not in ("", ".", ":", "-", "@"):
                self.region = "path"
            else:
                self._fill_host(reference, value, ends_host=ends_host)
                return
        try:
            text = quote(value, safe="/" if self.region == "path" else "")
        except UnicodeEncodeError as error:
            raise StepError(f"the value of `{shorten(reference.text)}` is not valid Unicode") from error
        if self.region == "path":
            if any(part in (".", "..") for part in re.split(r"[/\\]", value)):
                raise _climbs(reference)
            for segment in range(self.segment, self.segment + text.count("/") + 1):
                self.filled.setdefault(segment, reference)
        self.texts.append(text)
        self._extend(text)

    def finish(self) -> str:
        """The whole address; raises `StepError` when a value changed what it means."""
        if self.host_from is not None and not _HOST.match("".join(self.host)):
            raise _no_host(self.host_from)
        segments = "".join(self.path).split("/")
        for index, reference in self.filled.items():
            plain = segments[index].partition(";")[0].lower().replace("%2e", ".")
            if plain in (".", "..") or (not plain and 0 < index < len(segments) - 1):
                raise _climbs(reference)
        return "".join(self.texts)

    def _extend(self, text: str) -> None:
        if self.region == "host":
            self.host.append(text)
            self.host_end = text[-1:] or self.host_end
        elif self.region == "path":
            self.path.append(text)
            self.segment += text.count("/")

    def _fill_host(self, reference: Reference, value: str, *, ends_host: bool) -> None:
        # At the end of the host, directly after its text, a value would make it another domain: `example.com` + `pany`.
        is_domain = "." in "".join(self.host) and self.host_end.isalnum()
        takes_over = ends_host and self.host_end not in ("", ".") and ("." in value or is_domain)
        if takes_over or not _HOST_PART.match(value):
            raise _no_host(reference)
        self.host_from = reference
        self.texts.append(value)
        self._extend(value)


def _no_host(reference: Reference) -> StepError:
    return StepError(
        f"the value of `{shorten(reference.text)}` is not a valid host name there",
        suggestions=["give a name such as `api.example.com`, with `:8080` when there is a port"],
    )


def _climbs(reference: Reference) -> StepError:
    return StepError(
        f"the value of `{shorten(reference.text)}` would lead elsewhere: a path takes no `.`, `..` or empty part",
        suggestions=["check the value before this step, or pass it in `params`"],
    )
