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
_SECRET = r"(?:api[ _-]?key|(?:access|auth|bearer|api|refresh|security)[ _-]token|token|credentials?|password)"
_RATE_LIMITED = re.compile(
    r"\brate[ _-]?limit(?:ed|ing)?[ _](?:\w+ ){0,2}(?:exceeded|reached|hit|error)|too many requests"
    r"|\brate[ _-]?limited\b|\bthrottl(?:ed|ing)|\bsecondary rate|resource_exhausted"
    r"|(?<!disk )(?<!storage )\bquota[ _]?(?:was |has been |is )?(?:exceeded|exhausted)"
    r"|exceeded (?:your|the|its) [\w ]{0,30}quota",
    re.IGNORECASE,
)
_MAYBE_RATE_LIMITED = re.compile(r"\brate[ _-]?limits?\b", re.IGNORECASE)
_AUTH_FAILED = re.compile(
    r"\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b|\bnot (?:authenticated|authori[sz]ed|logged in)\b"
    r"|\bnot_authed\b|\bWRONGPASS\b|(?-i:\bAccessDenied)|\bbad credentials"
    r"|\bauth(?:entication|orization)? (?:has )?(?:failed|failure|required|error|is required)"
    r"|\b(?:login|sign[ -]?in) (?:is )?required"
    # What follows a token that a parser complains of: where it stands, or the token itself.
    rf"|\b(?:invalid|bad|expired|missing|wrong|revoked|incorrect|no) (?:\w+ )?{_SECRET}\b(?!\W{{0,2}}[`'\"(){{}}\[\]<>]"
    r"|,? (?:in|at|near|on|was found)\b)"
    rf"|\b{_SECRET} (?:\w+ ){{0,6}}"
    r"(?:expired|invalid|revoked|required(?! to\b)|missing|incorrect|not (?:found|set|provided|configured))"
    r"|\binvalid_(?:grant|token|client|auth)\b|\binsufficient[_ ](?:scope|permission|privilege)",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(
    r"\btimed[ -]?out\b|\bETIMEDOUT\b|\bdeadline exceeded|\btime[ -]?out (?:after|exceeded|expired|error|while|waiting)"
    r"|\btime[ -]?out (?:of )?[\d.,]+ ?m?s(?:ec\w*)? exceeded|\bdue to \w+ timeout\b"
    r"|\b\w*timeout(?:error|exception|expired)\b",
    re.IGNORECASE,
)
_MAYBE_TIMEOUT = re.compile(
    r"\b(?:read|connect|request|gateway|operation)[ -]?timeout\b|\btime[ -]?out of\b", re.IGNORECASE
)
_RESOURCE_MISSING = re.compile(
    r"\bENOENT\b|\bno such \w+|\bnosuch(?:key|bucket|entity|file)|\bfilenotfound|\bnot[ _]found\b|\w_not_found\b"
    r"|(?-i:\b\w*NotFound(?:Error|Exception)?\b)|\b(?:does not|doesn't|do not) exist\b|\bcould not be found\b"
    r"|\bcould not resolve to an? ",
    re.IGNORECASE,
)
_ABOUT_ARGUMENTS = re.compile(
    r"\b(?:unknown|unexpected|unrecogni[sz]ed|invalid|missing|unsupported)\b.{0,30}?"
    r"\b(?:options?|arguments?|param(?:eter)?s?|fields?|flags?|values?|propert(?:y|ies))\b"
    r"|\b(?:must|should|has to) (?:be|have)\b",
    re.IGNORECASE,
)
"""Words about an argument, which may be called like a failure: `rate_limit must be a number`."""

_PART = (
    r"(?<![/\\.\w-])(?:executables?|binary|command|program|interpreter|module|package|library|browser|chrom(?:e|ium)"
    r"|firefox|driver|plugin|dependency|ffmpeg|method|class|symbol|host(?:name)?|domain|server|proxy|option|tool)"
)
_PLACE = r"(?<![/\\.\w-])(?:string|text|substring|snippet|pattern|selector|element|match)(?: to \w+)?"
_IS_MISSING = (
    r"(?: file| distribution)?(?: ['\"`][^'\"`]{0,80}['\"`])?(?: was| is)? "
    r"(?:not found|does(?: not|n't) exist|could not be found)"
)
_ABOUT_THE_SERVER = re.compile(
    # A name that does not resolve, or an address that nobody is at.
    r"\bgetaddrinfo\b|\bENOTFOUND\b|\bEAI_\w+|name ?resolution|name or service not known|nodename nor servname"
    r"|could not resolve host|failed to resolve|unknown ?host|NXDOMAIN|NAME_NOT_RESOLVED"
    r"|(?-i:\bE(?:CONN|HOST|NET)[A-Z]+\b)|connection refused"
    # A program, or a part of one, that is not installed.
    rf"|{_PART}{_IS_MISSING}|\bno such {_PART}|\bspawn \S+ ENOENT|\b(?:ba|z|da)?sh: .{{0,80}}\bnot found"
    r"|(?-i:(?:Module|Class|Command|Executable|Driver|Package|Method|Host|Tool)NotFound|\bin \$?PATH\b)"
    r"|\bno module named|\bcannot find (?:module|package)|\bshared (?:object|libraries)"
    r"|\b(?:please|pip|pip3|npm|playwright) install|\bnot installed\b|\benvironment variable"
    # A place in a text.
    rf"|{_PLACE}{_IS_MISSING}",
    re.IGNORECASE,
)
"""Words about what the server itself lacks. What the arguments name may be there all the same."""

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
    if _RATE_LIMITED.search(shown):
        return "rate_limited"  # some use 403 for it
    told = (_number(fact.get(key)) for fact in _facts(text) for key in _CODE_KEYS)
    for code in (number, *told):
        if code is not None and int(code) in _CODES:
            return _CODES[int(code)]
    found = _STATUS_TEXT.search(shown)
    if found is not None:
        return _STATUS[int(next(group for group in found.groups() if group))]
    return _pick_by_words(shown)


def _pick_by_words(text: str) -> str:
    if _AUTH_FAILED.search(text):
        return "auth_failed"
    if _TIMEOUT.search(text):
        return "timeout"
    if _MAYBE_RATE_LIMITED.search(text) or _MAYBE_TIMEOUT.search(text):
        if _ABOUT_ARGUMENTS.search(text):
            return "error"
        return "rate_limited" if _MAYBE_RATE_LIMITED.search(text) else "timeout"
    if _RESOURCE_MISSING.search(text) and not _ABOUT_THE_SERVER.search(text):
        return "resource_missing"
    return "error"


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
