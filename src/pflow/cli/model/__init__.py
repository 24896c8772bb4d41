"""Language models on the command line."""
