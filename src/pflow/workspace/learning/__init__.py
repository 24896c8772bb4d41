"""Workflows learnt from sessions of agents, and from runs: found, written, proven and kept."""
