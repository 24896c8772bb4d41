"""Language models: configuring them, listing who could answer, and trying them."""
