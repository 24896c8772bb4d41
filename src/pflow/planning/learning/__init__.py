"""Learning a workflow from what an agent did in a session: pure functions over its calls. No model takes part."""
