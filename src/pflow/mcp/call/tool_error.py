"""What a failed tool says, read for what matters to a workflow: which error edge it takes, and how long to wait.

Servers say it in prose, in JSON, or in both. The words are looked for where they can hardly mean anything else; what
remains is a plain error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import orjson

_HEAD, _TAIL = 1_000, 500
_LONGEST_WAIT_SECONDS = 7 * 24 * 3600.0

_STATUS = {
    401: "auth_failed",
    403: "auth_failed",
    404: "resource_missing",
    408: "timeout",
    410: "resource_missing",
    429: "rate_limited",
    504: "timeout",
}
_CODES = {
    **_STATUS,
    -32002: "resource_missing",
    -32042: "auth_failed",  # the person must visit an address first, nearly always to sign in
}
_CODE_KEYS = ("status", "statusCode", "status_code", "http_status", "httpStatus", "code")
_NUMBER = r"(401|403|404|408|410|429|504)\b(?![.,:]?\d| (?:rows|items|results|records|bytes|lines|files|entries|ms)\b)"
_STATUS_TEXT = re.compile(
    rf"\b(?:https?(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|code|error|response|responded|returned|failed with)"
    rf"(?: code| with| status| of)*\W{{0,4}}{_NUMBER}"
    rf"|^\W*{_NUMBER}(?= ?(?:$|[:({{\-–—]))"
    rf"|(?<![\w.,:])(?:{_NUMBER})\W{{1,3}}"
    r"(?:unauthori[sz]ed|forbidden|not found|gone|request time-?out|gateway time-?out|too many requests)",
    re.IGNORECASE,
)
_WORDS = (
    (
        "rate_limited",
        re.compile(
            r"\brate[ _-]?limit|too many requests|\bthrottl(?:ed|ing)"
            r"|\bquota[ _]?(?:was |has been |is )?(?:exceeded|exhausted)"
            r"|exceeded (?:your|the|its) [\w ]{0,30}quota|secondary rate|resource_exhausted",
            re.IGNORECASE,
        ),
    ),
    (
        "auth_failed",
        re.compile(
            r"\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b|\bnot authenticated\b|\bnot logged in\b"
            r"|\bauth(?:entication|orization)? (?:has )?(?:failed|failure|required|error|is required)"
            r"|\b(?:login|sign[ -]?in) (?:is )?required|\bbad credentials"
            r"|\b(?:invalid|bad|expired|missing|wrong|revoked|incorrect|no) (?:\w+ )?"
            r"(?:api[ _-]?key|(?:access|auth|bearer|api|refresh)[ _-]token|token|credentials?|password)\b"
            r"|\b(?:api[ _-]?key|token|credentials?|password) (?:\w+ ){0,3}"
            r"(?:expired|invalid|revoked|required|missing|incorrect)"
            r"|\binvalid_(?:grant|token|client|auth)\b|\binsufficient[_ ](?:scope|permission|privilege)",
            re.IGNORECASE,
        ),
    ),
    (
        "timeout",
        re.compile(
            r"\btimed[ -]?out\b|\bETIMEDOUT\b|\bdeadline exceeded"
            r"|\btime[ -]?out (?:of|after|exceeded|expired|error|while|waiting)"
            r"|\b\w*timeout(?:error|exception|expired)\b|\b(?:read|connect|request|gateway|operation)[ -]?timeout\b",
            re.IGNORECASE,
        ),
    ),
    (
        "resource_missing",
        re.compile(
            r"\bENOENT\b|\bno such (?!command|option|module|method|tool)\w+"
            r"|\bnosuch(?:key|bucket|entity|file)|\bfilenotfound"
            r"|(?<!command )(?<!module )(?<!executable )(?<!program )(?<!interpreter )(?<!method )\bnot[ _]found\b"
            r"|\b\w+notfound(?:error|exception)?\b|\b(?:does not|doesn't|do not) exist\b|\bcould not be found\b",
            re.IGNORECASE,
        ),
    ),
)
_WAIT = re.compile(
    r"(?:retry[ _-]?after|(?:try|retry|available|allowed)(?: it)?(?: again)? (?:in|after)|\bwait(?: for)?|resets? in)"
    r"""["']?\s*[:=]?\s*["']?(?:about |at least |another )?(\d{1,9}(?:\.\d{1,6})?)\s?"""
    r"(ms|msec|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?\b",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NONE_SUCH = (
    r"(?:unknown|unrecogni[sz]ed|unsupported|undefined|invalid|no such|non-?existent) {noun}"
    r"(?: name| called| named)? ?[:=]? ?{name}",
    r"(?:the )?{noun}(?: name| named| called)? ?:? ?{name} ?"
    r"(?:(?:was|is|could) )?(?:not (?:be )?(?:found|known|registered|available|defined|supported|implemented)"
    r"|unknown|does not exist|doesn't exist)",
    r"{noun} (?:not found|does not exist|not known) ?[:=]? ?{name}",
    r"no {noun} (?:is )?(?:named|called|with (?:the )?name|found (?:for|with name)) ?:? ?{name}",
)
_PREFIX = (
    r"(?:(?:mcp |internal |tool |server |jsonrpc |json-rpc )*(?:\w*error|\w*exception|failed)"
    r"(?: ?\(?-?\d+\)?)?(?: (?:calling|executing|running) (?:the )?(?:tool|function) \S{1,200})? ?[:\-–—] ?){0,4}"
)
_SUFFIX = (
    r"(?: (?:on|in|by|from) (?:the |this )?(?:mcp )?server)?"
    r"(?:[ .,;:!(\[\-–—]+(?:available|known|valid|supported|existing|did you mean|use|see|try|please)\b.*)?[ .!)\]]*"
)


def pick_action(text: str, number: int = 0) -> str:
    """The error edge for what a server said, and for the number of its error if it gave one."""
    shown = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} {text[-_TAIL:]}"
    if _WORDS[0][1].search(shown):
        return "rate_limited"  # some use 403 for it
    told = (_number(fact.get(key)) for fact in _facts(text) for key in _CODE_KEYS)
    for code in (number, *told):
        if code is not None and int(code) in _CODES:
            return _CODES[int(code)]
    found = _STATUS_TEXT.search(shown)
    if found is not None:
        return _STATUS[int(next(group for group in found.groups() if group))]
    return next((action for action, words in _WORDS if words.search(shown)), "error")


def find_wait(text: str) -> float | None:
    """Seconds that the server wants us to wait, if it says so."""
    for fact in _facts(text):
        for key, value in fact.items():
            name = key.lower().replace("-", "").replace("_", "")
            if name in ("retryafter", "retryafterseconds", "retryafterms"):
                wait = _number(value)
                if wait is not None:
                    return _bounded(wait * (0.001 if name.endswith("ms") else 1.0))
    found = _WAIT.search(text[:_HEAD])
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    return _bounded(float(found[1]) * _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]])


def says_unknown(text: str, tool: str, *, named: bool = True) -> bool:
    """Whether a text says nothing but that there is no such tool; `named`: it must say which."""
    if len(text) > 8 * _HEAD:
        return False
    name = rf"[\"'`“‘]?{re.escape(tool)}[\"'`”’]?"
    forms = [form.format(noun="(?:tool|function|method|command)", name=name) for form in _NONE_SUCH]
    if not named:
        # "Method not found" is about the protocol, not about a tool.
        forms += [form.format(noun="tool", name=rf"(?:{name})?") for form in _NONE_SUCH]
    pattern = f"{_PREFIX}(?:{'|'.join(forms)}){_SUFFIX}"
    return any(re.fullmatch(pattern, " ".join(said.split()), re.IGNORECASE) for said in _sayings(text))


def _sayings(text: str) -> Iterator[str]:
    """The text, or what the error in its JSON says."""
    parsed = _object(text)
    if parsed is None:
        yield text
        return
    error = parsed.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    if isinstance(error, str) and len(parsed) <= 4:
        yield error


def _facts(text: str) -> Iterator[Mapping[str, object]]:
    """The objects in a string that is JSON and describes an error."""
    parsed = _object(text)
    if parsed is not None:
        yield parsed
        for key in ("error", "data", "details", "response", "headers"):
            inner = parsed.get(key)
            if isinstance(inner, dict):
                yield inner


def _object(text: str) -> Mapping[str, object] | None:
    start = text.find("{")
    if start < 0 or start > 200 or not text.rstrip().endswith("}"):
        return None
    try:
        parsed = orjson.loads(text[start:])
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _number(value: object) -> float | None:
    if isinstance(value, str) and len(value) <= 12 and re.fullmatch(r"-?\d+(?:\.\d+)?", value, re.ASCII):
        return float(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bounded(seconds: float) -> float | None:
    # More than that is a moment in time, or nonsense.
    return round(seconds, 3) if 0 <= seconds <= _LONGEST_WAIT_SECONDS else None
