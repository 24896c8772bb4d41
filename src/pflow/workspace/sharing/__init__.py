"""Workflows of others: what they need, what they can do, and taking them into the library."""
