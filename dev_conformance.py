"""Runs the official MCP conformance suite against pflow and compares what comes of it with what is known.

The suite and the node it needs are installed into `.cache/conformance`, exactly these versions. What is known to fail
stands in `tests/conformance/known.toml` with its reason; anything else that fails, or a known failure that does not,
is an error. The results are written into `docs/conformance.md`.
"""

from __future__ import annotations

import atexit
import json
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import dev_hosts
from dev_install import CACHE, ROOT, SetupError, exclusive, python_of, quietly, report, say

FOLDER = CACHE / "conformance"
KNOWN = ROOT / "tests" / "conformance" / "known.toml"
PAGE = ROOT / "docs" / "conformance.md"
STAMP = FOLDER / "installed"

PACKAGE = "@modelcontextprotocol/conformance"
NODE = "22.23.3"
NODE_NEEDED = 22

CLIENT = ["-m", "tests.conformance.client"]
SERVER = ["-m", "tests.conformance.server"]
LIMIT = 120
"""Seconds for a scenario."""

FAILED = ("FAILURE", "WARNING")
COUNTED = ("SUCCESS", *FAILED)


class Run(NamedTuple):
    """A version of the suite, and the revision of the protocol that it is to speak; empty where it takes none."""

    suite: str
    revision: str = ""

    @property
    def title(self) -> str:
        return f"suite {self.suite}" + (f", revision {self.revision}" if self.revision else "")


CLIENT_RUNS = (
    Run("0.1.16"),
    Run("0.2.0-alpha.12", "2025-03-26"),
    Run("0.2.0-alpha.12", "2025-11-25"),
    Run("0.2.0-alpha.12", "2026-07-28"),
)
SERVER_RUNS = (
    Run("0.1.16"),
    Run("0.2.0-alpha.12", "2025-11-25"),
    Run("0.2.0-alpha.12", "2026-07-28"),
)
SUITES = tuple(dict.fromkeys(run.suite for run in CLIENT_RUNS))


class Outcome(NamedTuple):
    """What came of one scenario: the checks that count and those of them that failed, each once."""

    run: Run
    scenario: str
    checks: frozenset[str]
    failed: frozenset[str]

    @property
    def passes(self) -> bool:
        return not self.failed

    @property
    def score(self) -> tuple[int, int]:
        return len(self.checks - self.failed), len(self.checks)


# ---- the suite


def ensure() -> None:
    """Install what is missing. Raises `SetupError`."""
    if is_current():
        return
    with exclusive("conformance"):
        if is_current():
            return
        say("installing the conformance suite into .cache/conformance (once) …")
        npm = shutil.which("npm")
        if npm is None:
            raise SetupError("there is no npm here; install Node.js 20 or newer")
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        silent = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
        line = [npm, "install", "--prefix", str(FOLDER), *silent, *packages()]
        done = quietly(line)
        if done.returncode:
            raise SetupError("npm could not install the conformance suite\n" + report(line, done))
        STAMP.write_text("\n".join(packages()))


def is_current() -> bool:
    """Whether an installation of these versions ran to its end."""
    return STAMP.exists() and STAMP.read_text() == "\n".join(packages())


def packages() -> list[str]:
    """What npm installs: each version of the suite under a name of its own."""
    suites = [f"suite-{version}@npm:{PACKAGE}@{version}" for version in SUITES]
    return [*suites, *([] if has_node() else [f"node@{NODE}"])]


def has_node() -> bool:
    """Whether the node on the path is new enough for the suite."""
    found = re.match(r"v(\d+)", quietly(["node", "--version"]).stdout)
    return found is not None and int(found[1]) >= NODE_NEEDED


def suite(version: str, *args: str) -> list[str]:
    """How to call a version of the suite."""
    own = FOLDER / "node_modules" / "node" / "bin" / "node"
    script = FOLDER / "node_modules" / f"suite-{version}" / "dist" / "index.js"
    return [str(own) if own.exists() else "node", str(script), *args]


def scenarios(run: Run, part: str) -> Iterator[str]:
    """What a version of the suite has for a revision: what is tagged with it, and extensions of the newest ones."""
    listed = subprocess.run(suite(run.suite, "list", f"--{part}"), capture_output=True, text=True, check=True).stdout
    oldest = "2025-03-26" if part == "client" else "2025-11-25"
    for name, tags in re.findall(r"^ +- (\S+) \[(.*)\]$", listed, flags=re.MULTILINE):
        wanted = {run.revision, *(["extension"] if run.revision > oldest else [])}
        if not run.revision or wanted & set(tags.split(",")):
            yield name


# ---- the client


def try_client(run: Run, scenario: str, folder: Path) -> Outcome:
    """Have the suite run pflow as the client of one scenario."""
    python = python_of(ROOT / ".venv")
    command = shlex.join([str(python), *CLIENT])
    revision = ("--spec-version", run.revision, "--force") if run.revision else ()
    line = suite(run.suite, "client", "--command", command, "--scenario", scenario, "--timeout", str(LIMIT * 1000))
    done = subprocess.run(
        [*line, "-o", str(folder), *revision], cwd=ROOT, capture_output=True, text=True, errors="replace"
    )
    (folder / "log.txt").write_text(done.stdout + done.stderr)
    return judge(run, scenario, folder, done.returncode)


def judge(run: Run, scenario: str, folder: Path, code: int) -> Outcome:
    """What the suite wrote down; that it says nothing at all is a failure as well."""
    found = list(folder.rglob("checks.json"))
    checks: list[dict[str, str]] = json.loads(found[0].read_text()) if found else []
    failed = {check["id"] for check in checks if check["status"] in FAILED}
    if code and not failed:
        failed = {"ended badly"}
    counted = {check["id"] for check in checks if check["status"] in COUNTED}
    return Outcome(run, scenario, frozenset(counted | failed), frozenset(failed))


# ---- the server


@cache
def serve() -> str:
    """Start the server that the suite talks to, until we end; where it is."""
    command = [str(python_of(ROOT / ".venv")), *SERVER]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline().strip()


def try_server(run: Run, scenario: str, folder: Path) -> Outcome:
    """Have the suite try one scenario on pflow as the server."""
    revision = ("--spec-version", run.revision, "--force") if run.revision else ()
    line = suite(run.suite, "server", "--url", serve(), "--scenario", scenario, "-o", str(folder), *revision)
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    (folder / "log.txt").write_text(done.stdout + done.stderr)
    return judge(run, scenario, folder, done.returncode)


PARTS: dict[str, tuple[Sequence[Run], Callable[[Run, str, Path], Outcome]]] = {
    "client": (CLIENT_RUNS, try_client),
    "server": (SERVER_RUNS, try_server),
}
"""What can be tried: which runs there are, and how to try a scenario of one."""


# ---- what is known


class Known(NamedTuple):
    """Checks of a scenario that fail, and why; for one version of the suite only, if that is given."""

    scenario: str
    failed: tuple[str, ...]
    why: str
    suite: str = ""

    def covers(self, outcome: Outcome) -> bool:
        return self.scenario == outcome.scenario and self.suite in ("", outcome.run.suite)


def read_known(part: str) -> list[Known]:
    """What is known to fail."""
    import tomllib  # lazy: absent before Python 3.11, which gets a clear message first

    entries = tomllib.loads(KNOWN.read_text("utf-8")).get(part, [])
    return [Known(**{**entry, "failed": tuple(entry["failed"])}) for entry in entries]


def surprises(outcomes: Sequence[Outcome], known: Sequence[Known]) -> list[str]:
    """Where outcomes differ from what is known, in words."""
    found = []
    for outcome in outcomes:
        entry = next((entry for entry in known if entry.covers(outcome)), None)
        expected = frozenset(entry.failed) if entry else frozenset()
        where = f"{outcome.run.title}: {outcome.scenario}"
        found += [f"{where}: `{check}` fails" for check in sorted(outcome.failed - expected)]
        passes = sorted(expected - outcome.failed)
        found += [f"{where}: `{check}` does not fail; take it out of {KNOWN.relative_to(ROOT)}" for check in passes]
    return found


# ---- the page


def render(part: str, outcomes: Sequence[Outcome], known: Sequence[Known]) -> str:
    """The tables of the page: a line for each run, then each scenario that does not pass, with the reason."""
    lines = ["| suite | revision | scenarios passed | checks passed |", "|---|---|---|---|"]
    for run in dict.fromkeys(outcome.run for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.run == run]
        passed, counted = (sum(numbers) for numbers in zip(*(outcome.score for outcome in mine), strict=True))
        right = sum(outcome.passes for outcome in mine)
        lines.append(f"| {run.suite} | {run.revision or 'all'} | {right} of {len(mine)} | {passed} of {counted} |")
    lines += ["", "| scenario | suite | failed checks | why |", "|---|---|---|---|"]
    for entry in known:
        of = [outcome for outcome in outcomes if entry.covers(outcome)]
        suites = ", ".join(dict.fromkeys(outcome.run.suite for outcome in of))
        failed = " ".join(f"`{check}`" for check in entry.failed)
        lines.append(f"| `{entry.scenario}` | {suites} | {failed} | {entry.why} |")
    return "\n".join(lines) + "\n"


def write_page(part: str, text: str) -> bool:
    """Put the tables into the page; whether that changed it."""
    before = PAGE.read_text("utf-8")
    after = re.sub(
        rf"(<!-- {part} results -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{text}\n{found[2]}",
        before,
        flags=re.DOTALL,
    )
    PAGE.write_text(after, "utf-8")
    return after != before


# ---- the command


def main(args: Sequence[str]) -> int:
    """Try everything, one scenario after the other, or only the scenarios named; 1 if something is not as known."""
    part, *only = args or ["client"]
    if part == "hosts":
        return dev_hosts.main()
    if part not in PARTS:
        say(f"no part `{part}`; there are: {', '.join(PARTS)}, hosts")
        return 2
    try:
        ensure()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    runs, attempt = PARTS[part]
    known = read_known(part)
    results = FOLDER / "results" / part
    shutil.rmtree(results, ignore_errors=True)
    outcomes: list[Outcome] = []
    for run in runs:
        say(f"── {run.title}")
        for scenario in scenarios(run, part):
            if only and scenario not in only:
                continue
            folder = results / f"{run.suite}-{run.revision or 'all'}" / scenario.replace("/", "-")
            folder.mkdir(parents=True)
            began = time.monotonic()
            outcome = attempt(run, scenario, folder)
            outcomes.append(outcome)
            passed, counted = outcome.score
            word = "ok" if outcome.passes else "FAILED" if surprises([outcome], known) else "known"
            say(f"{word:<6} {scenario:<45} {passed:>3}/{counted:<3} {time.monotonic() - began:5.1f} s")
    if not outcomes:
        say("no such scenario")
        return 2
    return conclude(part, outcomes, known, whole=not only)


def conclude(part: str, outcomes: Sequence[Outcome], known: Sequence[Known], *, whole: bool) -> int:
    """Say what is not as known, and keep the page true."""
    found = surprises(outcomes, known)
    if whole:
        found += [
            f"no scenario is meant by `{entry.scenario}` in {KNOWN.relative_to(ROOT)}"
            for entry in known
            if not any(entry.covers(outcome) for outcome in outcomes)
        ]
        if not found and write_page(part, render(part, outcomes, known)):
            say(f"{PAGE.relative_to(ROOT)} was brought up to date")
    for line in found:
        say(f"unexpected: {line}")
    say("──")
    say(f"what the suite and pflow said is in {FOLDER}/results/{part}")
    say("not as expected" if found else "as expected")
    return 1 if found else 0
