"""Tokens for remote servers: logging in, renewing, forgetting."""
