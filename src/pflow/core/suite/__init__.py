"""Test files of workflows, as values: what is given, what answers steps, and what is expected."""
