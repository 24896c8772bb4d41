"""The `ask` node: a question to a person or an agent. The run can rest until it is answered, without a process."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Annotated, Any

from pocketflow import AsyncNode

from pflow.core.duration import read_seconds
from pflow.core.errors import DeclinedError, StepError, StepTimeout
from pflow.core.event import StepAnswered
from pflow.core.moment import show_moment
from pflow.engine.asking.approval import clean_prompt
from pflow.engine.asking.question import LONGEST_SECONDS, WHO, Question
from pflow.engine.context import current_step
from pflow.nodes import param


class Ask(AsyncNode):
    """Ask a person, or the agent that started the run, and go on with the answer.

    The answer can come at once at a terminal, later with `pflow answer`, over MCP, or from a program: the first valid
    one counts. A run that has nothing else to do has the status `waiting` and needs no process. With `choices`, the
    step ends with the action that has the name of the choice. Without an answer in time, the choice `default` counts,
    or else the step ends with `timeout`. Whoever declines chooses the default as well, or else the step ends with
    `declined`.
    """

    name = "ask"
    synonyms = (
        "ask someone",
        "get approval",
        "approve or reject",
        "let a human decide",
        "confirm with a person or user before going on",
        "question",
        "form",
        "permission",
        "review by hand",
        "manual step",
        "wait for an answer",
        "sign off by a manager, boss or colleague",
        "prompt the operator for input",
        "okay from somebody",
        "human in the loop",
        "choice of a person",
        "consent, feedback, opinion",
        "let me check it first",
        "interactive",
    )
    purity = "read"
    waits = True
    choice_param = "choices"
    actions = ("default", "declined", "timeout", "error")

    class Params:
        prompt: Annotated[str, "The question, as plain text"]
        show: Annotated[dict[str, Any], "Values to show beside it, by name"] = {}  # noqa: RUF012
        choices: Annotated[list[str], "Answers to choose from; each is an action as well", "slot:raw"] = []  # noqa: RUF012
        schema: Annotated[
            dict[str, Any], "Fields to fill in, by name, each such as {type: string, default: ''}", "slot:raw"
        ] = {}  # noqa: RUF012
        who: Annotated[str, "Who may answer: person, agent or any", "slot:raw"] = "person"
        timeout: Annotated[float | str, "How long to wait for an answer, such as 3d; needs `default` or an edge"] = ""
        default: Annotated[str, "The choice that counts when nobody answers in time", "slot:raw"] = ""

    class Outputs:
        choice: Annotated[str, "What was chosen"]
        answer: Annotated[dict[str, Any], "The fields, by name"]
        by: Annotated[str, "Who answered"]
        via: Annotated[str, "How: terminal, mcp, python, timeout, …"]
        at: Annotated[str, "When, such as 2026-11-18T09:30:00Z"]

    async def exec_async(self, prep_res: object) -> StepAnswered:
        """Wait for the answer."""
        ask = current_step().ask
        if ask is None:
            raise StepError("an `ask` step needs a run to wait in")
        return await ask(question_of(self.params))

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: StepAnswered) -> str:
        """Write the answer, and take the way of the choice."""
        default = str(self.params.get("default") or "")
        choice = exec_res.answer.get("choice")
        if exec_res.outcome != "answered":
            if not default:
                raise _refusal(exec_res)
            choice = default
        shared.update(
            choice=choice if choice is not None else "",
            answer=exec_res.answer.get("answer") or _defaults(param.mapping(self.params, "schema")),
            by=exec_res.by,
            via=exec_res.via,
            at=show_moment(exec_res.at),
        )
        return str(choice) if choice is not None else "default"


def question_of(params: Mapping[str, Any]) -> Question:
    """The question that the parameters of a step describe."""
    form: dict[str, object] = {}
    if choices := param.strings(params, "choices"):
        form["choices"] = choices
    if fields := param.mapping(params, "schema"):
        form["fields"] = fields
    if default := param.text(params, "default"):
        form["default"] = default
    who = param.choice(params, "who", WHO)
    return Question(
        kind="question",
        prompt=clean_prompt(param.required_text(params, "prompt", "say what is asked")),
        show=param.mapping(params, "show"),
        form=form,
        who=next(one for one in WHO if one == who),
        seconds=seconds_of(params, "timeout"),
    )


def seconds_of(params: Mapping[str, Any], name: str, most: float = LONGEST_SECONDS) -> float | None:
    """A duration among the parameters of a step; None if there is none."""
    value = params.get(name)
    if value is None or value == "":
        return None
    seconds = read_seconds(value)
    if seconds is None or not 0 < seconds <= most:
        raise param.wrong(name, "a duration above 0, such as `90s`, `15m`, `2h` or `3d`", value)
    return seconds


def _defaults(fields: Mapping[str, Any]) -> dict[str, object]:
    return {
        name: schema["default"]
        for name, schema in fields.items()
        if isinstance(schema, Mapping) and "default" in schema
    }


def _refusal(answered: StepAnswered) -> StepError:
    if answered.outcome == "timed_out":
        return StepTimeout("nobody answered in time")
    by = f" by {answered.by}" if answered.by else ""
    return DeclinedError(f"the question was declined{by}")
