"""The GitHub nodes."""
