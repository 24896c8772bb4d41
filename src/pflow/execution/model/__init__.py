"""Language models in documents: what `llm` steps may ask, what is known of their answers, and who may answer."""
