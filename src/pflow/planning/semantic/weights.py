"""Reads the arrays of an ONNX file, which is mapped into memory and parsed only as far as they are named."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# Numbers of fields in ONNX's protobuf messages.
_GRAPH, _INITIALIZER = 7, 5
_DIMENSION, _TYPE, _NAME, _RAW = 1, 2, 8, 9

_KINDS = {1: np.dtype(np.float32), 3: np.dtype(np.int8)}

_NUMBER, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
"""How protobuf says what a field holds."""


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The arrays by name, in the order of the file. Raises `OSError`, and `ValueError` for another kind of file."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found: dict[str, np.ndarray] = {}
    for number, start, end in _fields(data, 0, len(data)):
        if number == _GRAPH:
            for part, first, last in _fields(data, start, end):
                if part == _INITIALIZER:
                    found |= _array(data, first, last)
    return found


def _array(data: mmap.mmap, start: int, end: int) -> dict[str, np.ndarray]:
    shape, kind, name, raw = [], 0, "", (0, 0)
    for number, first, last in _fields(data, start, end):
        if number == _DIMENSION:
            shape.append(first)
        elif number == _TYPE:
            kind = first
        elif number == _NAME:
            name = data[first:last].decode()
        elif number == _RAW:
            raw = first, last
    if kind not in _KINDS or not raw[1]:
        return {}
    count = (raw[1] - raw[0]) // _KINDS[kind].itemsize
    return {name: np.frombuffer(data, _KINDS[kind], count, raw[0]).reshape(shape)}


def _fields(data: mmap.mmap, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of a message: the number of each, and where its bytes begin and end; of a number, twice its value."""
    while place < end:
        key, place = _number(data, place)
        number, kind = key >> 3, key & 7
        if kind == _NUMBER:
            value, place = _number(data, place)
            yield number, value, value
        elif kind == _BYTES:
            size, place = _number(data, place)
            yield number, place, place + size
            place += size
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("not an ONNX file")


def _number(data: mmap.mmap, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data):
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError("not an ONNX file")
