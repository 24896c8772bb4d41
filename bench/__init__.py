"""Measures the budgets: what something costs here beside what it would cost at the least, in the same run."""
