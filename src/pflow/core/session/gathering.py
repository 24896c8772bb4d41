"""Puts a session together from what a reader comes across, in whatever order; knows no host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from pflow.core.json_type import Json, JsonView, objects_in
from pflow.core.session.call import Call, Prompt, Session, ToolKind
from pflow.core.session.lines import text_of, whole_json

_DEEPEST = 100
"""Deeper values are not kept: nothing that goes through values should have to fear them."""

_NOTES: Mapping[str, tuple[str, str]] = {
    "line": ("1 record could not be read", "{} records could not be read"),
    "image": ("1 image was left out", "{} images were left out"),
    "cut": ("the host kept only a part of 1 result", "the host kept only a part of {} results"),
    "no-result": ("1 call has no result", "{} calls have no result"),
    "file": ("1 file of the session could not be read", "{} files of the session could not be read"),
    "deep": ("1 value was nested too deeply to be kept", "{} values were nested too deeply to be kept"),
    "compacted": ("the host compacted the conversation once", "the host compacted the conversation {} times"),
    "rewound": ("the conversation was rewound once", "the conversation was rewound {} times"),
    "server": (
        "the server of 1 tool is a guess: its name is not told apart from the tool's",
        "the servers of {} tools are a guess: their names are not told apart from the tools'",
    ),
}
"""What can be said of a session, once and many times."""

Tool = tuple[ToolKind, Mapping[str, str]]
"""What one of a host's own tools does, and pflow's names for those of its arguments that matter."""


class Draft:
    """A call whose result may still come."""

    def __init__(self, kind: ToolKind, tool: str) -> None:
        self.kind: ToolKind = kind
        self.tool = tool
        self.server = ""
        self.arguments: Json = {}
        self.result: object = None
        self.is_ended = self.ok = self.is_cut = False
        self.at: float | None = None
        self.directory = self.said = ""
        self.group: Hashable = None

    def end(self, result: object, *, ok: bool, is_cut: bool = False) -> None:
        """What the call gave; the last one to say so is right."""
        self.result, self.ok, self.is_cut, self.is_ended = result, ok, self.is_cut or is_cut, True

    def end_shell(self, stdout: str, stderr: str, code: int, *, ok: bool | None = None, is_cut: bool = False) -> None:
        """The same of a command, in the form that the `shell` step has."""
        texts = {"stdout": stdout.rstrip("\n"), "stderr": stderr.rstrip("\n")}
        self.end({**texts, "exit_code": code}, ok=code == 0 if ok is None else ok, is_cut=is_cut)


class Gathering:
    """What is known of a session so far."""

    def __init__(self, host: str, id: str) -> None:
        self.host, self.id, self.directory, self.answer = host, id, "", ""
        self.started_at: float | None = None
        self.drafts: dict[Hashable, Draft] = {}
        self._order: list[tuple[float, Draft | str]] = []
        self._notes: Counter[str] = Counter()
        self._said: list[str] = []
        self._groups = 0
        self._last_at = 0.0
        self._is_open = False

    def note(self, what: str) -> None:
        """Count something that the reader could not make use of."""
        self._notes[what] += 1

    def see(self, *, at: float | None = None, directory: str = "", id: str = "") -> None:
        """Where and when the session began; the first one to say so is right."""
        self.started_at = at if self.started_at is None else self.started_at
        self.directory = self.directory or directory
        self.id = self.id or id

    def prompt(self, text: str, at: float | None = None) -> None:
        """The user wrote something."""
        if text.strip():
            self._add(text, at)
            self._said.clear()

    def say(self, text: str, *, is_answer: bool = True) -> None:
        """The agent wrote something; a text that is told twice counts once."""
        if text.strip() and text not in self._said:
            self._said.append(text)
            self.answer = text if is_answer else self.answer

    def begin(
        self,
        key: Hashable,
        tool: Tool | None,
        name: str,
        arguments: object,
        *,
        server: str = "",
        at: float | None = None,
        directory: str = "",
        group: Hashable = None,
    ) -> Draft:
        """The agent called a tool: one of the host's own, or one of `server`. A call that is told twice counts once."""
        if key in self.drafts:
            return self.drafts[key]
        given = arguments if isinstance(arguments, dict) else {}
        kind: ToolKind = "mcp" if server else tool[0] if tool else "other"
        draft = Draft(kind, name)
        names = tool[1] if tool and not server else {}
        draft.arguments = {own: given[theirs] for theirs, own in names.items() if theirs in given} if names else given
        draft.is_cut = kind == "read-file" and not {"offset", "limit", "start_line", "end_line"}.isdisjoint(given)
        draft.server, draft.at = server, at
        draft.directory = directory or text_of(given.get("workdir")) or self.directory
        draft.said = "\n".join(self._said) or text_of(given.get("description") if kind == "shell" else "")
        if group is None:
            self._groups += not self._is_open
            group = self._groups
        draft.group, self._is_open = group, True
        self._said.clear()
        self.drafts[key] = draft
        self._add(draft, at)
        return draft

    def ended(self, key: Hashable) -> Draft | None:
        """The call that a result belongs to, if there is one; calls after this are not made beside it."""
        self._is_open = False
        return self.drafts.get(key)

    def turn_to(self) -> None:
        """Another file of the session begins."""
        self._said.clear()
        self._is_open, self._last_at = False, 0.0

    def text_in(self, blocks: object) -> list[str]:
        """The texts among blocks of content; images are noted."""
        texts = [blocks] if isinstance(blocks, str) else []
        for block in objects_in(blocks):
            if block.get("type") in ("image", "input_image"):
                self.note("image")
            elif isinstance(block.get("text"), str):
                texts.append(text_of(block["text"]))
        return texts

    def mcp_result(self, result: JsonView) -> object:
        """The structured content of a result, the JSON that its text is, or the text."""
        if result.get("structuredContent") is not None:
            return result["structuredContent"]
        return value_of(self.text_in(result.get("content")))

    def session(self) -> Session:
        """All of it, in the order of time."""
        calls: list[Call] = []
        prompts: list[Prompt] = []
        groups: dict[Hashable, int] = {}
        for _, entry in sorted(self._order, key=lambda item: item[0]):
            if isinstance(entry, Draft):
                calls.append(self._finish(entry, len(calls) + 1, groups.setdefault(entry.group, len(groups) + 1)))
            else:
                prompts.append(Prompt(text=entry, before=len(calls) + 1))
        notes = [_NOTES[what][count > 1].format(count) for what, count in self._notes.items()]
        return Session(
            host=self.host,
            id=self.id,
            directory=self.directory,
            started_at=self.started_at,
            prompts=tuple(prompts),
            calls=tuple(calls),
            answer=self.answer,
            notes=tuple(notes),
        )

    def _add(self, entry: Draft | str, at: float | None) -> None:
        """Within a file the order is that of its lines, whatever its clock says."""
        self._last_at = max(self._last_at, at or 0.0)
        self._order.append((self._last_at, entry))

    def _finish(self, draft: Draft, number: int, group: int) -> Call:
        arguments, result = draft.arguments, draft.result
        if is_deep(arguments) or is_deep(result):
            self.note("deep")
            arguments, result = ({} if is_deep(arguments) else arguments), (None if is_deep(result) else result)
            draft.is_cut = True
        if not draft.is_ended:
            self.note("no-result")
        elif draft.is_cut:
            self.note("cut")
        return Call(
            number=number,
            kind=draft.kind,
            tool=draft.tool,
            server=draft.server,
            arguments=arguments,
            result=result,
            ok=draft.ok,
            is_cut=draft.is_cut,
            at=draft.at,
            directory=draft.directory,
            group=group,
            said=draft.said,
        )


def value_of(texts: list[str]) -> object:
    """What texts of a result are together, as steps see it: one value, several, or all of the text."""
    values = [whole_json(text) for text in texts]
    if len(values) == 1:
        return values[0]
    if not values:
        return None
    return "\n".join(texts) if any(isinstance(value, str) for value in values) else values


def is_deep(value: object) -> bool:
    """Whether a value is nested more deeply than values of a session may be."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for part in level if isinstance(part, dict | list) for inner in _parts(part)]
        if not level:
            return False
    return True


def _parts(value: dict[str, object] | list[object]) -> list[object]:
    return [part for part in (value.values() if isinstance(value, dict) else value) if isinstance(part, dict | list)]
