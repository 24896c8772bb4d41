"""Pictures for prompts: from files, under the policy of the nodes that read files, or from data URLs."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from pflow.core.errors import StepError
from pflow.core.printable import shorten
from pflow.engine.model.llm import Image
from pflow.nodes import param
from pflow.nodes.file.read import read_bytes

MOST_BYTES = 20 << 20
MOST_PICTURES = 100

_DATA_URL = re.compile(r"data:(image/[a-z0-9.+-]+);base64,(.*)", re.DOTALL)
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_KNOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


def read_pictures(given: Sequence[str]) -> tuple[Image, ...]:
    """The pictures that paths and data URLs stand for. Raises `StepError`."""
    if len(given) > MOST_PICTURES:
        raise StepError(f"`images` has {len(given):,} pictures; at most {MOST_PICTURES} go with a prompt")
    return tuple(_of_url(one) if one.startswith("data:") else _of_file(one) for one in given)


def name_pictures(given: Sequence[str]) -> list[str]:
    """What they are called where they are not shown: paths, and of data URLs the beginning."""
    return [one if not one.startswith("data:") else f"{one.partition(',')[0]},…" for one in given]


def _of_url(url: str) -> Image:
    found = _DATA_URL.fullmatch(url)
    if found is None or found[1] not in _KNOWN:
        raise StepError(
            f"`{shorten(url, 40)}` is not a data URL of a picture",
            suggestions=[f"write `data:image/png;base64,…`; the types are {', '.join(_KNOWN)}"],
        )
    try:
        data = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        raise StepError(f"the data URL `{shorten(url, 40)}` is not valid base64") from None
    if len(data) > MOST_BYTES:
        raise StepError(f"a picture is larger than {MOST_BYTES >> 20} MB")
    return Image(media_type=found[1], data=data)


def _of_file(given: str) -> Image:
    path = param.path({"images": given}, "images")
    data = read_bytes(path, MOST_BYTES)
    kind = _kind_of(data)
    if not kind:
        raise StepError(
            f"`{path}` is not a picture that models take", suggestions=[f"the types are {', '.join(_KNOWN)}"]
        )
    return Image(media_type=kind, data=data)


def _kind_of(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _KINDS if data.startswith(begin)), "")
