"""Documents that a model writes and mends: prompts from versioned files, foreign text fenced, answers read strictly."""
