"""A call of a session as a step would make it: a node type, its params, its outputs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from pflow.core.frozen import Frozen
from pflow.core.session.call import Call
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.shell_reading import only_reads, split_directory, words_of

_REPLACE = (
    "import sys; path, old, new, most = sys.argv[1:]; text = open(path, encoding='utf-8', newline='').read(); "
    "sys.exit(f'the text to be replaced is not in {path}') if old not in text else "
    "open(path, 'w', encoding='utf-8', newline='').write(text.replace(old, new, int(most)))"
)
"""A program that edits a file: it takes its path, the text before and after, and how often, -1 for everywhere."""


class Tool(Frozen):
    """A tool of an MCP server as a node type. `field` is the one text field that its results have, if that is so."""

    type: str
    reads: bool = False
    has_schema: bool = False
    field: str = ""


FindTool = Callable[[str, str], Tool | None]
"""Gives the node type of a server's tool; None for one that is not known here."""


class Act(Frozen):
    """What a call did. `main` is the output that holds its result; `lacks` says why no step can do the same.

    Arguments at `fixed` paths are what the agent meant, wherever else the same text stands.
    """

    number: int
    type: str
    label: str
    params: Mapping[str, object] = {}
    outputs: Mapping[str, object] = {}
    main: str = "result"
    effects: bool = True
    ok: bool = True
    is_cut: bool = False
    said: str = ""
    looks: bool = False
    lacks: str = ""
    fixed: tuple[ValuePath, ...] = ()

    @property
    def told(self) -> Mapping[str, object]:
        """The outputs that say something: a call that only reads often repeats what it was given."""
        given = list(self.params.values())
        return {name: value for name, value in self.outputs.items() if self.effects or value not in given}

    @property
    def shape(self) -> tuple[object, ...]:
        """What calls have in common that may be turns of one loop."""
        command = self.params.get("command")
        words = (command[0], len(command)) if isinstance(command, list) else ()
        return (self.type, self.label, tuple(sorted(self.params)), words)


def act_of(call: Call, find: FindTool) -> Act:
    """A call as a step."""
    about = Act(
        number=call.number, type="", label=call.tool, ok=call.ok, is_cut=call.is_cut, said=call.said, looks=False
    )
    given = call.arguments
    match call.kind:
        case "shell":
            return _shell(about, call)
        case "read-file":
            path = _absolute(str(given.get("path", "")), call.directory)
            content = call.result if isinstance(call.result, str) else ""
            outputs = {"content": content, "path": path, "size": len(content.encode())}
            return about._replace(
                type="read-file", params={"path": path}, outputs=outputs, main="content", effects=False
            )
        case "write-file":
            path, text = _absolute(str(given.get("path", "")), call.directory), given.get("content", "")
            size = len(text.encode()) if isinstance(text, str) else 0
            return about._replace(
                type="write-file",
                params={"path": path, "content": text},
                outputs={"path": path, "size": size},
                main="path",
            )
        case "edit-file":
            return _edit(about, call)
        case "http":
            reads = str(given.get("method", "GET")).upper() in ("GET", "HEAD")
            return about._replace(
                type="http",
                params=given,
                outputs={"response": call.result, "status_code": 200},
                main="response",
                effects=not reads,
            )
        case "mcp":
            return _tool(about, call, find(call.server, call.tool))
        case "look":
            return about._replace(looks=True, effects=False)
        case "other" if isinstance(call.result, Mapping) and find("", call.tool) is not None:
            main = str(next(iter(call.result), "result"))
            return about._replace(type=call.tool, params=given, outputs=call.result, main=main)
        case _:
            return about._replace(lacks=f"`{call.tool}` has no step that does the same")


def _edit(about: Act, call: Call) -> Act:
    """The same text replaced again. A file in which it does not stand fails the step, as it fails the agent's call."""
    given = call.arguments
    path = _absolute(str(given.get("path", "")), call.directory)
    old, new = str(given.get("old", "")), str(given.get("new", ""))
    if not old:  # so hosts write a file that was not there
        return about._replace(
            type="write-file",
            params={"path": path, "content": new},
            outputs={"path": path, "size": len(new.encode())},
            main="path",
        )
    return about._replace(
        type="shell",
        label="edit",
        params={"command": ["python3", "-c", _REPLACE, path, old, new, "-1" if given.get("all") else "1"]},
        outputs={"stdout": "", "stderr": "", "exit_code": 0},
        main="stdout",
        fixed=(("command", 4),),
        said=about.said or "Replace in a file what the agent replaced",
    )


def _shell(about: Act, call: Call) -> Act:
    directory, command = split_directory(str(call.arguments.get("command", "")))
    directory = _absolute(directory, call.directory) if directory else call.directory
    words = words_of(command)
    params: dict[str, object] = {"command": command if words is None else words}
    if directory:
        params["cwd"] = directory
    result = call.result if isinstance(call.result, Mapping) else {"stdout": call.result}
    stdout, stderr = (str(result.get(name) or "").rstrip("\n") for name in ("stdout", "stderr"))
    return about._replace(
        type="shell",
        label=_label(words or command.split()),
        params=params,
        outputs={"stdout": stdout, "stderr": stderr, "exit_code": result.get("exit_code") or 0},
        main="stdout",
        effects=not only_reads(command),
    )


def _label(words: Sequence[str]) -> str:
    """The program of a command, with what it is told to do where it does many things."""
    program = words[0].rpartition("/")[2] if words else "shell"
    told = takewhile(lambda word: re.fullmatch(r"[a-z]+(?:-[a-z]+)*", word), words[1:3])
    most = {
        "gh": 2,
        "aws": 2,
        "gcloud": 2,
        "docker": 1,
        "git": 1,
        "npm": 1,
        "cargo": 1,
        "kubectl": 1,
        "uv": 1,
        "pip": 1,
    }
    return "-".join([program, *list(told)[: most.get(program, 0)]])


def _tool(about: Act, call: Call, tool: Tool | None) -> Act:
    if tool is None:
        return about._replace(
            type=f"mcp-{call.server}-{call.tool}".replace("_", "-").lower(),
            params=call.arguments,
            outputs={"result": call.result},
            lacks=f"server `{call.server}` is not known here, or has no tool `{call.tool}`; "
            "import the servers of that program first, then sync their tools",
        )
    result = call.result
    if isinstance(result, str) and tool.field:
        result = {tool.field: result}  # the host has kept the text only
    outputs: dict[str, object] = {}
    if tool.has_schema and isinstance(result, Mapping):
        outputs.update(result)
    if isinstance(result, Mapping) and result.keys() == {"result"}:
        result = result["result"]
    outputs["result"] = result
    return about._replace(
        type=tool.type,
        params=call.arguments,
        outputs=outputs,
        main=tool.field or "result",
        effects=not tool.reads,
    )


def _absolute(path: str, directory: str) -> str:
    return path if not directory or path.startswith(("/", "~")) else posixpath.normpath(f"{directory}/{path}")
