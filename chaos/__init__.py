"""Breaks a place on purpose, again and again, and judges from what the steps left behind whether its runs noticed."""
