"""What a tool gave, in one shape whatever the server's habits: a value, its fields, its files, or an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, ReplyError, ServerError, StepError, StorageError
from pflow.core.frozen import Frozen
from pflow.core.printable import escape, shorten
from pflow.core.suggest import nearest
from pflow.mcp.protocol.json_line import decode
from pflow.mcp.protocol.rpc_reply import INVALID

Save = Callable[[bytes, str], Mapping[str, object]]
"""Keeps bytes of a media type and returns a reference to them."""

MOST_BYTES = 64 << 20
"""Decoded bytes that all the images, sounds and blobs of one result may have together."""

MOST_FILES = 1_000

_SAID_CHARACTERS = 4_096
_SHOWN_CHARACTERS = 300
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}")
_LONG_NUMBER = re.compile(r"[0-9]{19,}")
_MOST_LONG_NUMBERS = 50_000
_LINK = {"name": "name", "title": "title", "description": "description", "mimeType": "mime_type", "size": "size"}
_NOUNS = ("tool", "function", "method", "command")
_ADVICE = {
    "rate_limited": "give the step a `retry` with a `wait`, or an edge for `rate_limited`",
    "auth_failed": "check the token or key that server `{server}` is configured with, and what it may do",
    "resource_missing": "check that what the arguments name exists",
    "timeout": "try again, or give the step a `retry`",
}
_EXTENSIONS = {
    **{f"image/{kind}": f".{kind}" for kind in ("png", "gif", "webp", "avif", "bmp", "tiff")},
    **{"image/jpeg": ".jpg", "image/svg+xml": ".svg"},
    **{f"audio/{kind}": f".{kind}" for kind in ("wav", "ogg", "flac")},
    **{"audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/webm": ".weba"},
    **{"video/mp4": ".mp4", "video/webm": ".webm"},
    **{f"application/{kind}": f".{kind}" for kind in ("pdf", "json", "zip")},
    **{"application/gzip": ".gz", "text/plain": ".txt", "text/csv": ".csv", "text/markdown": ".md"},
}


class Reading(Frozen):
    """What a tool gave. `fields` are those of its structured content, `files` the references it came with."""

    value: object
    fields: Mapping[str, object]
    files: tuple[Mapping[str, object], ...]


def read_result(result: Mapping[str, object], *, server: str, tool: str, tools: Collection[str], save: Save) -> Reading:
    """What the result of `tools/call` means. Raises `StepError` if it is a failure, `ServerError` if it is none."""
    failed = result.get("isError")
    if failed is True:
        raise _tool_failed(_said(result), server, tool, tools)
    if failed is not None and failed is not False:
        raise _invalid("its `isError` is neither true nor false", tool)
    structured = result.get("structuredContent")
    texts, files = _read_content(result.get("content"), tool, save)
    if structured is None and len(texts) == 1 and not files and _denies(texts[0], tool):
        raise unknown_tool(server, tool, tools, said=texts[0])
    fields = structured if isinstance(structured, dict) else {}
    if structured is not None:
        value = _unwrap(structured)
    elif texts:
        value = _read_texts(texts)
    else:
        value = files[0] if len(files) == 1 else (list(files) or None)
    return Reading(value=value, fields=fields, files=tuple(files))


def json_in(text: str) -> object | None:
    """The JSON object or array that a string holds; None for any other, and for what would not survive the reading."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    for position, number in enumerate(_LONG_NUMBER.finditer(text)):
        if position > _MOST_LONG_NUMBERS or _is_inexact(text, *number.span()):
            return None
    try:
        return decode(text.encode())
    except ValueError:
        return None


def read_failure(error: ReplyError, *, server: str, tool: str, tools: Collection[str]) -> ServerError:
    """What an error means that a server answered a call with: its words kept, its action and its wait found."""
    from pflow.mcp.call.tool_error import find_wait, pick_action, says_unknown  # lazy: patterns, for failures only

    said = error.details.get("server_says")
    words = said if isinstance(said, str) else ""
    if says_unknown(words, tool, named=False):
        return unknown_tool(server, tool, tools, said=words)
    data = error.details.get("data")
    more = data if isinstance(data, str) else _clean(orjson.dumps(data, default=str).decode()) if data else ""
    wait = next((wait for wait in map(find_wait, (more, words)) if wait is not None), None)
    action = pick_action(words, error.number)
    action = pick_action(more) if action == "error" and more else action
    details = {"server": server, "tool": tool, **error.details}
    message = error.message
    if words and escape(words)[:100] not in message:
        message = f"{message}: {_brief(words)}"
    message = _note_wait(message, details, wait)
    read = ReplyError(
        message, number=error.number, details=details, suggestions=[*error.suggestions, *_advise(action, server)]
    )
    read.action = action
    return read


def unknown_tool(server: str, tool: str, tools: Iterable[str], *, said: str = "") -> ServerError:
    """The error about a tool that a server does not have, or no more."""
    names = [shorten(name, 100) for name in nearest(tool, (name for name in tools if name != tool))]
    return ServerError(
        f"Tool {shorten(tool, 200)} not found on server {server}",
        details={"server": server, "tool": tool, **({"server_says": _clean(said[:_SAID_CHARACTERS])} if said else {})},
        suggestions=[*(f"did you mean `{name}`?" for name in names), Advice("{sync_server}", server=server)],
    )


def save_file(folder: Path) -> Save:
    """Keeps what tools give in `folder`, readable for this user only, named by its content and never by the server."""

    def save(data: bytes, mime_type: str) -> Mapping[str, object]:
        from hashlib import sha256  # lazy: few tools give files

        from pflow.core.file.atomic import write_atomic

        digest = sha256(data).hexdigest()
        path = folder / f"{digest[:32]}{_EXTENSIONS.get(mime_type, '.bin')}"
        if not _holds(path, data):
            write_atomic(path, data)
        return {"path": str(path), "mime_type": mime_type, "size": len(data), "sha256": digest}

    return save


def _holds(path: Path, data: bytes) -> bool:
    from pflow.core.file.atomic import read_private  # lazy: few tools give files

    try:
        return read_private(path, len(data)) == data
    except (NotFoundError, StorageError):
        return False


def _read_content(content: object, tool: str, save: Save) -> tuple[list[str], list[Mapping[str, object]]]:
    """The strings of a result, and references to everything else."""
    if content is None:
        return [], []
    if not isinstance(content, list):
        raise _invalid("its content is not a list", tool)
    texts: list[str] = []
    files: list[Mapping[str, object]] = []
    left = MOST_BYTES
    for position, block in enumerate(content):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise _invalid(f"block {position} of its content is not an object with a type", tool)
        resource = block.get("resource")
        kind = block["type"]
        holder, key = (resource, "blob") if kind == "resource" and isinstance(resource, dict) else (block, "data")
        if kind == "text" or (kind == "resource" and isinstance(holder.get("text"), str)):
            text = holder.get("text")
            if not isinstance(text, str):
                raise _invalid(f"block {position} of its content has no text", tool)
            texts.append(text)
            continue
        if kind in ("image", "audio", "resource"):
            data = _decode_base64(holder.get(key), left, f"block {position} of its content ({kind})", tool)
            left -= len(data)
            if len(files) >= MOST_FILES:
                raise _invalid(f"it holds more than {MOST_FILES:,} files", tool)
            about = {"uri": holder["uri"]} if kind == "resource" and isinstance(holder.get("uri"), str) else {}
            files.append({"type": kind, **about, **save(data, _media_type(holder.get("mimeType")))})
        elif kind == "resource_link":
            files.append(_read_link(block, position, tool))
        else:
            files.append(block)
    return texts, files


def _read_link(block: Mapping[str, object], position: int, tool: str) -> Mapping[str, object]:
    if not isinstance(block.get("uri"), str):
        raise _invalid(f"block {position} of its content (resource_link) has no uri", tool)
    known = {ours: block[theirs] for theirs, ours in _LINK.items() if block.get(theirs) is not None}
    return {"type": "resource_link", "uri": block["uri"], **known}


def _decode_base64(data: object, most: int, what: str, tool: str) -> bytes:
    import binascii  # lazy: few tools give files

    if not isinstance(data, str):
        raise _invalid(f"{what} has no data", tool)
    if len(data) // 4 * 3 > most + 2:
        raise _invalid(f"{what} goes beyond the {MOST_BYTES:,} bytes that a result may hold", tool)
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise _invalid(f"{what} is not base64: {error}", tool) from None


def _media_type(value: object) -> str:
    known = value.partition(";")[0].strip().lower() if isinstance(value, str) else ""
    return known if _MEDIA_TYPE.fullmatch(known) else "application/octet-stream"


def _read_texts(texts: list[str]) -> object:
    parsed = [json_in(text) for text in texts]
    if len(texts) == 1:
        return texts[0] if parsed[0] is None else _unwrap(parsed[0])
    return "\n".join(texts) if None in parsed else parsed


def _is_inexact(text: str, start: int, end: int) -> bool:
    """Whether digits are an integer of the JSON, and one that would be read as another."""
    negative = text[start - 1 : start] == "-"
    before = text[start - 1 - negative : start - negative]
    if before not in " \t\r\n:,[" or text[end : end + 1] not in " \t\r\n,]}":
        return False
    most = 1 << 63 if negative else (1 << 64) - 1
    return end - start > 20 or int(text[start:end]) > most


def _unwrap(value: object) -> object:
    return value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value


def _denies(text: str, tool: str) -> bool:
    """Whether a result that claims to be one says that there is no such tool."""
    words = text.lower() if len(text) <= 2_000 else ""
    if tool.lower() not in words or not any(noun in words for noun in _NOUNS) or "\n\n" in words.strip():
        return False
    from pflow.mcp.call.tool_error import says_unknown  # lazy: patterns, for what looks like a failure only

    return says_unknown(text, tool)


def _tool_failed(said: str, server: str, tool: str, tools: Collection[str]) -> StepError:
    from pflow.mcp.call.tool_error import find_wait, pick_action, says_unknown  # lazy: patterns, for failures only

    if says_unknown(said, tool):
        return unknown_tool(server, tool, tools, said=said)
    details: dict[str, object] = {"server": server, "tool": tool}
    message = f"tool `{tool}` of server `{server}` failed"
    message = f"{message}: {_brief(said)}" if said else f"{message} and does not say why"
    if said:
        details["server_says"] = _clean(said[:_SAID_CHARACTERS])
    message = _note_wait(message, details, find_wait(said))
    action = pick_action(said)
    return StepError(message, action=action, details=details, suggestions=_advise(action, server))


def _note_wait(message: str, details: dict[str, object], wait: float | None) -> str:
    if wait is None:
        return message
    details["retry_after"] = wait
    return f"{message}; it may be tried again in {wait:g} s"


def _said(result: Mapping[str, object]) -> str:
    """The words of a failure, wherever they stand; whatever else is in it does not matter."""
    content = result.get("content")
    blocks = content[:100] if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    said = "\n".join(text[: _SAID_CHARACTERS * 4] for text in texts).strip()
    if not said and result.get("structuredContent"):
        try:
            said = orjson.dumps(result["structuredContent"]).decode()
        except TypeError:
            said = ""
    return said


def _advise(action: str, server: str) -> list[str]:
    return [_ADVICE[action].format(server=server)] if action in _ADVICE else []


def _brief(text: str) -> str:
    return shorten(" ".join(_clean(text[: _SAID_CHARACTERS * 4]).split()), _SHOWN_CHARACTERS)


def _clean(text: str) -> str:
    """The text as it can be stored: without halves of characters, and not too long."""
    return text[:_SAID_CHARACTERS].encode(errors="replace").decode()[:_SAID_CHARACTERS]


def _invalid(cause: str, tool: str) -> ServerError:
    return ServerError(INVALID, details={"method": "tools/call", "tool": tool, "cause": cause})
