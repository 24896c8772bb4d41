"""One server as another program describes it, in our fields; what has no place here is said, not dropped silently."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.file.file_name import show
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.mcp.server.address import REFERENCE
from pflow.mcp.server.config import ALIASES, FIELDS

_INPUT = re.compile(r"\$\{input:([^{}]{1,100})\}")
_PLACES = re.compile(
    r"\$\{(workspaceFolder|workspaceFolderBasename|workspaceRoot|cwd|userHome|pathSeparator)\}|\$\{/\}"
)
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_RELATIVE = re.compile(r"\.\.?(?:[/\\]|\Z)")
_OPENCODE = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_SILENT = frozenset(
    [
        *("type", "transport", "disabled", "enabled", "httpUrl", "serverUrl", "description", "name", "id"),
        *("source", "environment"),
    ]
)
_TAKEN = frozenset(FIELDS) - {"insecure", "trust_readonly", "trust_idempotent", "timeout", "limit"}
"""What a file may bring along. To trust a server is the person's own act."""

_CODEX = frozenset(["env_vars", "http_headers", "env_http_headers", "bearer_token_env_var", "tool_timeout_sec"])


class Origin(Frozen):
    """Where an entry stands: the directory its relative paths start from, and whose conventions it follows."""

    folder: Path
    home: Path
    gemini: bool = False


def translate(fields: object, origin: Origin) -> tuple[dict[str, object] | None, list[str]]:
    """Our fields for a host's entry, None for one that is switched off there, and remarks."""
    if not isinstance(fields, dict):
        raise UsageError("it is not an object")
    if fields.get("disabled") is True or fields.get("enabled") is False:
        return None, ["it is switched off there and not taken over"]
    remarks: list[str] = []
    fields = _take_words(fields)
    found = {key: value for key, value in fields.items() if key in _TAKEN and value not in ("", [], {}, None)}
    if "env" in found:
        found["env"] = _texts(found["env"])
    _choose_transport(found, fields, origin)
    _take_codex(found, fields)
    _take_timeout(found, fields, origin)
    auth = found.pop("auth", None)
    if isinstance(auth, dict) and "token_env" in auth:
        found["auth"] = {key: auth[key] for key in ("token_env", "scopes") if key in auth}
    elif auth is not None:
        remarks.append("its `auth` is not taken over")
    left = [key for key in fields if key not in _TAKEN | _SILENT | _CODEX and not (key == "timeout" and key in found)]
    remarks += [f"its `{show(key)}` is not taken over" for key in left]
    for key, value in found.items():
        if isinstance(value, dict):
            found[key] = {name: _fill(item, origin, remarks) for name, item in value.items()}
        elif isinstance(value, list):
            found[key] = [_fill(item, origin, remarks) for item in value]
        else:
            found[key] = _fill(value, origin, remarks)
    _settle(found, origin)
    return found, remarks


def _take_words(fields: dict[str, object]) -> dict[str, object]:
    """The entry with its program, arguments and variables each in its place, as opencode and Zed do not write them."""
    command = fields.get("command")
    if isinstance(command, list) and command:
        # opencode: one list of words, and variables in its own notation.
        variables = fields.get("environment")
        given = {"command": command[0], "args": command[1:], **({"env": variables} if variables else {})}
        return {**fields, **{key: _own_notation(value) for key, value in given.items()}}
    if isinstance(command, dict):
        # Zed, as it was until 2025.
        inner = {"command": command.get("path"), "args": command.get("args"), "env": command.get("env")}
        return {**fields, **{key: value for key, value in inner.items() if value}}
    if command is None and fields.get("source") == "extension":
        raise UsageError("it comes with an extension of Zed")
    if fields.get("type") == "remote" and "headers" in fields:
        return {**fields, "headers": _own_notation(fields["headers"])}
    return fields


def _own_notation(value: object) -> object:
    """What opencode writes as `{env:NAME}`."""
    if isinstance(value, str):
        return _OPENCODE.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_own_notation(item) for item in value]
    return {name: _own_notation(item) for name, item in value.items()} if isinstance(value, dict) else value


def _choose_transport(found: dict[str, object], fields: dict[str, object], origin: Origin) -> None:
    named = fields.get("transport") or fields.get("type")
    if fields.get("httpUrl"):
        found["url"] = fields["httpUrl"]
        named = "stream-http"
    elif fields.get("serverUrl"):
        found["url"] = address = fields["serverUrl"]
        named = named or ("sse" if str(address).rstrip("/").endswith("/sse") else "stream-http")
    elif origin.gemini and "url" in found and not named:
        named = "sse"
    if isinstance(named, str):
        # `local` and the like say no more than that there is a command.
        named = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", named).lower()
        found["transport"] = {"local": "stdio", "remote": "stream-http"}.get(named) or ALIASES.get(named, named)


def _take_codex(found: dict[str, object], fields: dict[str, object]) -> None:
    variables = fields.get("env_vars")
    if isinstance(variables, list):
        passed = {str(name): f"${{{name}}}" for name in variables if isinstance(name, str)}
        found["env"] = {**passed, **object_in(found, "env")}
    headers = {
        **object_in(fields, "http_headers"),
        **{name: f"${{{variable}}}" for name, variable in object_in(fields, "env_http_headers").items()},
    }
    if headers:
        found["headers"] = {**headers, **object_in(found, "headers")}
    if fields.get("bearer_token_env_var"):
        found["auth"] = {"token_env": fields["bearer_token_env_var"]}


def _take_timeout(found: dict[str, object], fields: dict[str, object], origin: Origin) -> None:
    seconds = fields.get("tool_timeout_sec")
    milliseconds = fields.get("timeout") if origin.gemini else None
    if isinstance(seconds, int | float):
        found["timeout"] = seconds
    elif isinstance(milliseconds, int | float):
        found["timeout"] = milliseconds / 1000


def _texts(value: object) -> object:
    """Variables as strings: hosts take numbers and booleans for them as well."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(item).lower() if isinstance(item, bool) else str(item) if isinstance(item, int | float) else item
        for key, item in value.items()
    }


def _fill(value: object, origin: Origin, remarks: list[str]) -> object:
    """A string with the host's own variables replaced: directories by what they are, questions by variables."""
    if not isinstance(value, str) or "$" not in value:
        return value
    if origin.gemini:
        value = _BARE.sub(r"${\1}", value)

    def folder(match: re.Match[str]) -> str:
        known = {"userHome": str(origin.home), "workspaceFolderBasename": origin.folder.name}
        return known.get(match[1], os.sep if match[1] in (None, "pathSeparator") else str(origin.folder))

    def question(match: re.Match[str]) -> str:
        words = re.sub(r"[^A-Z0-9]+", "_", match[1].upper()).strip("_")
        name = words if words[:1].isalpha() else f"INPUT_{words}".rstrip("_")
        remark = Advice("it asks for a value; store it with `{set_setting}`", name=name)
        if remark not in remarks:
            remarks.append(remark)
        return f"${{{name}}}"

    text = _INPUT.sub(question, _PLACES.sub(folder, value))
    if "${" in REFERENCE.sub("", text):
        remarks.append(f"`{shorten(text)}` holds a variable of that program, which has no value here")
    return text


def _settle(found: dict[str, object], origin: Origin) -> None:
    """Make paths absolute that mean something in the host's directory only."""
    if "command" not in found:
        return
    folder = found.get("cwd")
    if isinstance(folder, str) and not (Path(folder).is_absolute() or folder[0] == "~" or "${" in folder):
        found["cwd"] = str(origin.folder / folder)
    args = found.get("args")
    words = [found["command"], *(args if isinstance(args, list) else [])]
    if "cwd" not in found and any(isinstance(word, str) and _RELATIVE.match(word) for word in words):
        found["cwd"] = str(origin.folder)
