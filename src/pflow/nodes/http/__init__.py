"""The `http` node, and which addresses steps may reach."""
