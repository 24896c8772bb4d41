"""Tells a task in words from the other things that a first word of a command line may be."""

from __future__ import annotations

from pathlib import Path

from pflow.core.library.reference import is_text
from pflow.core.library.workflow_manager import PATH_SUFFIXES

_PATH_WORDS = 2
"""A path may have a space in it; more words that end like a file's name are a sentence about that file."""


def is_sentence(word: str) -> bool:
    """Whether a first word is a task: several words that are no document and no file. No name has a space in it."""
    words = word.split()
    if len(words) < _PATH_WORDS or " " not in word or is_text(word) or word.startswith(("~", "/", ".", "-", "{", "[")):
        return False
    if word.lower().endswith(PATH_SUFFIXES) and len(words) == _PATH_WORDS:
        return False
    try:
        return not Path(word).exists()
    except (OSError, ValueError):
        return True
