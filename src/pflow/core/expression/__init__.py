"""Expressions: a typed subset of CEL. Parsed once, checked before a run, evaluated over values, never over text.

Start at `parser.parse`, `check.check`, `evaluate.evaluate` and `reference.references`. Nothing here runs anything or
knows documents.

What an expression means is what it means in CEL with its extensions of strings and lists. It differs on purpose:

- Arithmetic between an integer and a double gives a double, and what is declared as `number` counts as a double.
- `slice` past the end of a list gives what there is; `first(n)` and `last(n)` take several.
- `first()`, `last()`, `min()` and `max()` of an empty list are errors.
- `has(x["odd key"])` is allowed, as `has(x.key)` is. What an absent step would give has nothing.
- `string(x)` of a double has an exponent only from 1e21 on, and below 1e-6.
- Left out: comments, bytes, unsigned numbers, keys of objects that are not strings, comparisons in a row (`a < b < c`).
- A result that is infinite or not a number is an error; timestamps and durations become strings.
"""
