"""The options that settings can hold: names, types, defaults. Credentials are not options.

Beside single options there are families, `PREFIX.NAME.FIELD`, in which a person chooses the names.
"""

from __future__ import annotations

from collections.abc import Mapping

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


class PublicAddress(Option):
    """An option that holds an address, which everybody may read."""

    def parse(self, value: object) -> str | int | bool | None:
        """The address; raises `UsageError` for one with a password, without repeating it."""
        if isinstance(value, str) and ":" in value.partition("://")[2].rpartition("@")[0]:
            raise UsageError(
                "this address holds a password, and settings are shown in clear",
                suggestions=[
                    "leave it out, store it as a credential, and name that in `journal_password` beside the address"
                ],
            )
        return super().parse(value)


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
    "llm.default": Option("", "the model that answers where a step names none", policy=True),
    "llm.agents": Option("", "installed agents that may answer as models: `claude`, `codex`, `gemini`", policy=True),
}

_TLS = ("auto", "verify", "encrypt", "off")

FAMILIES: Mapping[str, Mapping[str, Option]] = {
    "llm.models": {
        "provider": Option("", "whose model it is; `pflow llm list` names the providers", policy=True),
        "model": Option("", "the id that the provider gives the model", policy=True),
        "base_url": Option("", "where requests go, if not to the provider's own address", policy=True),
        "wire": Option("", "the protocol, if not that of the provider", ("chat", "responses", "messages"), policy=True),
        "key": Option("", "the credential or environment variable that holds the key", policy=True),
        "strict": Option("auto", "how an answer is made to fit a schema", ("auto", "on", "off", "prompt"), policy=True),
        "context": Option(0, "tokens that fit into a prompt and its answer; 0 means unknown", policy=True),
        "limit": Option("", "how often it may be asked: `10/s`, `100/m` or `5/h`", policy=True),
    },
    "on": {
        "journal": PublicAddress("", "the journal: `postgresql://USER@HOST:PORT/DATABASE`", policy=True),
        "journal_password": Option("", "the credential or environment variable with its password", policy=True),
        "journal_tls": Option("auto", "`auto` verifies certificates except on this machine", _TLS, policy=True),
        "journal_ca": Option("", "file of the certificate authority, if the system does not know it", policy=True),
        "journal_cert": Option("", "file of the certificate to show to the database", policy=True),
        "journal_key": Option("", "file of its private key", policy=True),
        "pooler": Option(False, "whether a pooler in transaction mode stands before the database", policy=True),
        "temporal": Option("", "Temporal: `HOST:PORT/NAMESPACE`", policy=True),
        "temporal_tls": Option("auto", "`auto` verifies certificates except on this machine", _TLS, policy=True),
        "temporal_ca": Option("", "file of its certificate authority", policy=True),
        "temporal_cert": Option("", "file of the certificate to show to Temporal", policy=True),
        "temporal_key": Option("", "file of its private key", policy=True),
        "temporal_api_key": Option("", "the credential or environment variable with its API key", policy=True),
        "queue": Option("pflow", "the queue that workers take runs from", policy=True),
        "lease": Option(15, "seconds after which a worker that is not heard of loses its runs", policy=True),
        "key": Option("", "the credential or environment variable whose value seals credentials there", policy=True),
        "files": Option("", "directory that all workers share, for the files of runs", policy=True),
        "keep_days": Option(0, "days after which workers delete runs that have ended; 0 keeps them", policy=True),
    },
}
"""Options of things that a person names: `llm.models.NAME.FIELD`, `on.NAME.FIELD`."""

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST_NAME_CHARACTERS = 64


def known_option(key: str) -> Option | None:
    """The option that a key names, one of a family included; None if there is no such option."""
    option = OPTIONS.get(key)
    if option is None and (member := split_member(key)):
        prefix, _, field = member
        option = FAMILIES[prefix].get(field)
    return option


def split_member(key: str) -> tuple[str, str, str] | None:
    """Prefix, name and field of a key that belongs to a family; None if it does not."""
    for prefix in FAMILIES:
        name, dot, field = key.removeprefix(f"{prefix}.").rpartition(".")
        if key.startswith(f"{prefix}.") and dot and is_member_name(name):
            return prefix, name, field
    return None


def is_member_name(name: str) -> bool:
    """Whether a member of a family may be called so: small letters, digits, `_` and `-`."""
    return 0 < len(name) <= _LONGEST_NAME_CHARACTERS and name[0] not in "_-" and _NAME_CHARACTERS.issuperset(name)


def find_option(key: str) -> Option:
    """The option of that name; a `NotFoundError` that lists what exists."""
    option = known_option(key)
    if option is None:
        available = [*_members(key), *OPTIONS, *(f"{prefix}.NAME.FIELD" for prefix in FAMILIES)]
        listed = "options: " + ", ".join(f"`{name}`" for name in _members(key) or available)
        raise NotFoundError(
            f"there is no setting `{show(key)}`",
            details={"available": available},
            suggestions=[
                did_you_mean(key, available) or listed,
                "credentials are named like `GITHUB_TOKEN`: capitals, digits and `_`",
            ],
        )
    return option


def _members(key: str) -> list[str]:
    """What options a key may have been meant to name that begins like those of a family."""
    for prefix, fields in FAMILIES.items():
        if key == prefix or key.startswith(f"{prefix}."):
            name = key.removeprefix(prefix).removeprefix(".").partition(".")[0]
            return [f"{prefix}.{name if is_member_name(name) else 'NAME'}.{field}" for field in fields]
    return []


def parse_option(key: str, value: object, *, source: str = "") -> str | int | bool:
    """The value of an option in its type; a `UsageError` that says what it takes."""
    option = find_option(key)
    parsed = option.parse(value)
    if parsed is None:
        by_default = f", by default `{str(option.default).lower()}`" if option.default != "" else ""
        raise UsageError(
            f"`{show(str(value))}` is not a valid value for `{key}`{source}",
            suggestions=[f"it takes {option.takes()}{by_default}"],
        )
    return parsed
