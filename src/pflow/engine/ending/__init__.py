"""How an execution of a plan ends: its sections, the time that it may take, and a failure that both may be."""
