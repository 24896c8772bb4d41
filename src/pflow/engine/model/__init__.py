"""Language models as the engine sees them: who answers prompts, and what a run may spend on that."""
