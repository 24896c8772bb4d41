"""Has programs of agents work through one script, and reads the sessions that they write: all hold the same calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dev_install import ROOT, SCRIPTS
from dev_script import ANSWER, Script, Turn

LIMIT = 150
SERVER = ROOT / "tests" / "mcp" / "step" / "scripted.py"
LISTED = {"files": [{"name": "a.txt", "size": 3}, {"name": "b.txt", "size": 5}]}
TURNS = (
    Turn("shell", {"command": "echo a.txt b.txt"}),
    Turn("list_files", {}),
    Turn("count_words", {"text": "a.txt"}),
    Turn("count_words", {"text": "b.txt"}),
    Turn("shell", {"command": "exit 3"}),
)
WANTED = [
    ["shell", "", {"command": "echo a.txt b.txt"}, {"stdout": "a.txt b.txt", "stderr": "", "exit_code": 0}, True],
    ["mcp", "list_files", {}, LISTED, True],
    ["mcp", "count_words", {"text": "a.txt"}, {"words": 1}, True],
    ["mcp", "count_words", {"text": "b.txt"}, {"words": 1}, True],
    ["shell", "", {"command": "exit 3"}, {"stdout": "", "stderr": "", "exit_code": 3}, False],
]


class Program(NamedTuple):
    """A host: which package has it, what to call, and whose sessions pflow then reads."""

    name: str
    package: str
    program: str
    words: Sequence[str]
    host: str


PROGRAMS = (
    Program(
        "claude -p, its session (2.1.325)",
        "claude",
        "claude",
        ("-p", "count", "--allowedTools", "Bash", "mcp__words__list_files", "mcp__words__count_words"),
        "claude",
    ),
    Program(
        "claude -p, its session (2.1.197)",
        "claude-older",
        "claude",
        ("-p", "count", "--allowedTools", "Bash", "mcp__words__list_files", "mcp__words__count_words"),
        "claude",
    ),
    Program("codex exec, its session", "codex", "codex", ("exec", "--skip-git-repo-check", "count"), "codex"),
    Program("opencode run, its session", "opencode", "opencode", ("run", "-m", "loop/scripted", "count"), "opencode"),
    Program(
        "gemini -p, its session",
        "gemini",
        "gemini",
        ("-p", "count", "-m", "gemini-2.5-flash", "--yolo", "--skip-trust"),
        "gemini",
    ),
)


def configure(person: Path, url: str) -> dict[str, str]:
    """The configurations of all hosts, each with the one server, and what they find in the environment."""
    script = person / "words.json"
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    script.write_text(
        json.dumps(
            {
                "protocol": "2025-06-18",
                "tools": [
                    {"name": "list_files", "description": "List files", "inputSchema": {"type": "object"}},
                    {"name": "count_words", "description": "Count words", "inputSchema": text},
                ],
                "replies": {
                    "list_files": [{"result": _reply(LISTED)}],
                    "count_words": [{"result": _reply({"words": 1})}],
                },
            }
        )
    )
    argv = [sys.executable, "-S", "-E", str(SERVER), str(script)]
    server = {"command": argv[0], "args": argv[1:]}
    _write(person / ".mcp.json", {"mcpServers": {"words": server}})
    _write(
        person / ".claude.json",
        {"hasCompletedOnboarding": True, "mcpServers": {"words": {"type": "stdio", **server}}},
    )
    codex = person / ".codex" / "config.toml"
    codex.parent.mkdir(exist_ok=True)
    codex.write_text(
        f'model = "scripted"\nmodel_provider = "loopback"\nsandbox_mode = "danger-full-access"\n'
        f'approval_policy = "never"\n[model_providers.loopback]\nname = "loopback"\nbase_url = "{url}/v1"\n'
        f'wire_api = "responses"\n[mcp_servers.words]\ncommand = {json.dumps(argv[0])}\nargs = {json.dumps(argv[1:])}\n'
    )
    model = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "none"}}
    local = {"type": "local", "command": argv, "enabled": True}
    _write(
        person / ".config" / "opencode" / "opencode.json",
        {"provider": {"loop": {**model, "models": {"scripted": {}}}}, "mcp": {"words": local}, "permission": "allow"},
    )
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(person / ".gemini" / "settings.json", {**auth, "mcpServers": {"words": {**server, "trust": True}}})
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def attempt_session(program: Program, env: Mapping[str, str], folder: Path) -> str:
    """What is wrong with the session of a host; nothing if it holds the calls of the script."""
    person = Path(env["HOME"])
    with Script(TURNS) as model:
        own = {**env, **configure(person, model.url)}
        argv = [str(folder / program.package / "node_modules" / ".bin" / program.program), *program.words]
        try:
            done = subprocess.run(
                argv,
                env=own,
                cwd=person,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"")[-1000:], (late.stderr or b"")[-1000:]
            return f"it did not end within {LIMIT} s\n{said}"
    if ANSWER not in done.stdout + done.stderr:
        return f"exit code {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"
    return _compare(program.host, own, person)


READ = """
import json, sys
from pathlib import Path
from pflow.core.session.find import find_sessions, read_session
[found] = find_sessions(directory=Path.cwd(), host=sys.argv[1], limit=1)
session = read_session(found.path, found.id)
calls = [call for call in session.calls if call.kind != "look"]
print(json.dumps([
    [call.kind, call.tool if call.kind == "mcp" else "", call.arguments, call.result, call.ok] for call in calls
]))
"""


def _compare(host: str, env: Mapping[str, str], person: Path) -> str:
    read = subprocess.run(
        [str(ROOT / ".venv" / SCRIPTS / "python"), "-c", READ, host],
        env=env,
        cwd=person,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    if read.returncode:
        return f"its session cannot be read\n{read.stderr[-2000:]}"
    calls = json.loads(read.stdout)
    return "" if calls == WANTED else f"its session holds other calls:\n{json.dumps(calls, indent=1)}"


def _reply(value: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
