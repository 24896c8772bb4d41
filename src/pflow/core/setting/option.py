"""The options that settings can hold: names, types, defaults. Credentials are not options."""

from __future__ import annotations

from pflow.core.errors import NotFoundError, UsageError
from pflow.core.file.file_name import show
from pflow.core.suggest import did_you_mean


class Option:
    """One option. `choices` are the words it may hold; without them its default tells switch from number.

    A `policy` decides what workflows may do or reach, or what is kept of what they did; only a person sets it.
    """

    __slots__ = ("choices", "default", "description", "policy")

    def __init__(
        self, default: str | int | bool, description: str, choices: tuple[str, ...] = (), *, policy: bool = False
    ) -> None:
        self.default = default
        self.description = description
        self.choices = choices
        self.policy = policy

    def takes(self) -> str:
        """What may be stored, for people."""
        if self.choices:
            return " or ".join(f"`{choice}`" for choice in self.choices)
        if isinstance(self.default, str):
            return "a string"
        return "`true` or `false`" if isinstance(self.default, bool) else "a whole number, 0 or more"

    def parse(self, value: object) -> str | int | bool | None:
        """The value as this option's type, from text or JSON; None if it is not valid."""
        if isinstance(self.default, str) and not self.choices:
            return value.strip() if isinstance(value, str) and value.isprintable() else None
        text = str(value).strip().lower() if isinstance(value, str | int) else ""
        if self.choices:
            return text if text in self.choices else None
        if isinstance(self.default, bool):
            return {"true": True, "false": False, "yes": True, "no": False}.get(text)
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


OPTIONS = {
    "journal.sync": Option(
        "normal", "`full` survives a power cut at the price of a disk flush per step", ("normal", "full"), policy=True
    ),
    "trace.keep_days": Option(30, "days after which traces are deleted", policy=True),
    "trace.max_mb": Option(500, "megabytes of traces to keep", policy=True),
    "runs.keep_days": Option(30, "days after which ended runs are deleted", policy=True),
    "drafts.keep_days": Option(7, "days after which drafts are deleted", policy=True),
    "wait.in_process_seconds": Option(
        60, "seconds that a process waits for what comes by itself before it leaves a run waiting", policy=True
    ),
    "output.limit_kb": Option(20, "kilobytes of a value that an agent gets to see at once"),
    "http.allow_private": Option(False, "whether steps may reach addresses in private networks", policy=True),
    "http.allow_hosts": Option(
        "", "hosts that steps may always reach: `host`, `host:port`, `10.0.0.0/8`, …", policy=True
    ),
    "shell.strict": Option(False, "whether values may stand only in commands that are lists", policy=True),
    "files.allow_read": Option(
        "", "protected places that steps may read: `~/.kube/config`, `/run/secrets/*`, …", policy=True
    ),
    "ask.require_page": Option(
        False, "whether only a terminal counts as a person, and not an agent's program that asks one", policy=True
    ),
    "github.base_url": Option("", "the API of a GitHub Enterprise server", policy=True),
}


def find_option(key: str) -> Option:
    """The option of that name; a `NotFoundError` that lists what exists."""
    option = OPTIONS.get(key)
    if option is None:
        listed = "options: " + ", ".join(f"`{name}`" for name in OPTIONS)
        raise NotFoundError(
            f"there is no setting `{show(key)}`",
            details={"available": list(OPTIONS)},
            suggestions=[
                did_you_mean(key, OPTIONS) or listed,
                "credentials are named like `GITHUB_TOKEN`: capitals, digits and `_`",
            ],
        )
    return option


def parse_option(key: str, value: object, *, source: str = "") -> str | int | bool:
    """The value of an option in its type; a `UsageError` that says what it takes."""
    option = find_option(key)
    parsed = option.parse(value)
    if parsed is None:
        raise UsageError(
            f"`{show(str(value))}` is not a valid value for `{key}`{source}",
            suggestions=[f"it takes {option.takes()}, by default `{str(option.default).lower()}`"],
        )
    return parsed
