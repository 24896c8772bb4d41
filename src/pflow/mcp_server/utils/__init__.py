"""What a call's arguments mean, and what an agent may set."""
