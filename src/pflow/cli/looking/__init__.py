"""Runs as text for people: their steps, items and values, two of them compared, and those that go on, live."""
