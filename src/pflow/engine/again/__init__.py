"""Runs again on purpose: lost items of batches, runs forked from others, single steps, and doubts that are settled."""
