"""Steps that wait: `ask` for an answer, `wait` for a moment, a message or a condition."""
