"""Finds node types and workflows for a task in words."""
