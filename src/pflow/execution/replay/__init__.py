"""Recording runs as cassettes, and playing them again."""
