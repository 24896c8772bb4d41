"""One call of a tool: its arguments checked before, its result in one shape after."""
