"""Schedules as values: when they are due, and what their policies make of a due time. Reads no clock, runs nothing."""
