"""Cassettes as use cases: made from runs, and played again."""
