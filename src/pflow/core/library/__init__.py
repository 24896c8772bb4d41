"""Saved workflows and drafts, by name."""
