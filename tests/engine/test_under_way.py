"""What of a run is under way, counted as it comes and goes, against looking for it each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pflow.engine.ending.under_way import UnderWay

NAMES = ("a", "a[0]", "a[1]", "a[1]/x", "a[1]/x[0]", "ab", "ab/x", "ab/x#2", "c")
CHANGES = ("begin", "end", "ask", "answer", "forget_asked")

changes = st.lists(st.tuples(st.sampled_from((*CHANGES, "keep", "start over")), st.sampled_from(NAMES)), max_size=40)


def is_below(name: str, above: str) -> bool:
    return name.startswith((f"{above}/", f"{above}["))


def rests(going: set[str], asked: set[str]) -> bool:
    """The rule in words: something waits, and whatever goes on is waiting or leads to something else."""
    working = [name for name in going - asked if not any(is_below(other, name) for other in going | asked)]
    return bool(asked) and not working


@given(changes)
def test_a_run_rests_when_all_that_is_under_way_waits_or_is_above_what_does(steps: list[tuple[str, str]]) -> None:
    counted, going, asked = UnderWay(), set[str](), set[str]()
    for change, name in steps:
        if change == "begin":
            counted.begin(name)
            going.add(name)
        elif change == "end":
            counted.end(name)
            going.discard(name)
        elif change == "ask":
            counted.ask(name)
            asked.add(name)
        elif change == "answer":
            counted.answer(name)
            asked.discard(name)
        elif change == "forget_asked":
            counted.forget_asked(name)
            asked = {other for other in asked if other != name and not is_below(other, name)}
        else:
            counted.start_over(keeps_asked=change == "keep")
            going.clear()
            asked = asked if change == "keep" else set()
        assert (counted.going, counted.asked, counted.rests) == (going, asked, rests(going, asked))
