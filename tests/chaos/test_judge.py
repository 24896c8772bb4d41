"""The judge of runs that were disturbed finds what must not happen, in what steps left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.chapter import Chapter
from chaos.document import Sample, samples
from chaos.judge import Effect, Expected, Line, Verdict, judge, read, strays
from chaos.plan import FULL, SHORT, make_plan
from chaos.table import findings, table
from pflow.core.file.home import Home
from pflow.workspace import Workspace

EFFECTS = {"a": Effect(0), "look": Effect(1, pure=True), "b": Effect(2)}


def judged(steps: str, *, accepted: bool = True, yeses: int = 0) -> Verdict:
    """What is said of a run whose steps left these lines, where somebody said so often that `a` may run again."""
    lines = [Line(0.0, "r1", step) for step in steps.split()]
    return judge(lines, {"r1": Expected(EFFECTS, accepted)}, {("r1", "a"): yeses})


def test_a_whole_run_and_agreed_repeats_are_clean() -> None:
    assert judged("a look b").is_clean
    assert judged("a look look b").is_clean
    assert judged("a a look b", yeses=1).is_clean
    assert judged("", accepted=False).is_clean


def test_what_must_not_happen_is_found() -> None:
    assert judged("a look").lost == ("r1: b",)
    assert judged("a", accepted=False).lost == ("r1: look, b",)
    assert len(judged("a a look b").unasked) == 1
    assert judged("a look b look").repeated == ("r1: look",)
    assert judged("a look a b", yeses=1).repeated == ("r1: a",)
    assert judged("a look c b").wrong == ("r1: c",)


def test_a_line_that_no_run_should_have_left_is_found() -> None:
    lines = read("1.5 r1 a\n1.6 r2 a\n1.7 r1\nx r1 b\n")
    assert lines[0] == Line(1.5, "r1", "a")
    assert strays(lines, {"r1"}) == ["r2: a", "nobody: 1.7 r1", "nobody: x r1 b"]
    assert judge(lines, {"r1": Expected(EFFECTS)}, {}).lost == ("r1: look, b",)


def test_whatever_must_not_happen_makes_the_whole_fail() -> None:
    good = Chapter("worker killed", 6, 6, judged("a look b"), hit=3)
    assert findings([good]) == []
    assert "| worker killed | 6 | 3 | 1 | 3 | 0 | 0 | 0 | 0 |" in table([good])
    for steps in ("a look", "a a look b", "a look b look", "a look c b"):
        [said] = findings([good, Chapter("double fault", 1, 1, judged(steps))])
        assert said.startswith("double fault: ")
    assert findings([good._replace(planned=7)]) == ["worker killed: not done in the time there was: 1"]


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_every_document_of_the_campaign_can_run(sample: Sample, home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        issues = [one for one in workspace.check(sample.text).issues if "mcp-notes-" not in one.message]
    assert not issues


def test_the_full_form_does_what_is_promised() -> None:
    assert list(FULL.counts.values()) == [200, 20, 10, 10]


def test_a_seed_gives_the_same_plan() -> None:
    assert make_plan(5, SHORT, 3) == make_plan(5, SHORT, 3) != make_plan(6, SHORT, 3)
