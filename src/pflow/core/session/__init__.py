"""What an agent did in a session, as values: its calls, what it was asked, and readers for what hosts write to disk."""
