"""A plan as a picture: one SVG without scripts, fonts or links, readable on light and on dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pflow.core.duration import show_duration
from pflow.core.printable import escape, shorten
from pflow.drawing.happened import Happened
from pflow.drawing.layout import Layout, Link, links_of, place
from pflow.drawing.text import about_node, describe_input, raw_document
from pflow.engine.plan import Plan, PlanNode

Point = tuple[float, float]

_ID, _TYPE, _LABEL, _TITLE = 7.85, 6.65, 6.3, 9.7
"""How many pixels wide a letter of each kind of text is, in a monospaced font of its size."""

_HEIGHT, _LINE, _RISE, _GAP, _MARGIN = 30.0, 15.0, 62.0, 30.0, 24.0
"""Pixels: of a box, of a further line in it, between layers, between boxes, around everything."""

_SHARES = (0.5, 0.6, 0.7, 0.4, 0.8, 0.3, 0.85, 0.2)
"""Where along a line its label may stand, the best first."""

_SAMPLES = 24
"""Points of a line that labels of other lines keep clear of."""

_LETTERS = 34
"""Characters of a line in a box or of a label, at most."""

_SHAPES = """
.first{stroke-width:1.6}.line{fill:none;stroke-width:1.4}.back{stroke-dasharray:5 4}
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.id{font-size:13px;font-weight:600;text-anchor:middle}.about{font-size:11px;text-anchor:middle}
.action{font-size:10.5px;text-anchor:middle}.title{font-size:16px;font-weight:600}.note{font-size:11px}
"""


def _colours(paper: str, ink: str, soft: str, box: str, rim: str, line: str, bad: str, start: str) -> str:
    # Plain values: many programs that show an SVG do not know CSS variables, and would paint everything black.
    return (
        f".paper{{fill:{paper}}}.box{{fill:{box};stroke:{rim}}}.first{{stroke:{start}}}.line{{stroke:{line}}}"
        f".tip{{fill:{line}}}text{{fill:{ink}}}.about,.action,.note{{fill:{soft}}}"
        f".bad{{stroke:{bad}}}.badtip,.badtext{{fill:{bad}}}"
    )


def _states(fills: Mapping[str, tuple[str, str]]) -> str:
    """The colours of boxes by what became of them: what they are filled with, and their rim."""
    return "".join(f".{state}>.box{{fill:{fill};stroke:{rim}}}" for state, (fill, rim) in fills.items())


_LIGHT = _colours("#ffffff", "#1f2733", "#5b6675", "#f4f6f9", "#b7c0cc", "#8590a0", "#c2413b", "#2f7d5b") + _states(
    {
        "running": ("#dcebff", "#2f6fd0"),
        "done": ("#dff3e6", "#2f7d5b"),
        "failed": ("#fde2e0", "#c2413b"),
        "asked": ("#fff0cc", "#a87500"),
        "reused": ("#e6f2ec", "#7fae97"),
        "cached": ("#e6f2ec", "#7fae97"),
        "in-doubt": ("#f3e3fb", "#8a3fb0"),
    }
)
_DARK = _colours("#14181f", "#e7ebf0", "#9aa5b4", "#1f2530", "#465062", "#7c8798", "#f0837c", "#5fc196") + _states(
    {
        "running": ("#16304f", "#6ba6f5"),
        "done": ("#173a2a", "#5fc196"),
        "failed": ("#4a1f1d", "#f0837c"),
        "asked": ("#453610", "#e0b040"),
        "reused": ("#1b3128", "#4d8a70"),
        "cached": ("#1b3128", "#4d8a70"),
        "in-doubt": ("#3a2247", "#c78be6"),
    }
)
_RAN = """
.running>.box,.failed>.box,.asked>.box,.in-doubt>.box{stroke-width:2}
.pending,.skipped{opacity:.45}.skipped>.box,.reused>.box,.cached>.box{stroke-dasharray:4 3}
.taken>.line{stroke-width:2.2}.untaken{opacity:.3}
"""


def stylesheet() -> str:
    """The rules that pictures need, light and dark, for pages that allow no styles inside of them."""
    return f"{_SHAPES}{_LIGHT}{_RAN}@media (prefers-color-scheme:dark){{{_DARK}}}\n"


def draw_svg(plan: Plan, happened: Happened | None = None, *, style: bool = True) -> str:
    """The whole picture, as one XML document; with what `happened` in a run, in colours.

    Each box is in a `<g data-node="ID">`, each line in a `<g data-edge="FROM>TO:ACTION,…">`. A node has its state as a
    class, a line `taken` or `untaken`. Without `style`, the picture needs the `stylesheet`.
    """
    plan = plan.drawn
    boxes = [_Box(plan, node, "" if happened is None else happened.states.get(node.id, "")) for node in plan.nodes]
    links = links_of(plan)
    layout = place(plan, links, [box.width for box in boxes], gap=_GAP, thin=14.0)
    header = _header(plan)
    top = _MARGIN + sum(height for _, _, height, _ in header) + (14 if header else 0)
    tops = _tops(layout, boxes, top)
    for box in boxes:
        box.x = _MARGIN + layout.x[box.node.number]
        box.y = tops[layout.layer[box.node.number]]
    pens = _Pens(boxes, layout, tops, links)
    lines = [_grouped(plan, link, happened, *pens.draw(link)) for link in links]
    width = max([pens.right, *(_MARGIN + len(text) * letter for text, _, _, letter in header)]) + _MARGIN
    height = max([box.y + box.height for box in boxes], default=top) + _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">'
    )
    return "\n".join(
        [
            head,
            f"<title>{_xml(plan.name or 'workflow')}</title>",
            *([f"<style>{stylesheet()}</style>"] if style else []),
            '<rect class="paper" width="100%" height="100%"/>',
            *_header_lines(header),
            *(line for line, _ in lines),
            *(box.draw(plan.starts) for box in boxes),
            *(label for _, label in lines if label),
            "</svg>\n",
        ]
    )


class _Box:
    """One node's rectangle and what stands in it."""

    def __init__(self, plan: Plan, node: PlanNode, state: str = "") -> None:
        self.node = node
        self.state = state
        self.about = [shorten(text, _LETTERS) for text in about_node(plan, node)]
        self.id = shorten(node.id, _LETTERS)
        widest = max([len(self.id) * _ID, *(len(text) * _TYPE for text in self.about)])
        self.width = max(widest + 28, 72.0)
        self.height = _HEIGHT + _LINE * len(self.about)
        self.x = self.y = 0.0

    def draw(self, starts: Sequence[int]) -> str:
        left, top = self.x - self.width / 2, self.y
        kind = "box first" if self.node.number in starts else "box"
        parts = []
        if self.node.batch is not None:
            parts += [_rect(left + shift, top + shift, self.width, self.height, "box") for shift in (6, 3)]
        parts.append(_rect(left, top, self.width, self.height, kind))
        if self.node.child is not None:
            parts.append(_rect(left + 4, top + 4, self.width - 8, self.height - 8, "box"))
        parts.append(_text(self.x, top + 20, self.id, "id"))
        parts += [_text(self.x, top + 36 + _LINE * row, text, "about") for row, text in enumerate(self.about)]
        told = f' class="{self.state}"' if self.state else ""
        title = f"<title>{_xml(self.node.id)}: {self.state.replace('-', ' ')}</title>" if self.state else ""
        return f'<g data-node="{_attribute(self.node.id)}"{told}>{title}{"".join(parts)}</g>'


def _grouped(plan: Plan, link: Link, happened: Happened | None, line: str, label: str) -> tuple[str, str]:
    """A line and its label, each in a group that says which edge it is, and whether a run took it."""
    edge = f"{plan.nodes[link.source].id}>{plan.nodes[link.target].id}:{','.join(link.actions)}"
    kind = ""
    if happened is not None:
        kind = ' class="taken"' if (link.source, link.target) in happened.taken else ' class="untaken"'
    head = f'<g data-edge="{_attribute(edge)}"{kind}>'
    return f"{head}{line}</g>", f"{head}{label}</g>" if label else ""


def _tops(layout: Layout, boxes: Sequence[_Box], top: float) -> list[float]:
    heights = [0.0] * layout.layers
    for box in boxes:
        layer = layout.layer[box.node.number]
        heights[layer] = max(heights[layer], box.height)
    tops = []
    for height in heights:
        tops.append(top)
        top += height + _RISE
    return [*tops, top]


class _Pens:
    """Draws links one after the other, so that their labels and loops keep out of each other's way."""

    def __init__(self, boxes: Sequence[_Box], layout: Layout, tops: Sequence[float], links: Sequence[Link]) -> None:
        self._boxes = boxes
        self._layout = layout
        self._tops = tops
        self._bends = dict(zip([link for link in links if not link.back], layout.bends, strict=True))
        self._labels: dict[int, list[tuple[float, float, float]]] = {}
        self._leaving = self._ports(0)
        self._arriving = self._ports(-1)
        self._samples: dict[int, list[tuple[Link, float, float]]] = {}
        for link in self._bends:
            curve = self._curve(link)
            points = [_along(*curve, share / _SAMPLES) for share in range(_SAMPLES + 1)]
            self._samples.setdefault(link.source, []).extend((link, x, y) for x, y in points)
        self.right = max([box.x + box.width / 2 for box in boxes], default=0.0)
        self.right = max([self.right, *(_MARGIN + x for bends in layout.bends for x in bends)])

    def _ports(self, end: int) -> dict[Link, float]:
        """Where on the edge of a box each link ends, in the order of what lies beyond, so that none cross there."""
        by_box: dict[int, list[tuple[float, Link]]] = {}
        for link, bends in self._bends.items():
            here, there = (link.target, link.source) if end else (link.source, link.target)
            beyond = bends[end] if bends else self._layout.x[there]
            by_box.setdefault(here, []).append((beyond, link))
        ports: dict[Link, float] = {}
        for node, ends in by_box.items():
            ends.sort(key=lambda pair: pair[0])
            box, last = self._boxes[node], len(ends) - 1
            room = min(box.width - 24, 22.0 * last)
            for place_, (_, link) in enumerate(ends):
                ports[link] = box.x + (room * (place_ / last - 0.5) if last else 0.0)
        return ports

    def draw(self, link: Link) -> tuple[str, str]:
        """The line and its label."""
        return self._back(link) if link.back else self._forward(link)

    def _forward(self, link: Link) -> tuple[str, str]:
        source, target, tops = self._boxes[link.source], self._boxes[link.target], self._tops
        points: list[Point] = [(self._leaving[link], source.y + source.height)]
        for layer, bend in enumerate(self._bends[link], start=self._layout.layer[link.source] + 1):
            points += [(_MARGIN + bend, tops[layer]), (_MARGIN + bend, tops[layer + 1] - _RISE)]
        end = self._arriving[link]
        points.append((end, target.y - 7))
        path = f"M{_at(points[0])}"
        for begin, stop in pairwise(points):
            if abs(begin[0] - stop[0]) < 0.5:
                path += f"L{_at(stop)}"
            else:
                half = (begin[1] + stop[1]) / 2
                path += f"C{_at((begin[0], half))} {_at((stop[0], half))} {_at(stop)}"
        return _line(path, (end, target.y - 1), link), self._label(link, points[0], points[1])

    def _curve(self, link: Link) -> tuple[Point, Point]:
        """Where a link leaves its box, and where the first part of it ends."""
        source, target = self._boxes[link.source], self._boxes[link.target]
        begin = (self._leaving[link], source.y + source.height)
        layer = self._layout.layer[link.source] + 1
        bends = self._bends[link]
        return begin, (_MARGIN + bends[0], self._tops[layer]) if bends else (self._arriving[link], target.y - 7)

    def _foreign(self, link: Link, at: Point, width: float) -> int:
        """How many points of other lines that leave the same box a label would cover."""
        x, y = at
        return sum(
            abs(x - a) < width / 2 and abs(y - b) < 8 for other, a, b in self._samples[link.source] if other != link
        )

    def _label(self, link: Link, begin: Point, end: Point) -> str:
        """The actions on the line, where no other label stands and the fewest other lines pass."""
        if not link.label:
            return ""
        width = min(len(link.label), _LETTERS) * _LABEL + 10
        spots = [_along(begin, end, share) for share in _SHARES]
        free = [spot for spot in spots if self._is_free(spot, width)]
        x, y = min(free or spots, key=lambda spot: self._foreign(link, spot, width))
        self._labels.setdefault(int(y // 16), []).append((x, y, width))
        return _pill((x, y), link)

    def _is_free(self, at: Point, width: float) -> bool:
        """Whether no other label stands there."""
        x, y = at
        row = int(y // 16)
        near = [label for other in (row - 1, row, row + 1) for label in self._labels.get(other, ())]
        return all(abs(x - a) > (width + b) / 2 or abs(y - c) > 16 for a, c, b in near)

    def _back(self, link: Link) -> tuple[str, str]:
        """A line that leads back: out of the right side, up beside everything, in at the right side again."""
        source, target = self._boxes[link.source], self._boxes[link.target]
        low, high = source.y + source.height / 2 + 4, target.y + target.height / 2 - 4
        start, end = source.x + source.width / 2, target.x + target.width / 2 + 7
        width = min(len(link.label), _LETTERS) * _LABEL + 10 if link.label else 0.0
        side = self.right + max(22.0, width / 2)
        bow = min(16.0, abs(low - high) / 2)
        path = (
            f"M{_at((start, low))}L{_at((side - bow, low))}Q{_at((side, low))} {_at((side, low - bow))}"
            f"L{_at((side, high + bow))}Q{_at((side, high))} {_at((side - bow, high))}L{_at((end, high))}"
        )
        self.right = side + width / 2
        return _line(path, (end - 6, high), link, sideways=True), _pill((side, (low + high) / 2), link)


def _along(begin: Point, end: Point, share: float) -> Point:
    """A point of the curve between two points that starts and ends upright."""
    rest = 1 - share
    ease = 3 * share * share * rest + share**3
    lift = 1.5 * rest * share * (rest + share) + share**3
    return begin[0] + (end[0] - begin[0]) * ease, begin[1] + (end[1] - begin[1]) * lift


def _line(path: str, tip: Point, link: Link, *, sideways: bool = False) -> str:
    kind = "line" + (" bad" if link.is_error else "") + (" back" if link.back else "")
    x, y = tip
    wings = ((x + 8, y - 4), (x + 8, y + 4)) if sideways else ((x - 4, y - 8), (x + 4, y - 8))
    head = "badtip" if link.is_error else "tip"
    return f'<path class="{kind}" d="{path}"/><path class="{head}" d="M{_at(tip)}L{_at(wings[0])}L{_at(wings[1])}Z"/>'


def _pill(at: Point, link: Link) -> str:
    if not link.label:
        return ""
    text = shorten(link.label, _LETTERS)
    width = len(text) * _LABEL + 4  # no more paper than the letters need: it would cut the lines beside it
    kind = "action badtext" if link.is_error else "action"
    x, y = at
    return (
        f'<rect class="paper" x="{x - width / 2:.1f}" y="{y - 6.5:.1f}" width="{width:.1f}" height="13" rx="4"/>'
        + _text(x, y + 3.5, text, kind)
    )


def _header(plan: Plan) -> list[tuple[str, str, float, float]]:
    """Lines of text: what they say, their kind, how high they are and how wide a letter of them is."""
    notes = [
        (str(raw_document(plan).get("description") or ""), 17.0),
        *((f"in   {name}: {describe_input(declared)}", 15.0) for name, declared in plan.inputs.items()),
        (f"out  {', '.join(plan.outputs)}" if plan.outputs else "", 15.0),
        (f"timeout  {show_duration(plan.timeout)}" if plan.timeout is not None else "", 15.0),
    ]
    title = [(shorten(plan.name, 80), "title", 20.0, _TITLE)] if plan.name else []
    return title + [(shorten(note, 110), "note", height, _TYPE) for note, height in notes if note]


def _header_lines(header: Sequence[tuple[str, str, float, float]]) -> list[str]:
    drawn = []
    y = _MARGIN - 4
    for text, kind, height, _ in header:
        y += height
        drawn.append(_text(_MARGIN, y, text, kind))
    return drawn


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" xml:space="preserve">{_xml(text)}</text>'


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _xml(text: str) -> str:
    return escape(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    return _xml(text).replace('"', "&quot;")
