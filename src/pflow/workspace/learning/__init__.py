"""Workflows learnt from sessions of agents, and from runs: found, written, proven and kept."""

from pflow.workspace.learning.lesson import Lesson

__all__ = ["Lesson"]
