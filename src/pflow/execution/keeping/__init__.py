"""State between runs in documents: under which name it is kept, and whether what steps set can become real."""
