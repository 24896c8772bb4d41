"""Schedules: adding and listing them, starting what is due, and whatever sees to it that this happens."""
