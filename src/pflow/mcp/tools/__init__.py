"""The tools of servers as node types: definitions, what changed, synchronising the registry."""
