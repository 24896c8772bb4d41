"""Has real MCP clients talk to `pflow serve mcp`: an inspector that warns of bad definitions, and hosts of agents.

They are installed into `.cache/hosts`, exactly these versions, and run in a home of their own, without a network. Where
a host needs a model, it gets one that calls a workflow which asks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dev_install import CACHE, ROOT, SCRIPTS, SetupError, exclusive, quietly, report, say
from dev_model import DONE, Call, Model
from dev_sessions import PROGRAMS, attempt_session

FOLDER = CACHE / "hosts"
STAMP = FOLDER / "installed"
BIN = ROOT / ".venv" / SCRIPTS

PACKAGES = {
    "node": "node@22.23.3",
    "inspector": "@modelcontextprotocol/inspector@2.12.0",
    "claude": "@anthropic-ai/claude-code@2.1.325",
    "claude-older": "@anthropic-ai/claude-code@2.1.197",
    "opencode": "opencode-ai@1.18.33",
    "mcporter": "mcporter@0.9.0",
    "codex": "@openai/codex@0.166.0",
    "gemini": "@google/gemini-cli@0.61.0",
}
"""Each in a folder of its own: they do not agree on what they depend on, and two are versions of one."""

LIMIT = 120
SERVER = ["pflow", "serve", "mcp"]


class Host(NamedTuple):
    """A client: which package has it, what to call, and what it says when all is well."""

    name: str
    package: str
    program: str
    words: Sequence[str]
    wanted: str


HOSTS = (
    Host("mcp-inspector --strict", "inspector", "mcp-inspector", (), r'"workflow_execute"'),
    Host("claude mcp list (2026-07-28)", "claude", "claude", ("mcp", "list"), r"pflow: .* Connected"),
    Host("claude mcp list (2025-11-25)", "claude-older", "claude", ("mcp", "list"), r"pflow: .* Connected"),
    Host("opencode mcp list", "opencode", "opencode", ("mcp", "list"), r"pflow.*connected"),
    Host("mcporter list", "mcporter", "mcporter", ("list", "--stdio", " ".join(SERVER)), r"workflow_execute\("),
)
INSPECT = ("--cli", *SERVER, "--method", "tools/list", "--strict")


ASKS = {
    "name": "asking",
    "nodes": [
        {"id": "ask", "type": "ask", "params": {"prompt": "Post it?", "choices": ["post", "stop"]}},
        {"id": "after", "type": "echo", "params": {"chosen": "${ask.choice}"}},
    ],
}
CALL = Call("workflow_execute", {"workflow": ASKS})

ASKED = (
    Host(
        "claude -p, asked (2026-07-28)",
        "claude",
        "claude",
        ("-p", "go", "--allowedTools", "mcp__pflow__workflow_execute"),
        DONE,
    ),
    Host(
        "claude -p, asked (2025-11-25)",
        "claude-older",
        "claude",
        ("-p", "go", "--allowedTools", "mcp__pflow__workflow_execute"),
        DONE,
    ),
    Host("codex exec, asked (2025-06-18)", "codex", "codex", ("exec", "--skip-git-repo-check", "go"), DONE),
)
"""Hosts that run without a person, which have to leave a run waiting that asks one."""


def ensure() -> None:
    """Install what is missing. Raises `SetupError`."""
    if all(is_installed(name) for name in PACKAGES):
        return
    with exclusive("hosts"):
        missing = [name for name in PACKAGES if not is_installed(name)]
        if not missing:
            return
        say("installing clients into .cache/hosts (once) …")
        npm = shutil.which("npm")
        if npm is None:
            raise SetupError("there is no npm here; install Node.js 20 or newer")
        silent = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
        for name in missing:
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            (FOLDER / name).mkdir(parents=True)
            line = [npm, "install", "--prefix", str(FOLDER / name), *silent, PACKAGES[name]]
            done = quietly(line)
            if done.returncode:
                raise SetupError(f"npm could not install {PACKAGES[name]}\n" + report(line, done))
            stamp(name).write_text(PACKAGES[name])


def stamp(name: str) -> Path:
    """Says which version of a package is installed."""
    return FOLDER / f"{name}.installed"


def is_installed(name: str) -> bool:
    """Whether a package is there, in its version."""
    if stamp(name).exists():
        return stamp(name).read_text() == PACKAGES[name]
    try:  # as it was written when all of them were installed together
        return bool(json.loads(STAMP.read_text()).get(name) == PACKAGES[name])
    except (OSError, ValueError):
        return False


def surroundings(person: Path) -> dict[str, str]:
    """A home of its own, and a node that is new enough."""
    node = FOLDER / "node" / "node_modules" / "node" / "bin"
    return {
        "HOME": str(person),
        "PFLOW_HOME": str(person / ".pflow"),
        "PATH": os.pathsep.join([str(node), str(BIN), os.environ.get("PATH", os.defpath)]),
        "DISABLE_AUTOUPDATER": "1",
        "NO_COLOR": "1",
    }


def environment(person: Path) -> dict[str, str]:
    """What a host sees: a home of its own that knows pflow as its one server, and a node that is new enough."""
    found = surroundings(person)
    config = person / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"mcp": {"pflow": {"type": "local", "command": SERVER, "enabled": True}}}))
    subprocess.run(["pflow", "mcp", "install", "claude", "--yes"], env=found, check=True, capture_output=True)
    return found


def attempt(host: Host, env: Mapping[str, str]) -> str:
    """What is wrong with how a host gets on with pflow; nothing if all is well."""
    program = FOLDER / host.package / "node_modules" / ".bin" / host.program
    words = host.words or INSPECT
    try:
        done = subprocess.run(
            [str(program), *words],
            env=env,
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {LIMIT} s"
    if done.returncode or not re.search(host.wanted, done.stdout + done.stderr):
        return f"exit code {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"
    return "" if host.words else done.stderr.strip()


def scripted(env: Mapping[str, str], url: str) -> dict[str, str]:
    """What a host sees that talks to a model of ours."""
    folder = Path(env["HOME"]) / ".codex"
    folder.mkdir(exist_ok=True)
    folder.joinpath("config.toml").write_text(
        f"""
model = "scripted"
model_provider = "loopback"
sandbox_mode = "danger-full-access"
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
[mcp_servers.pflow]
command = "pflow"
args = ["serve", "mcp"]
env = {{ PFLOW_HOME = "{env["PFLOW_HOME"]}" }}
"""
    )
    return {
        **env,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }


def attempt_asking(host: Host, env: Mapping[str, str]) -> str:
    """What is wrong with how a host gets on with a workflow that asks; nothing if all is well."""
    with Model(CALL) as model:
        wrong = attempt(host, scripted(env, model.url))
        results = model.results
    if wrong or not results:
        return wrong or "its model was never told what the tool answered"
    run_ids = re.findall(r'run_id[\\"]*: ?[\\"]*([0-9a-f-]+)', results[0])
    if not re.search(r'status[\\"]*: ?[\\"]*waiting', results[0]) or not run_ids:
        return f"the run does not wait: {results[0][:2000]}"
    listed = finish(env, "runs", "list", "--waiting")
    if run_ids[0] not in listed:
        return f"the run is not listed as waiting\n{listed[-2000:]}"
    answered = finish(env, "answer", run_ids[0], "post")
    if not re.search(r'"success": ?true', answered) or not re.search(r'"chosen": ?"post"', answered):
        return f"the run did not go on\n{answered[-2000:]}"
    return ""


def finish(env: Mapping[str, str], *words: str) -> str:
    """What pflow says in a terminal of its own, without the host."""
    done = subprocess.run(
        [str(BIN / "pflow"), "--json", *words], env=env, capture_output=True, text=True, timeout=LIMIT
    )
    return done.stdout + done.stderr


def main() -> int:
    """Try every host; 1 if one of them does not get on with pflow."""
    try:
        ensure()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    failed = False
    for program in PROGRAMS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            wrong = attempt_session(program, surroundings(Path(folder)), FOLDER)
        failed = failed or bool(wrong)
        say(f"{'FAILED' if wrong else 'ok':<6} {program.name:<45} {time.monotonic() - began:5.1f} s")
        if wrong:
            say(wrong)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = environment(Path(folder))
        for host in (*HOSTS, *ASKED):
            began = time.monotonic()
            wrong = attempt(host, env) if host in HOSTS else attempt_asking(host, env)
            failed = failed or bool(wrong)
            say(f"{'FAILED' if wrong else 'ok':<6} {host.name:<45} {time.monotonic() - began:5.1f} s")
            if wrong:
                say(wrong)
    return 1 if failed else 0
