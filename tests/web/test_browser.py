"""The page in a real browser: what a person sees and does, live, in light and dark, with nothing that complains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.web.browser import PATIENCE_MS, Watched, open_browser
from tests.web.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs("browser")

Open = Callable[..., Watched]

ODD = '<script>window.hurt=1</script><img src=x onerror="window.hurt=1"> ${a} \u202egnp.exe "quoted" ' + "long " * 60

ASKS = {
    "name": "release",
    "inputs": {"who": {"type": "string", "default": "you"}},
    "nodes": [
        {"id": "draft", "type": "echo", "params": {"text": "Hello ${who}"}},
        {
            "id": "review",
            "type": "ask",
            "params": {
                "prompt": "Publish it?",
                "show": {"text": "${draft.text}"},
                "choices": ["yes", "no"],
                "schema": {"note": {"type": "string", "required": False}},
            },
            "on": {"yes": "publish", "no": "end"},
        },
        {"id": "publish", "type": "echo", "params": {"text": "published, ${review.answer.note:-no note}"}},
    ],
    "outputs": {"said": {"source": "${publish.text:-nothing}"}},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


@pytest.fixture
def visit(browser: Browser, page: Served) -> Iterator[Open]:
    """Opens an address of the page; at the end nothing may have gone wrong in any of them."""
    opened: list[Watched] = []

    def visit(path: str = "/", scheme: Literal["light", "dark"] = "light", width: int = 1360) -> Watched:
        watched = Watched(browser, page.origin, scheme, width=width)
        opened.append(watched)
        place, _, step = path.partition("#")
        watched.page.goto(page.link(place))
        see(watched.page.locator("main h1")).to_have_count(1)
        if step:
            watched.page.goto(f"{page.origin}{path}")
        return watched

    try:
        yield visit
        for watched in opened:
            watched.check()
    finally:
        for watched in opened:
            watched.close()


def see(locator: Any) -> Any:
    """Something that a page will show, sooner or later."""
    from playwright.sync_api import expect

    class Patient:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *args: getattr(expect(locator), name)(*args, timeout=PATIENCE_MS)

    return Patient()


def row(watched: Watched, step: str) -> Any:
    return watched.page.locator(".row").locator("bdi", has_text=re.compile(f"^{re.escape(step)}$")).locator("../..")  # type: ignore[arg-type]


def begin(home: Path, document: Path, *words: str) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pflow", "run", str(document), *words],
        env={**os.environ, "PFLOW_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )


def gated(tmp_path: Path) -> tuple[Path, Path]:
    """A document whose second step waits for a file, and that file."""
    gate = tmp_path / "gate"
    document = tmp_path / "gated.yaml"
    document.write_text(
        f"""
name: gated
nodes:
  - {{id: first, type: echo, params: {{text: one}}}}
  - {{id: held, type: shell, params: {{command: "while [ ! -e '{gate}' ]; do sleep 0.05; done; echo through"}}}}
  - {{id: last, type: echo, params: {{text: "${{held.stdout}}"}}}}
"""
    )
    return document, gate


def test_a_question_is_answered_in_the_page_and_the_run_goes_on(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    watched = visit("/")
    question = watched.page.get_by_role("form", name="Question of review")
    see(question).to_contain_text("Publish it?")
    see(question).to_contain_text("Hello you")
    question.get_by_role("link", name="release").click()
    see(watched.page.locator(".head .pill")).to_contain_text("waiting")
    watched.page.get_by_label("note").fill("fine")
    watched.page.get_by_role("button", name="yes").click()
    see(watched.page.locator(".head .pill")).to_contain_text("completed")
    see(watched.page.locator(".inspector")).to_contain_text("published, fine")
    see(watched.page.get_by_role("form", name="Question of review")).to_have_count(0)
    told = page.do(lambda workspace: workspace.show_run(run))
    steps: Any = told["steps"]
    [answer] = next(step["waits"] for step in steps if step["step"] == "review")
    assert (answer["via"], answer["choice"]) == ("page", "yes")


def test_a_question_is_declined_in_the_page(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    watched = visit(f"/runs/{run}")
    watched.page.get_by_role("button", name="Decline").click()
    see(watched.page.locator(".head .pill")).to_contain_text("failed")
    see(row(watched, "review")).to_have_class(re.compile("failed"))


def test_a_run_of_another_process_is_seen_live(page: Served, visit: Open, home: Path, tmp_path: Path) -> None:
    document, gate = gated(tmp_path)
    watched = visit("/")
    see(watched.page.get_by_text("No run yet.")).to_be_visible()
    process = begin(home, document)
    try:
        see(watched.page.get_by_role("link", name="gated")).to_be_visible()
        watched.page.get_by_role("link", name="gated").click()
        see(row(watched, "held")).to_have_class(re.compile("running"))
        see(watched.page.locator('[data-node="held"]')).to_have_class(re.compile("running"))
        gate.touch()
        see(row(watched, "last")).to_have_class(re.compile("done"))
        see(watched.page.locator(".head .pill")).to_contain_text("completed")
        see(watched.page.locator('[data-edge="first>held:default"]').first).to_have_class(re.compile("taken"))
    finally:
        process.kill()
        process.wait()


def test_a_step_whose_process_was_killed_is_seen_as_in_doubt(
    page: Served, visit: Open, home: Path, tmp_path: Path
) -> None:
    document, gate = gated(tmp_path)
    process = begin(home, document)
    try:
        watched = visit("/")
        see(watched.page.get_by_role("link", name="gated")).to_be_visible()
        watched.page.get_by_role("link", name="gated").click()
        see(row(watched, "held")).to_have_class(re.compile("running"))
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    see(row(watched, "held")).to_have_class(re.compile("in-doubt"))
    see(watched.page.locator(".head .pill")).to_contain_text("interrupted")
    see(watched.page.locator('[data-node="held"]')).to_have_class(re.compile("in-doubt"))
    see(row(watched, "held").locator(".took")).to_have_text("in doubt")
    gate.touch()
    watched.page.get_by_role("button", name="Resume").click()
    see(watched.page.get_by_role("alert")).to_contain_text("may or may not have taken effect: `held`")
    watched.page.get_by_role("button", name="Resume and rerun what is in doubt").click()
    see(watched.page.locator(".head .pill")).to_contain_text("completed")
    assert ["409" in said for said in watched.said] == [True], "the refusal was answered as one"
    watched.said.clear()


def test_a_run_is_forked_from_a_step_and_compared_with_the_first(page: Served, visit: Open) -> None:
    run = page.run({"name": "two", "nodes": [{"id": n, "type": "echo", "params": {"text": n}} for n in ("a", "b")]})
    watched = visit(f"/runs/{run}#b")
    watched.page.get_by_role("button", name="Rerun from here").click()
    watched.page.wait_for_url(lambda url: "/runs/" in url and run not in url)
    fork = watched.page.url.rpartition("/")[2].partition("#")[0]
    see(watched.page.locator(".head")).to_contain_text("forked from")
    see(row(watched, "a")).to_have_class(re.compile("reused"))
    see(watched.page.locator(".head .pill")).to_contain_text("completed")
    watched.page.goto(f"{page.origin}/runs/{run}?with={fork}")
    see(watched.page.get_by_role("heading", name="Both runs went the same way")).to_be_visible()
    see(watched.page.locator("main")).to_contain_text("reused")


def test_a_saved_workflow_is_run_with_the_inputs_of_a_form(page: Served, visit: Open) -> None:
    document = {**ASKS, "name": "greet", "nodes": ASKS["nodes"][:1], "outputs": {}}  # type: ignore[index]
    page.do(lambda workspace: workspace.save(document, "greet"))
    watched = visit("/workflows/greet")
    see(watched.page.locator('[data-node="draft"]')).to_be_visible()
    assert watched.page.locator('[data-node="draft"] .box').first.evaluate("e => getComputedStyle(e).fill") not in BLACK
    watched.page.get_by_label("who").fill(ODD)
    watched.page.get_by_role("button", name="Run", exact=True).click()
    watched.page.wait_for_url(lambda url: "/runs/" in url)
    see(watched.page.locator(".head .pill")).to_contain_text("completed")
    row(watched, "draft").click()
    see(watched.page.locator(".inspector")).to_contain_text("<script>window.hurt=1</script>")
    assert watched.page.evaluate("window.hurt") is None


BLACK = ("rgb(0, 0, 0)", "none")


def test_a_narrow_window_needs_no_scrolling_to_the_side(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    watched = visit("/", width=400)
    for path in ("/", f"/runs/{run}", f"/runs/{run}?with={run}"):
        watched.page.goto(f"{page.origin}{path}")
        see(watched.page.locator("main h1")).to_have_count(1)
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 400


def test_items_are_bars_on_the_axis_of_their_batch(page: Served, visit: Open) -> None:
    command = "test ${item} = 1 || exit 3"
    batch = {"items": [1, 2], "on_error": "continue"}
    run = page.run(
        {"name": "each", "nodes": [{"id": "b", "type": "shell", "batch": batch, "params": {"command": command}}]}
    )
    watched = visit(f"/runs/{run}")
    watched.page.get_by_role("button", name="Show the items of b").click()
    see(row(watched, "[0]").locator(".bar.done")).to_have_count(1)
    see(row(watched, "[1]").locator(".bar.failed")).to_have_count(1)
    see(row(watched, "[1]")).to_contain_text("exit code 3")
    see(row(watched, "[0]").locator(".took")).to_contain_text("ms")
    row(watched, "[1]").click()
    see(watched.page.locator(".inspector .facts")).to_contain_text("ms")
    see(watched.page.locator(".inspector .attempts")).to_contain_text("failed")
    see(watched.page.get_by_role("button", name="Rerun from here")).to_have_count(0)


def test_whatever_a_run_holds_stays_text(page: Served, visit: Open) -> None:
    document = {
        "name": "odd <b>name</b>",
        "nodes": [
            {"id": "odd", "type": "code", "params": {"code": "result = {x: [x]}", "inputs": {"x": "${odd_input}"}}},
            {
                "id": "fails",
                "type": "code",
                "params": {"code": "raise ValueError(x)", "inputs": {"x": "${odd_input}"}},
                "on": {"error": "next"},
            },
            {
                "id": "ask",
                "type": "ask",
                "params": {"prompt": "${odd_input}", "show": {"<i>it</i>": "${odd_input}"}, "choices": ["<b>", "no"]},
                "on": {"<b>": "end", "no": "end"},
            },
        ],
        "inputs": {"odd_input": {"type": "string"}},
    }
    run = page.run(document, odd_input=ODD)
    listed = visit("/")
    see(listed.page.locator(".questions")).to_contain_text("<script>window.hurt=1</script>")
    watched = visit(f"/runs/{run}#odd")
    see(watched.page.locator(".inspector")).to_contain_text("<script>window.hurt=1</script>")
    row(watched, "fails").click()
    see(watched.page.locator(".inspector .problem")).to_contain_text("<img src=x onerror")
    for one in (listed, watched):
        assert one.page.evaluate("window.hurt") is None
        assert one.page.locator("main img, main script").count() == 0


def test_the_keyboard_goes_through_the_steps(page: Served, visit: Open) -> None:
    nodes: list[dict[str, object]] = [{"id": f"n{n}", "type": "echo", "params": {"text": str(n)}} for n in range(4)]
    nodes.append({"id": "each", "type": "echo", "batch": {"items": [1, 2, 3]}, "params": {"text": "${item}"}})
    run = page.run({"name": "keys", "nodes": nodes})
    watched = visit(f"/runs/{run}")
    grid = watched.page.get_by_role("grid")
    assert grid.get_attribute("aria-rowcount") == "5"
    grid.focus()
    watched.page.keyboard.press("ArrowDown")
    see(watched.page.get_by_role("heading", name="n1")).to_be_visible()
    watched.page.keyboard.press("End")
    see(watched.page.get_by_role("heading", name="each")).to_be_visible()
    watched.page.keyboard.press("ArrowRight")
    see(row(watched, "[2]")).to_be_visible()
    watched.page.keyboard.press("ArrowDown")
    see(watched.page.get_by_role("heading", name="each[0]")).to_be_visible()
    see(watched.page.locator(".inspector")).to_contain_text("1")
    watched.page.keyboard.press("Enter")
    see(watched.page.locator("#step-title")).to_be_focused()
    watched.page.keyboard.press("Escape")
    see(watched.page.get_by_role("heading", name="Run", exact=True)).to_be_visible()
    watched.page.keyboard.press("/")
    see(watched.page.get_by_label("Filter steps")).to_be_focused()


def test_the_keyboard_is_not_lost_where_a_button_was(page: Served, visit: Open) -> None:
    page.run(ASKS)
    watched = visit(f"/runs/{page.run(ASKS)}")
    keys = watched.page.keyboard
    watched.page.get_by_role("button", name="Cancel …").focus()
    keys.press("Enter")
    see(watched.page.get_by_role("button", name="Keep")).to_be_focused()
    keys.press("Shift+Tab")
    see(watched.page.get_by_role("button", name="Cancel for good")).to_be_focused()
    keys.press("Enter")
    see(watched.page.locator(".head .pill")).to_contain_text("cancelled")
    watched.page.goto(page.origin)
    watched.page.get_by_role("button", name="no", exact=True).focus()
    keys.press("Enter")
    see(watched.page.get_by_role("form")).to_have_count(0)
    see(watched.page.get_by_role("main")).to_be_focused()


def test_dark_and_light_have_enough_contrast(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    papers = []
    for scheme in ("light", "dark"):
        watched = visit(f"/runs/{run}", scheme=scheme)
        see(row(watched, "review")).to_be_visible()
        papers.append(watched.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert watched.page.evaluate(LOW_CONTRAST) == []
    assert papers == ["rgb(255, 255, 255)", "rgb(18, 22, 28)"]


LOW_CONTRAST = (Path(__file__).parent / "low_contrast.js").read_text().partition("\n")[2]


def test_a_run_that_is_deleted_meanwhile_leaves_a_banner(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    watched = visit(f"/runs/{run}")
    see(watched.page.get_by_text("live")).to_be_visible()
    delete = "DELETE FROM runs WHERE run_id = ?"

    def remove(workspace: Any) -> None:
        with workspace._wiring.journal.database.writing() as database:
            database.execute(delete, (run,))

    page.do(remove)
    see(watched.page.get_by_role("alert")).to_contain_text("deleted")
    see(row(watched, "draft")).to_be_visible()
    # What the page was about to ask for when the run went is not there, and the browser says so by itself.
    watched.said[:] = [text for text in watched.said if "404" not in text]


def test_a_run_is_cancelled_only_after_a_second_click(page: Served, visit: Open) -> None:
    run = page.run(ASKS)
    watched = visit(f"/runs/{run}")
    watched.page.get_by_role("button", name="Cancel …").click()
    watched.page.get_by_role("button", name="Keep").click()
    see(watched.page.locator(".head .pill")).to_contain_text("waiting")
    watched.page.get_by_role("button", name="Cancel …").click()
    watched.page.get_by_role("button", name="Cancel for good").click()
    see(watched.page.locator(".head .pill")).to_contain_text("cancelled")


def test_a_failed_run_is_resumed_where_it_stopped(page: Served, visit: Open, tmp_path: Path) -> None:
    path = tmp_path / "there"
    nodes = [
        {"id": "a", "type": "echo", "params": {"text": "x"}},
        {"id": "b", "type": "shell", "params": {"command": f"test -e '{path}'"}},
    ]
    run = page.run({"name": "mended", "nodes": nodes})
    watched = visit(f"/runs/{run}")
    see(watched.page.locator(".head .pill")).to_contain_text("failed")
    path.touch()
    watched.page.get_by_role("button", name="Resume").click()
    see(watched.page.locator(".head .pill")).to_contain_text("completed")


def test_steps_are_there_again_after_a_filter_that_left_few(page: Served, visit: Open) -> None:
    nodes = [{"id": f"n{number}", "type": "echo", "params": {"text": "x"}} for number in range(700)]
    watched = visit(f"/runs/{page.run({'name': 'long', 'nodes': nodes})}")
    see(watched.page.locator("details.graph[open]")).to_have_count(0)
    watched.page.locator("#rows").evaluate("rows => { rows.scrollTop = 9000; }")
    see(row(watched, "n325")).to_be_visible()
    for text, first in (("n69", "n69"), ("", "n0")):
        watched.page.get_by_label("Filter steps").fill(text)
        see(row(watched, first)).to_be_in_viewport()
    watched.page.locator("#rows").evaluate("rows => { rows.scrollTop = 1e6; }")
    see(row(watched, "n699").locator(".bar")).to_be_in_viewport()


def test_the_address_of_an_item_opens_its_batch(page: Served, visit: Open) -> None:
    node = {"id": "each", "type": "echo", "batch": {"items": [1, 2, 3]}, "params": {"text": "${item}"}}
    watched = visit(f"/runs/{page.run({'name': 'items', 'nodes': [node]})}#each[1]")
    see(watched.page.locator(".row.selected")).to_contain_text("[1]")
    see(watched.page.locator(".attempts .pill")).to_contain_text("done")
    see(watched.page.get_by_label("Copy ${each.results[1].text}")).to_be_attached()


def test_a_large_value_is_shown_page_by_page(page: Served, visit: Open) -> None:
    code = "result = ''.join(str(n % 10) for n in range(50_000_000))"
    nodes = [{"id": "big", "type": "code", "params": {"code": code.replace("50_000_000", "3_000_000")}}]
    run = page.run({"name": "large", "nodes": nodes})
    watched = visit(f"/runs/{run}#big")
    see(watched.page.locator('[data-node="big"]')).to_be_visible()  # what comes late moves what is there
    watched.page.get_by_role("button", name="show").click()
    see(watched.page.locator(".paging")).to_contain_text("20,000 of 3,000,000 characters")
    watched.page.get_by_role("button", name="more").click()
    see(watched.page.locator(".paging")).to_contain_text("40,000 of 3,000,000 characters")


def test_an_unknown_run_is_answered_with_near_ids(browser: Browser, page: Served) -> None:
    run = page.run(ASKS)
    watched = Watched(browser, page.origin)
    wrong = run[:-1] + ("0" if run[-1] != "0" else "1")
    watched.page.goto(page.link(f"/runs/{wrong}"))
    see(watched.page.get_by_role("heading", name="Not found")).to_be_visible()
    watched.page.get_by_role("link", name=run).click()
    see(watched.page.locator(".head .pill")).to_contain_text("waiting")
    watched.close()


def test_a_run_as_one_file_shows_the_same_and_asks_for_nothing(browser: Browser, page: Served, tmp_path: Path) -> None:
    run = page.run({**ASKS, "nodes": [*ASKS["nodes"][:1]], "outputs": {}, "name": ODD[:60]}, who=ODD)  # type: ignore[index]
    path = tmp_path / "run.html"
    subprocess.run([sys.executable, "-m", "pflow", "trace", run, "--html", str(path)], check=True, capture_output=True)
    watched = Watched(browser, f"file://{path}", offline=True)
    watched.page.goto(f"file://{path}")
    see(watched.page.locator(".head .pill")).to_contain_text("completed")
    see(watched.page.locator('[data-node="draft"]')).to_be_visible()
    row(watched, "draft").click()
    see(watched.page.locator(".inspector")).to_contain_text("<script>window.hurt=1</script>")
    assert watched.page.evaluate("window.hurt") is None
    watched.check()
    watched.close()


def test_a_run_becomes_a_test_at_a_click(page: Served, visit: Open) -> None:
    run = page.run({"name": "two", "nodes": [{"id": n, "type": "echo", "params": {"text": n}} for n in ("a", "b")]})
    watched = visit(f"/runs/{run}")
    watched.page.get_by_role("button", name="Use as test").click()
    see(watched.page.locator(".banner[role=status]")).to_contain_text("two.test.yaml")
    see(watched.page.get_by_role("button", name="Use as test")).to_have_count(0)
    made = page.home.tests / "two.test.yaml"
    [case] = page.do(lambda workspace: workspace.tests.run(made)).cases
    assert case.outcome == "passed", case.error
