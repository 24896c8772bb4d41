"""HTTP requests and replies as values: checked headers, decoded bodies, failures. No I/O."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from pflow.core.errors import SecurityError, StepError
from pflow.core.json_type import describe
from pflow.core.printable import cut, shorten
from pflow.core.setting.secret_name import is_secret_name
from pflow.http.header import UNSAFE, read_wait

MAX_BYTES = 10 * 1024 * 1024
_PREVIEW_CHARACTERS = 1000

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_FRAMING = frozenset({"connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
_TEXT_TYPE = re.compile(
    r"text/|application/(.*\+)?(json|xml|yaml|javascript|ecmascript|graphql|sql|toml|x-ndjson|x-yaml|"
    r"x-www-form-urlencoded|x-sh|xhtml\+xml)\b"
)
_TEXT_CODECS = ("utf", "ascii", "iso", "cp", "latin", "koi8", "mac", "gb", "big5", "shift_jis", "euc", "hz", "tis")
_SHORTEST_SECRET_CHARACTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call. No message about it may repeat one of its `secrets`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Sequence[tuple[str, str]] = ()
    content: bytes | None = None
    timeout: float = 30.0
    max_bytes: int = MAX_BYTES
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered. `place` is the address without its query; `cut`: content is missing."""

    status: int
    headers: Mapping[str, str]
    url: str
    place: str
    content: bytes
    cut: bool = False

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_method(method: object, body: object) -> str:
    """The method in upper case; by default GET, or POST with a body. Endpoints do not have `CONNECT` and `TRACE`."""
    upper = str(method or ("GET" if body is None else "POST")).upper()
    if not (upper.isascii() and upper.isalpha() and len(upper) <= 20) or upper in ("CONNECT", "TRACE"):
        raise StepError(
            f"`{shorten(str(method), 100)}` is not an HTTP method that a step can use",
            suggestions=["use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"],
        )
    return upper


def only_reads(method: object, *, has_body: bool) -> bool:
    """Whether a call with this method, or none, asks for something and changes nothing."""
    return str(method or ("POST" if has_body else "GET")).upper() in ("GET", "HEAD")


def check_headers(headers: Mapping[str, object]) -> dict[str, str]:
    """Headers as text, by lower-case name. A value that would end its line is refused, never repaired."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if value is None:
            continue
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise SecurityError(f"`{shorten(str(name), 100)}` is not a valid name of a header")
        if not isinstance(value, str | int | float):
            raise StepError(f"the header `{name}` must be a string, not {describe(value)}")
        text = (str(value).lower() if isinstance(value, bool) else str(value)).strip(" \t")
        if UNSAFE.search(text):
            raise SecurityError(
                f"the value of the header `{name}` contains a line break or another control character",
                suggestions=["remove it, or send the text in the body"],
            )
        if name.lower() in _FRAMING:
            raise StepError(
                f"the header `{name}` belongs to the connection, which pflow manages itself",
                suggestions=[f"remove `{name}` from the headers"],
            )
        checked[name.lower()] = text
    return checked


def secrets_in(headers: Mapping[str, str], values: Sequence[str] = ()) -> tuple[str, ...]:
    """The strings of a call that its errors must not repeat, longest first."""
    found = set(values)
    for name, value in headers.items():
        if is_secret_name(name):
            found.add(value)
            found.add(value.partition(" ")[2])
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST_SECRET_CHARACTERS), key=len, reverse=True))


def masked(text: str, secrets: Sequence[str]) -> str:
    """`text` without the secrets of a call, in whatever encoding a server repeats them."""
    from pflow.core.setting.redactor import Redactor  # lazy: only failures come here
    from pflow.core.setting.secret_search import MIN_SECRET  # lazy: only failures come here

    redactor = Redactor()
    for secret in secrets:
        redactor.add("credential", secret)
    text = redactor.text(text)
    for secret in secrets:
        if len(secret) < MIN_SECRET:
            text = text.replace(secret, "«secret»")
    return text


def body_text(reply: Reply) -> str:
    """The body as text: in its declared charset, else UTF-8; what cannot be read becomes `�`."""
    declared = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", reply.headers.get("content-type", ""), re.IGNORECASE)
    if declared:
        try:
            # servers may not choose codecs that transform rather than decode, such as unicode_escape
            if codecs.lookup(declared[1]).name.replace("-", "_").startswith(_TEXT_CODECS):
                return reply.content.decode(declared[1]).removeprefix("\ufeff")
        except (LookupError, UnicodeError, ValueError):
            pass
    return reply.content.decode("utf-8-sig", errors="replace")


def is_text(reply: Reply) -> bool:
    """Whether a body is text by its type or, without one, by its bytes."""
    if reply.content_type:
        return bool(_TEXT_TYPE.match(reply.content_type)) or "charset=" in reply.headers["content-type"].lower()
    try:
        return "\x00" not in reply.content.decode()
    except UnicodeDecodeError:
        return False


def body_value(reply: Reply) -> object:
    """A text body: parsed if its type is JSON, or if it has no type and looks like JSON; else text."""
    text = body_text(reply)
    kind = reply.content_type
    if kind.endswith(("/json", "+json")) or (not kind and text[:1] in ("{", "[")):
        try:
            value: object = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        return value
    return text


def status_error(request: Request, reply: Reply) -> StepError:
    """The failure that a status outside 2xx means."""
    wait = retry_after(reply.headers)
    found = {
        "status": reply.status,
        "url": reply.place,
        "method": request.method,
        "retry_after": wait,
        "body": body_preview(request, reply) or None,
    }
    action, reason, advice = _meaning(reply, wait)
    return StepError(
        f"`{request.method} {reply.place}` answered {reply.status}{reason}",
        action=action,
        details={name: value for name, value in found.items() if value is not None},
        suggestions=advice,
    )


def _meaning(reply: Reply, wait: float | None) -> tuple[str, str, tuple[str, ...]]:
    """The action that a status outside 2xx leads to, the reason in words, and advice."""
    spent = wait is not None or reply.headers.get("x-ratelimit-remaining", "").strip() == "0"
    status = reply.status
    if status == 429 or (status == 403 and spent):
        until = f"wait {wait:g} s" if wait is not None else "it does not say how long to wait"
        advice = "add a `retry` with a `wait` to the node, or an edge for `rate_limited`"
        return "rate_limited", f": too many calls; {until}", (advice,)
    if status in (401, 403):
        reason = "were not accepted" if status == 401 else "do not allow this"
        return "auth_failed", f": the credentials {reason}", ("check `auth` and the `headers` with credentials",)
    if status in (404, 410):
        return "resource_missing", ": there is nothing at this address", ()
    return "error", ", a redirect that leads nowhere" if 300 <= status < 400 else "", ()


def body_preview(request: Request, reply: Reply) -> str:
    """The beginning of a body for people to read, without the secrets that the call carried."""
    if not reply.content or not is_text(reply):
        return ""
    text = masked(body_text(reply), request.secrets)
    if reply.cut and request.secrets:
        # a secret that was cut in two is not recognised, but it can only be at the end
        text = text[: -3 * len(request.secrets[0])]
    return cut(text.strip(), _PREVIEW_CHARACTERS + 1)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `Retry-After` in both its forms, else when the quota refills."""
    text = headers.get("retry-after", "").strip()
    if text:
        return read_wait(text)
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
        number = float(reset[:12])
        # some servers give the time of day, some the seconds until then
        return max(0.0, round(number - time.time(), 1)) if number > 1e9 else number
    return None
