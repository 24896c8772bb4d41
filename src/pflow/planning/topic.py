"""What people look for among node types that pflow does otherwise, by a command or a field. Pure."""

from __future__ import annotations

import re

from pflow.core.advice import Advice
from pflow.core.frozen import Frozen
from pflow.planning.query_word import split_query


class _Topic(Frozen):
    words: re.Pattern[str]
    advice: str


def _topic(words: str, advice: str) -> _Topic:
    return _Topic(words=re.compile(rf"\b(?:{words})\b", re.IGNORECASE), advice=advice)


_MOST_CHARACTERS = 2_000
_UNITS = (
    "second|minute|hour|day|night|morning|evening|week|weekday|month|year|"
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)

_TOPICS = (
    _topic(
        rf"every (?:\w+ )?(?:{_UNITS})s?|(?:each|once an?|twice an?) (?:{_UNITS})|hourly|daily|nightly|weekly|monthly|"
        r"yearly|cron\w*|crontab|on a schedule|schedul\w+|periodic\w*|at regular intervals|recurring",
        Advice("a schedule is a command and not a node: `{add_schedule}` runs a saved workflow again and again"),
    ),
    _topic(
        r"loop(?:s|ing)?|for ?each|iterat\w+|for (?:every|each|all)\b.*|each (?:item|element|row|entry|line|file)|"
        r"(?:over|through) (?:a|the|all|each|every) (?:\w+ )?(?:list|items|elements|rows|lines|array|files)",
        "`batch` is a field of any node, which then runs once per item; `map` and `filter` compute on lists",
    ),
    _topic(
        r"parallel\w*|concurren\w+|simultaneous\w*|at the same time|at once|fan ?out",
        "parallel steps need no node: several edges from one node, or a `batch` with `concurrency`",
    ),
    _topic(
        r"retr(?:y|ies|ying)|try again|(?:until|till) it (?:works|succeeds)|again (?:if|when|after|until)\b.*|backoff",
        "`retry` is a field of any node: how often a failed step is tried again, and how long it waits before",
    ),
    _topic(
        r"if then|if else|only (?:if|when)|unless|conditional(?:ly)?|otherwise|(?<![\w ])if\b.*",
        "`when` is a field of any node, which then runs only if a condition holds; `switch` chooses between paths",
    ),
    _topic(
        r"(?:handle|catch|ignore|on|after|in case of) (?:an? |the |any )?(?:errors?|failures?|exceptions?)|"
        r"(?:when|if) (?:it|something|a step|anything) (?:fails|goes wrong|breaks)|error handling|fallback",
        "`on: {error: NODE}` says where to go on after a failure; `on_failure` and `finally` are fields beside it",
    ),
)


def topic_advice(task: str) -> list[str]:
    """What to do about parts of a task that no node type is for."""
    return [topic.advice for topic in _TOPICS if topic.words.search(task[:_MOST_CHARACTERS])]


def without_schedule(task: str) -> str:
    """The task without when it is to be done, which no node type is for; as it is if it says nothing else."""
    rest = _TOPICS[0].words.sub(" ", task[:_MOST_CHARACTERS])
    return rest if split_query(rest) and rest != task[:_MOST_CHARACTERS] else task
