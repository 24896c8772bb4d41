"""The `wait` node: for a duration, until a moment, for a message, or until a file or an endpoint is as it should be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Annotated, Any

from pocketflow import AsyncNode

from pflow.core.clock import now
from pflow.core.duration import read_seconds
from pflow.core.errors import SecurityError, StepError, StepTimeout
from pflow.core.event import StepAnswered
from pflow.core.moment import FORM, read_moment, show_moment
from pflow.engine.asking.moment import LONGEST_INTERVAL_SECONDS
from pflow.engine.asking.question import LONGEST_SECONDS, Question
from pflow.engine.context import current_step
from pflow.nodes import param
from pflow.nodes.waiting.ask import seconds_of

KINDS = ("for", "until", "file", "url", "message")
"""What can be waited for, one in each step."""

Condition = Callable[[object, int], object]


class Wait(AsyncNode):
    """Wait for a duration, until a moment, for a message, or until a file or an HTTP endpoint is as it should be.

    Give one of `for`, `until`, `file`, `url` and `message`. `when` is a condition on `value`: of a file `exists`,
    `size`, `modified` and `text`; of an endpoint `status_code` and `response`; of a message its fields. Without it, a
    file has to exist, and an endpoint to answer with success. Short waits stay in the process that runs the workflow;
    for longer ones the run has the status `waiting` and needs no process. A message is sent with `pflow send`.
    """

    name = "wait"
    synonyms = (
        "sleep",
        "pause",
        "delay",
        "hold on for seconds, minutes or hours",
        "until tomorrow or a time of day",
        "until a file appears",
        "poll until a page or service is ready",
        "timer",
        "for an event, signal or message",
        "take a break",
        "do nothing for a while",
        "hang on until something exists, finishes or is ready",
        "later",
        "some time",
        "at nine o'clock, monday or midnight",
        "cool down",
        "not before",
    )
    purity = "read"
    waits = True
    actions = ("default", "timeout", "error")

    class Params:
        for_: Annotated[float | str, "How long: seconds, or a string such as 90s, 15m, 2h, 3d"] = ""
        until: Annotated[str, "A moment such as 2026-11-18T09:30:00Z, or a time of day such as 18:30"] = ""
        file: Annotated[str, "The path of a file to look at"] = ""
        url: Annotated[str, "An http(s) address to look at, with GET", "slot:url"] = ""
        message: Annotated[str, "The name of a message to wait for", "slot:raw"] = ""
        when: Annotated[str, "A condition on `value`, such as value.status_code == 200", "slot:check"] = ""
        headers: Annotated[dict[str, Any] | None, "Headers of the requests to `url`"] = None
        interval: Annotated[float | str, "How long between two looks at a file or an address"] = 10
        backoff: Annotated[float, "How many times as long each further interval is"] = 1.0
        timeout: Annotated[float | str, "How long to wait at most; the step then ends with `timeout`"] = ""

    class Outputs:
        at: Annotated[str, "When the wait was over, such as 2026-11-18T09:30:00Z"]
        waited: Annotated[float, "Seconds that it took"]
        value: Annotated[Any, "The message, or what the last look found"]

    async def exec_async(self, prep_res: object) -> StepAnswered:
        """Wait."""
        step = current_step()
        if step.ask is None:
            raise StepError("a `wait` step needs a run to wait in")
        kind = _kind(self.params)
        condition: Condition | None = self.params.get("when") or None
        question = question_of(kind, self.params, now())
        if kind == "message":
            accept = None if condition is None else lambda value: bool(condition(value, 0))
            return await step.ask(question, accept=accept)
        look = _look(kind, self.params, condition) if kind in ("file", "url") else None
        return await step.ask(question, look=look)

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: StepAnswered) -> str:
        """Write what came, and when."""
        answered = exec_res
        if answered.outcome != "answered":
            raise StepTimeout("what was waited for did not come in time")
        shared.update(at=show_moment(answered.at), waited=answered.waited, value=answered.answer.get("value"))
        return "default"


def question_of(kind: str, params: Mapping[str, Any], moment: float) -> Question:
    """What the parameters of a step wait for, at the `moment` at which it begins."""
    timeout = seconds_of(params, "timeout")
    if kind == "for":
        seconds = read_seconds(params["for"])
        if seconds is None or not 0 <= seconds <= LONGEST_SECONDS:
            raise param.wrong("for", "a duration such as `90s`, `15m`, `2h` or `3d`", params["for"])
        return Question(kind="timer", seconds=seconds)
    if kind == "until":
        until = read_moment(params["until"], moment)
        if until is None:
            raise StepError(f"`until` must be {FORM}, not `{params['until']}`")
        return Question(kind="timer", until=until, bound=str(params["until"]))
    if kind == "message":
        name = param.required_text(params, "message")
        return Question(kind="message", form={"message": name}, seconds=timeout, who="any", prompt=f"message `{name}`")
    interval = seconds_of(params, "interval", LONGEST_INTERVAL_SECONDS) or 10.0
    backoff = param.number(params, "backoff", 1.0, least=1, most=100)
    what = param.required_text(params, kind)
    form = {"interval": interval, "backoff": backoff}
    return Question(kind="check", form=form, seconds=timeout, who="any", prompt=f"{kind} `{what}`")


def _kind(params: Mapping[str, Any]) -> str:
    given = [kind for kind in KINDS if params.get(kind) not in (None, "")]
    if len(given) != 1:
        raise StepError(f"a `wait` step needs exactly one of {', '.join(f'`{kind}`' for kind in KINDS)}")
    return given[0]


def _look(kind: str, params: Mapping[str, Any], condition: Condition | None) -> Callable[[], Awaitable[object]]:
    """Looks once: gives what there is if it is as it should be."""
    if kind == "file":
        from pflow.nodes.waiting.file_look import look_at_file  # lazy: few steps wait for a file

        find: Callable[[], Awaitable[dict[str, object]]] = lambda: look_at_file(params)  # noqa: E731
    else:
        from pflow.nodes.waiting.url_look import look_at_url  # lazy: few steps wait for an address

        find = lambda: look_at_url(params)  # noqa: E731

    async def look() -> object:
        try:
            value = await find()
        except SecurityError:
            raise
        except StepError as error:
            current_step().report(f"not yet: {error.message}")
            return None
        if condition is None:
            return value if value.get("exists", True) else None
        try:
            return value if condition(value, 0) else None
        except StepError as error:
            if int(str(value.get("status_code", 0))) < 400:
                raise
            current_step().report(f"not yet: {error.message}")  # an answer of this kind says nothing of what is asked
            return None

    return look
