"""Language models: the `llm` node, and the pictures that go with prompts."""
