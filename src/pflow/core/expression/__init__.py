"""Expressions: a typed subset of CEL. Parsed once, checked before a run, evaluated over values, never over text.

Start at `parser.parse`, `check.check` and `evaluate.evaluate`. Nothing here runs anything or knows documents.
"""
