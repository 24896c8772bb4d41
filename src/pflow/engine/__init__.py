"""Runs plans durably: state as a fold of events, one rule for what runs next, ports to the world."""
