"""Whether a prompt fits into what a model can read, and what is said if it does not."""

from __future__ import annotations

from pflow.adapters.model.message import Question
from pflow.core.errors import ModelError


def check_context(name: str, question: Question, context: int) -> None:
    """Raise `ModelError` if a prompt, with the answer that it may have, is known to be too long; 0 is not known."""
    if context and estimate_tokens(question) + (question.max_tokens or 0) > context:
        raise too_long(name, question, {"context": context}, context)


def too_long(name: str, question: Question, details: dict[str, object], context: int = 0) -> ModelError:
    """A prompt that does not fit into what a model can read."""
    characters = sum(len(turn.text) for turn in question.turns) + len(question.system)
    images = sum(len(turn.images) for turn in question.turns)
    known = f", and {name} takes {context:,}" if context else f", which is more than {name} takes"
    return ModelError(
        f"the prompt is too long: {characters:,} characters, about {estimate_tokens(question):,} tokens{known}",
        details={"characters": characters, **({"images": images} if images else {}), **details},
        suggestions=["give less to read at once, for example with a `batch` over parts of it"],
    )


def estimate_tokens(question: Question) -> int:
    """About how many tokens a prompt has: four characters each, as in English text."""
    return (sum(len(turn.text) for turn in question.turns) + len(question.system)) // 4
