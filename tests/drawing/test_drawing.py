"""A plan as text, Mermaid and SVG: complete, in order, and safe whatever the names are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.document.document import Input, Retry
from pflow.core.template.template import compile_value
from pflow.drawing.happened import fold_happened
from pflow.drawing.svg import draw_svg, stylesheet
from pflow.drawing.text import draw_mermaid, draw_text
from pflow.engine.ending.look import LOOKS
from pflow.engine.plan import Plan, PlanBatch, PlanNode

SVG = "{http://www.w3.org/2000/svg}"


def plan(edges: dict[str, dict[str, Any]], starts: tuple[str, ...] = (), **more: Any) -> Plan:
    """A plan of echo nodes with these edges: `{node: {action: target or targets}}`."""
    names = list(edges)
    special = more.pop("special", {})
    nodes = tuple(
        PlanNode(
            id=name,
            number=number,
            type="echo",
            params=compile_value({})[0],
            definition="",
            node_hash="",
            edges={
                action: tuple(names.index(target) for target in ([targets] if isinstance(targets, str) else targets))
                for action, targets in edges[name].items()
            },
            **special.get(name, {}),
        )
        for number, name in enumerate(names)
    )
    return Plan(nodes=nodes, starts=tuple(names.index(s) for s in starts or names[:1]), **more)


DIAMOND = plan({"a": {"default": ["b", "c"]}, "b": {"default": "d"}, "c": {"default": "d"}, "d": {}})
LOOP = plan(
    {
        "fetch": {"default": "check"},
        "check": {"done": "write", "again": "fetch", "error": "alert"},
        "write": {},
        "alert": {},
    }
)
ERRORS = plan(
    {
        "fetch": {"default": "parse", "error": "alert", "rate_limited": "wait"},
        "wait": {"default": "fetch"},
        "parse": {"default": "store", "error": "alert"},
        "store": {},
        "alert": {"default": "store"},
    }
)


def test_a_sequence_shows_everything_that_decides_how_it_runs() -> None:
    drawn = plan(
        {"log": {"default": "show"}, "show": {"default": "nested"}, "nested": {}},
        name="changelog",
        inputs={
            "since": Input(type="string", description="First day"),
            "limit": Input(type="integer", has_default=True, default=20),
            "token": Input(type="string", required=False, secret=True),
        },
        outputs={"path": compile_value("${nested.path}")},
        special={
            "show": {
                "batch": PlanBatch(
                    items=compile_value("${log.commits}")[0], name="item", concurrency=8, keep_going=True
                ),
                "retry": Retry(attempts=3),
                "timeout": 30.0,
            },
            "nested": {"child": DIAMOND},
        },
        raw={
            "document": {
                "description": "What changed",
                "nodes": [{}, {"batch": {"items": "${log.commits}"}}, {}],
                "outputs": {"path": {"type": "string", "source": "${nested.path}", "description": "Where"}},
            }
        },
    )
    assert draw_text(drawn) == (
        "changelog: What changed\n"
        "\n"
        "inputs\n"
        "  since  string, required          First day\n"
        "  limit  integer = 20\n"
        "  token  string, optional, secret\n"
        "\n"
        "●   log     echo\n"
        "●   show    echo  for each item in ${log.commits} · 8 at a time · goes on after failures"
        " · up to 3 attempts · at most 30 s\n"
        "●   nested  echo  4 nodes\n"
        "\n"
        "outputs\n"
        "  path  string  ${nested.path}  Where"
    )


def test_a_diamond_forks_and_joins() -> None:
    assert draw_text(DIAMOND).splitlines() == [
        "●     a  echo",
        "├─╮",
        "● │   b  echo",
        "│ ●   c  echo",
        "├─╯",
        "●     d  echo",
    ]


def test_a_loop_says_where_it_leads_back_to() -> None:
    assert draw_text(LOOP).splitlines() == [
        "●     fetch  echo",
        "●     check  echo",
        "│     done → write",
        "├─╮   error → alert",
        "│ │   ↺ again: back to fetch",
        "● │   write  echo",
        "  ●   alert  echo",
    ]


def test_error_edges_share_their_way() -> None:
    assert draw_text(ERRORS).splitlines() == [
        "●       fetch  echo",
        "├─╮     error → alert",
        "├─┼─╮   rate_limited → wait",
        "● │ │   parse  echo",
        "├─┤ │   error → alert",
        "│ ● │   alert  echo",
        "├─╯ │",
        "●   │   store  echo",
        "    ●   wait   echo",
        "        ↺ back to fetch",
    ]


def test_nodes_that_start_by_themselves_do_not_look_connected() -> None:
    drawn = plan({"a": {}, "b": {"default": "c"}, "c": {}}, starts=("a", "b"))
    assert draw_text(drawn).splitlines() == ["●   a  echo", "", "●   b  echo", "●   c  echo"]


def test_a_wide_graph_becomes_a_list() -> None:
    names = [f"w{n}" for n in range(14)]
    drawn = plan({"s": {"default": names}, **{name: {"default": "j", "error": "s"} for name in names}, "j": {}})
    lines = draw_text(drawn).splitlines()
    assert lines[0] == "● s    echo  → " + ", ".join(names)
    assert lines[1:3] == ["● w0   echo  → j", "    ↺ error: back to s"]
    assert lines[-1] == "● j    echo"


def test_plain_terminals_get_plain_signs() -> None:
    for drawn in (DIAMOND, LOOP, ERRORS):
        assert draw_text(drawn, ascii_only=True).isascii()


def test_mermaid_has_every_node_and_edge() -> None:
    assert draw_mermaid(LOOP) == (
        "flowchart TD\n"
        '    n0("<b>fetch</b><br/>echo")\n'
        '    n1("<b>check</b><br/>echo")\n'
        '    n2("<b>write</b><br/>echo")\n'
        '    n3("<b>alert</b><br/>echo")\n'
        "    n0 --> n1\n"
        '    n1 -->|"done"| n2\n'
        '    n1 -->|"again"| n0\n'
        '    n1 -.->|"error"| n3\n'
    )


def texts(picture: str, kind: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [text.text or "" for text in root.iter(f"{SVG}text") if kind in str(text.get("class")).split()]


def test_the_picture_has_every_node_and_action() -> None:
    picture = draw_svg(ERRORS)
    assert sorted(texts(picture, "id")) == ["alert", "fetch", "parse", "store", "wait"]
    assert sorted(texts(picture, "action")) == ["error", "error", "rate_limited"]
    assert len(list(ElementTree.fromstring(picture).iter(f"{SVG}path"))) == 2 * 7


def groups(picture: str, name: str) -> dict[str, str | None]:
    """What the groups of a picture stand for, each with its class."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}g")
    return {group.attrib[name]: group.get("class") for group in found if name in group.attrib}


def test_boxes_and_lines_say_what_they_stand_for() -> None:
    picture = draw_svg(ERRORS)
    assert sorted(groups(picture, "data-node")) == ["alert", "fetch", "parse", "store", "wait"]
    assert "fetch>alert:error" in groups(picture, "data-edge")
    assert set(groups(picture, "data-edge").values()) == {None}, "no run, no colours"


def test_a_picture_without_styles_is_left_to_the_stylesheet() -> None:
    picture = draw_svg(ERRORS, style=False)
    assert "<style" not in picture
    assert "style=" not in picture
    assert draw_svg(ERRORS) == picture.replace("</title>\n", f"</title>\n<style>{stylesheet()}</style>\n", 1)


def test_a_picture_of_a_run_tells_what_became_of_each_node_and_edge() -> None:
    steps = [
        {"step": "fetch", "status": "completed", "action": "default", "source": "cache"},
        {"step": "parse", "status": "handled", "action": "error"},
        {"step": "alert", "status": "running"},
        {"step": "alert/inner", "status": "failed"},
    ]
    happened = fold_happened(ERRORS, {"status": "running", "steps": steps})
    picture = draw_svg(ERRORS, happened)
    assert groups(picture, "data-node") == {
        "fetch": "cached",
        "parse": "failed",
        "alert": "running",
        "store": "pending",
        "wait": "pending",
    }
    edges = groups(picture, "data-edge")
    assert {edge for edge, kind in edges.items() if kind == "taken"} == {"fetch>parse:default", "parse>alert:error"}
    assert edges["fetch>alert:error"] == "untaken"
    over = fold_happened(ERRORS, {"status": "completed", "steps": steps})
    assert over.states["store"] == "skipped", "the run is over, and never came there"


def test_every_state_of_a_node_has_its_colours() -> None:
    assert [state for state in LOOKS if f".{state}" not in stylesheet()] == []


def boxes(picture: str) -> list[tuple[float, float, float, float]]:
    rects = ElementTree.fromstring(picture).iter(f"{SVG}rect")
    return [
        tuple(float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))  # type: ignore[misc]
        for rect in rects
        if "box" in str(rect.get("class"))
    ]


GRAPHS = st.integers(1, 14).flatmap(
    lambda count: st.lists(
        st.tuples(st.integers(0, count - 1), st.sampled_from(["default", "error", "again"]), st.integers(0, count - 1)),
        max_size=count * 2,
    ).map(lambda edges: (count, edges))
)


def graph(count: int, edges: list[tuple[int, str, int]]) -> Plan:
    found: dict[str, dict[str, list[str]]] = {f"n{index}": {} for index in range(count)}
    for source, action, target in edges:
        targets = found[f"n{source}"].setdefault(action, [])
        if f"n{target}" not in targets:
            targets.append(f"n{target}")
    return plan(found)


@given(GRAPHS)
def test_every_node_stands_once_in_the_text_and_after_what_leads_to_it(shape: tuple[Any, ...]) -> None:
    drawn = graph(*shape)
    lines = draw_text(drawn).splitlines()
    order = [match[1] for line in lines if (match := re.search(r"● .*?\b(n\d+)\b", line))]
    assert sorted(order) == sorted(node.id for node in drawn.nodes)
    back = set(re.findall(r"back to (n\d+)", "\n".join(lines)))
    for node in drawn.nodes:
        for targets in node.edges.values():
            for target in targets:
                name = drawn.nodes[target].id
                assert order.index(node.id) < order.index(name) or name in back


@given(GRAPHS)
def test_no_two_boxes_of_a_picture_overlap(shape: tuple[Any, ...]) -> None:
    found = boxes(draw_svg(graph(*shape)))
    assert len(found) == shape[0]
    for index, (x, y, width, height) in enumerate(found):
        assert x >= 0
        for other_x, other_y, other_width, other_height in found[index + 1 :]:
            apart = (
                x + width <= other_x
                or other_x + other_width <= x
                or y + height <= other_y
                or other_y + other_height <= y
            )
            assert apart


@given(st.text(min_size=1), st.text(), st.text(min_size=1))
def test_hostile_names_stay_names(name: str, description: str, action: str) -> None:
    drawn = plan(
        {name: {action: ["other"]}, "other": {}} if name != "other" else {"other": {}},
        name=description,
        inputs={name: Input(description=description)},
        raw={"document": {"description": description}},
    )
    ElementTree.fromstring(draw_svg(drawn))
    for text in (draw_text(drawn), draw_svg(drawn), draw_mermaid(drawn)):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    for line in draw_mermaid(drawn).splitlines()[1:]:
        assert line.count('"') in (0, 2)
        assert "<script" not in line


@pytest.mark.parametrize("width", [1, 200])
def test_a_huge_graph_is_drawn_all_the_same(width: int) -> None:
    """Each of many nodes has a long way to the last one, which a careless layout pays for squared."""
    count = 800
    names = [f"n{index}" for index in range(count)]
    edges = {
        name: {"default": names[index + 1 : index + 1 + width], "error": names[-1:]}
        for index, name in enumerate(names[:-1])
        if index % width == 0 or width == 1
    }
    drawn = plan({name: edges.get(name, {}) for name in names})
    assert len(boxes(draw_svg(drawn))) == count
    assert draw_text(drawn).count("● ") >= count - 1


def test_a_picture_is_coloured_in_programs_that_know_no_css_variables() -> None:
    picture = draw_svg(plan({"a": {}}))
    assert "var(" not in picture
    assert ".paper{fill:#ffffff}" in picture.partition("@media")[0]


def test_many_branches_stand_in_rows() -> None:
    names = [f"branch-number-{number}" for number in range(40)]
    wide = plan({"start": {"default": names}, **{name: {"default": "join"} for name in names}, "join": {}})
    root = ElementTree.fromstring(draw_svg(wide))
    assert float(root.attrib["width"]) <= 2500
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert set(names) < set(texts)


def test_labels_of_one_box_leave_the_lines_beside_them_whole() -> None:
    actions = ["rate_limited", "auth_failed", "timeout", "error"]
    fan = plan(
        {
            "fetch": {action: action.replace("_", "-") for action in actions},
            **{a.replace("_", "-"): {} for a in actions},
        }
    )
    root = ElementTree.fromstring(draw_svg(fan))
    papers = [paper for paper in root.iter(f"{SVG}rect") if paper.get("class") == "paper" and paper.get("x")]
    lines = [line.attrib["d"] for line in root.iter(f"{SVG}path") if "line" in line.attrib["class"]]
    assert len(papers) == len(lines) == 4
    for paper in papers:
        left, top = float(paper.attrib["x"]), float(paper.attrib["y"])
        right, bottom = left + float(paper.attrib["width"]), top + float(paper.attrib["height"])
        crossed = [line for line in lines if any(left < x < right and top < y < bottom for x, y in points_of(line))]
        assert len(crossed) == 1, "a label covers its own line and no other"


def points_of(path: str) -> list[tuple[float, float]]:
    """Points along a line of straight parts and curves."""
    found: list[tuple[float, float]] = []
    for kind, words in re.findall(r"([MLC])([^MLC]*)", path):
        numbers = [float(word) for word in words.split()]
        ends = list(zip(numbers[::2], numbers[1::2], strict=True))
        if kind == "C":
            (ax, ay), (bx, by), (cx, cy), (dx, dy) = found[-1], *ends
            for step in range(1, 41):
                t, s = step / 40, 1 - step / 40
                found.append(
                    (
                        s**3 * ax + 3 * s * s * t * bx + 3 * s * t * t * cx + t**3 * dx,
                        s**3 * ay + 3 * s * s * t * by + 3 * s * t * t * cy + t**3 * dy,
                    )
                )
        else:
            found += ends
    return found
