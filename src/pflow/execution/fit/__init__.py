"""Whether values fit what takes them: templates by what is known of their types, constants by their schema."""
