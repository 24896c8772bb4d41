"""What is known about a server before anyone talks to it: configuration, consent, state, credentials."""
