"""The skill that teaches agents to use pflow: its text, and where hosts read it."""
