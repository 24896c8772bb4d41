"""How often and how fast steps are tried: limits, waits that a stop ends, and conditions to be met."""
