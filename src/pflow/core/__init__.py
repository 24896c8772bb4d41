"""What everything stands on: documents, templates, events, errors, settings and files. Runs nothing."""
