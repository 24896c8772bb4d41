"""Steps that wait: for an answer, a moment, a message or a condition, in this process or in none."""
