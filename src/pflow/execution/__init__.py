"""From a workflow to an outcome: finds, checks, begins and concludes runs, and chooses the adapters."""
