"""Two runs beside each other: which steps went the same way, which did not, and which values differ."""
