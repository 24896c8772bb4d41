"""Headers that repeat what a request of the stateless protocol says, for proxies that route it without reading it."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterator, Mapping

from pflow.core.json_type import object_in

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
MISMATCH = frozenset((-32020, -32001))
"""Errors of a server that misses headers, or finds that they differ from the body; the second in drafts."""

Mirrored = Mapping[tuple[str, ...], str]
"""Which arguments of a tool are repeated in headers: the path to each, and the header's name."""

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_KINDS = ("string", "integer", "boolean")
_ONE = (
    *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties"),
    *("not", "if", "then", "else", "contentSchema"),
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_BY_NAME = ("patternProperties", "dependentSchemas", "$defs", "definitions")


def modern_version(params: Mapping[str, object]) -> str:
    """The version that a request of the stateless protocol carries; empty for any other request."""
    version = object_in(params, "_meta").get(VERSION_KEY)
    return version if isinstance(version, str) else ""


def routing_headers(method: str, params: Mapping[str, object], version: str, mirrored: Mirrored) -> dict[str, str]:
    """What goes with a request of the stateless protocol."""
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = encode_value(name)
    for path, header in mirrored.items():
        value: object = params.get("arguments")
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            headers[f"mcp-param-{header}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[f"mcp-param-{header}"] = encode_value(str(value))
    return headers


def encode_value(text: str) -> str:
    """A string as a header can hold it: itself, or marked as base64."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{b2a_base64(text.encode(errors='replace'), newline=False).decode()}?="


def read_mirrored(schema: object) -> dict[tuple[str, ...], str]:
    """The arguments that a tool's input schema wants repeated. Raises `ValueError` when it may not be used so."""
    found: dict[tuple[str, ...], str] = {}
    for path, part in _positions(schema):
        if "x-mcp-header" not in part:
            continue
        header = part["x-mcp-header"]
        if not path:
            raise ValueError("`x-mcp-header` stands where no single argument is meant")
        if not isinstance(header, str) or not _TOKEN.fullmatch(header):
            raise ValueError("an `x-mcp-header` is not the name of a header")
        if part.get("type") not in _KINDS:
            raise ValueError(f"`x-mcp-header` {header} stands at an argument that is not a string, integer or boolean")
        if header.lower() in (other.lower() for other in found.values()):
            raise ValueError(f"two arguments have the `x-mcp-header` {header}")
        found[path] = header
    return found


def _positions(schema: object) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, object]]]:
    """Every schema within a schema, with its path as long as that leads through plain properties alone."""
    stack: list[tuple[tuple[str, ...] | None, object]] = [((), schema)]
    while stack:
        path, part = stack.pop()
        if not isinstance(part, dict):
            continue
        yield path, part
        for word, value in part.items():
            if word in _ONE:
                stack.append((None, value))
            elif word in _SEVERAL and isinstance(value, list):
                stack += [(None, item) for item in value]
            elif word in _BY_NAME and isinstance(value, dict):
                stack += [(None, item) for item in value.values()]
            elif word == "properties" and isinstance(value, dict):
                stack += [((*path, name) if path is not None else None, item) for name, item in value.items()]
