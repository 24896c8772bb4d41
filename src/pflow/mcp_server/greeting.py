"""What clients ask first, answered before the SDK is there: who the server is, whether it is alive, which tools it has.

Loading the SDK takes longer than some clients wait before they fall back to the older protocol. What is answered
here is what the SDK would answer; whatever looks unusual is left to the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import orjson

from pflow import __version__
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView
from pflow.mcp_server.instruction import INSTRUCTIONS
from pflow.mcp_server.message import request_id
from pflow.mcp_server.tools import TOOLSETS
from pflow.workspace.serving import LEGACY, MODERN

SERVER = {"name": "pflow", "title": "pflow", "version": __version__}

_META = "io.modelcontextprotocol/"
_VERSION = _META + "protocolVersion"
_CAPABILITIES = _META + "clientCapabilities"
_CLIENT = _META + "clientInfo"
_FREE = ("experimental", "extensions")
"""Capabilities whose names and contents are anyone's."""

_Era = Literal["modern", "legacy"]


class Greeted(Frozen):
    """What becomes of a message: the answer, and whether the SDK must see it, too.

    The SDK decides by the first request which protocol a client speaks, and remembers how it introduced itself.
    """

    reply: bytes | None
    pass_on: bool


class Greeter:
    """The beginning of one conversation."""

    def __init__(self, toolset: str) -> None:
        self._instructions = INSTRUCTIONS[toolset]
        self._tools = [spec.definition() for spec in TOOLSETS[toolset]()]
        self._era: _Era | None = None
        self._is_met = False

    def greet(self, message: Json) -> Greeted:
        """Answer a message, if it is one of those that can be answered here."""
        method, number = message.get("method"), request_id(message)
        if not isinstance(method, str) or number is None:
            return Greeted(reply=None, pass_on=True)
        params = message.get("params") or {}
        assert isinstance(params, dict)
        opens = self._era is None
        if self._era is None:
            self._era = "modern" if method != "initialize" and _VERSION in _meta_of(params) else "legacy"
        result = self._modern(method, params) if self._era == "modern" else self._legacy(method, params)
        if result is None:
            return Greeted(reply=None, pass_on=True)
        reply = orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result})
        return Greeted(reply=reply, pass_on=opens or method == "initialize")

    def _modern(self, method: str, params: JsonView) -> Json | None:
        about: Json = {"resultType": "complete", "_meta": {_META + "serverInfo": SERVER}}
        fresh = {"cacheScope": "private", "ttlMs": 0}
        if method not in ("server/discover", "tools/list") or not _is_enveloped(params):
            return None
        if method == "tools/list":
            return {"tools": self._tools, **fresh, **about}
        changes = {"listChanged": True}
        capabilities = {
            "extensions": {_META + "tasks": {}},
            "prompts": changes,
            "resources": {**changes, "subscribe": True},
            "tools": changes,
        }
        found = {"supportedVersions": [MODERN], "capabilities": capabilities, "instructions": self._instructions}
        return {**found, **fresh, **about}

    def _legacy(self, method: str, params: JsonView) -> Json | None:
        if method == "initialize":
            return self._meet(params)
        if not set(params) <= {"_meta"} or not _is_plain_meta(params) or _VERSION in _meta_of(params):
            return None
        if method == "tools/list" and self._is_met:
            return {"tools": self._tools}
        return {} if method == "ping" else None

    def _meet(self, params: JsonView) -> Json | None:
        version = params.get("protocolVersion")
        is_usual = (
            set(params) <= {"protocolVersion", "capabilities", "clientInfo", "_meta"}
            and isinstance(version, str)
            and _is_plain_meta(params)
            and _are_capabilities(params.get("capabilities"))
            and _is_client(params.get("clientInfo"))
        )
        if not is_usual:
            return None
        self._is_met = True
        changes = {"listChanged": True}
        capabilities = {
            "prompts": changes,
            "resources": {**changes, "subscribe": False},
            "tools": {"listChanged": False},
        }
        return {
            "protocolVersion": version if version in LEGACY else LEGACY[0],
            "capabilities": capabilities,
            "serverInfo": SERVER,
            "instructions": self._instructions,
        }


def _meta_of(params: JsonView) -> JsonView:
    meta = params.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _is_plain_meta(params: JsonView) -> bool:
    """Whether there is no `_meta`, or one that means nothing to these methods."""
    meta = params.get("_meta", {})
    if not isinstance(meta, Mapping):
        return False
    token = meta.get("progressToken", "")
    return isinstance(token, int | str) and not isinstance(token, bool) and (_META + "logLevel") not in meta


def _is_enveloped(params: JsonView) -> bool:
    """Whether nothing but a whole and valid envelope of the stateless protocol is given."""
    meta = _meta_of(params)
    return (
        set(params) == {"_meta"}
        and _is_plain_meta(params)
        and meta.get(_VERSION) == MODERN
        and _are_capabilities(meta.get(_CAPABILITIES))
        and (_CLIENT not in meta or _is_client(meta[_CLIENT]))
    )


def _is_client(value: object) -> bool:
    """Whether a client says who it is, with nothing but its icons in other than strings."""
    if not isinstance(value, Mapping) or not {"name", "version"} <= value.keys():
        return False
    icons = value.get("icons", [])
    if not isinstance(icons, list) or not all(isinstance(icon, Mapping) and _is_icon(icon) for icon in icons):
        return False
    return all(isinstance(each, str) for name, each in value.items() if name != "icons")


def _is_icon(icon: JsonView) -> bool:
    sizes = icon.get("sizes", [])
    if not isinstance(sizes, list) or not {"src"} <= icon.keys() <= {"src", "mimeType", "sizes"}:
        return False
    return all(isinstance(each, str) for each in (icon["src"], icon.get("mimeType", ""), *sizes))


def _are_capabilities(value: object) -> bool:
    """Whether these are the capabilities of a client, as they usually are: objects in objects."""
    if not isinstance(value, Mapping):
        return False
    return all(
        isinstance(each, Mapping)
        and all(isinstance(part, Mapping) if name in _FREE else _is_switch(key, part) for key, part in each.items())
        for name, each in value.items()
    )


def _is_switch(name: str, value: object) -> bool:
    if name == "listChanged":
        return isinstance(value, bool)
    return isinstance(value, Mapping) and all(_is_switch(key, part) for key, part in value.items())
