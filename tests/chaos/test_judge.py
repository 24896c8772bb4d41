"""The judge of runs that were disturbed finds what must not happen, in what steps left behind."""

from __future__ import annotations

from chaos.judge import Effect, Expected, Line, Verdict, judge
from chaos.plan import SHORT, make_plan

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


def test_a_seed_gives_the_same_plan() -> None:
    assert make_plan(5, SHORT, 3) == make_plan(5, SHORT, 3) != make_plan(6, SHORT, 3)
