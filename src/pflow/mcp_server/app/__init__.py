"""A run in the chat: a page that hosts show beside the answers of two tools, and the data that it shows."""
