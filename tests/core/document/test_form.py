"""The canonical form of a document: fields in order, every comment there, the meaning unchanged."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.document.build import _DOCUMENT, _NODE
from pflow.core.document.form.canonical import canonical_text
from pflow.core.document.form.field_order import DOCUMENT_ORDER, NODE_ORDER
from pflow.core.document.parse import parse_text
from pflow.core.errors import DocumentError
from tests.quick import examples

MESSY = """\
#!/usr/bin/env pflow
# A header

# about nodes
nodes:
- type: shell   # first
  # the id
  id: a
  params:
      command: |
          echo hi
            there

      # tail of params
  # tail of a

# second item
-
  id: b
  params: {x: "${a.stdout}",
           y: 2}
  type: echo
# why a description
description: >-
    Some text
    folded
# the end
"""

CANONICAL = """\
#!/usr/bin/env pflow
# A header

# why a description
description: >-
  Some text
  folded
# about nodes
nodes:
  # the id
  - id: a
    type: shell   # first
    params:
      command: |
        echo hi
          there

      # tail of params
    # tail of a

  # second item
  - id: b
    type: echo
    params: {x: "${a.stdout}",
             y: 2}
# the end
"""


def form(text: str, suffix: str = ".yaml") -> str:
    return canonical_text(parse_text(text, suffix=suffix))


def test_yaml_is_moved_and_not_written_anew() -> None:
    assert form(MESSY) == CANONICAL
    assert form(CANONICAL) == CANONICAL


def test_json_keeps_its_tokens_and_what_fits_on_a_line() -> None:
    nodes = '[{"type": "echo", "id": "a", "params": {"x": 1.0, "y": "\\u00e9"}}]'
    text = f'{{"nodes": {nodes},\n"description":"d", "edges":[ ]}}'
    assert form(text, ".json") == (
        '{\n  "description": "d",\n  "nodes": [{"id": "a", "type": "echo", "params": {"x": 1.0, "y": "\\u00e9"}}],\n'
        '  "edges": []\n}\n'
    )


def test_every_field_has_its_place_in_the_order() -> None:
    assert set(_DOCUMENT) <= set(DOCUMENT_ORDER) and set(_NODE) <= set(NODE_ORDER)


@pytest.mark.parametrize(
    "text",
    [
        "nodes:\n  - id: a\n    type: echo\n    params: {t: &x hi, u: *x}\n",
        "nodes:\n- params: {t: &x hi}\n  id: a\n  type: &e echo\n- {id: b, type: *e}\n",
        "nodes:\n- id: a\n  params:\n    t: |+\n      x\n\n\n  type: echo\n",
        "nodes:\n- id: a\n  type: echo\n  params:\n    t: |+\n      x\n\n\n",
        "nodes:\n- id: a\n  type: echo\n  params:\n    t: |2\n        x\n      y\n",
        "---\n# c\nnodes:\n- {id: a, type: echo}\n",
        "nodes: [{id: a, type: echo}]",
        "{nodes: [{type: echo, id: a}]}\n",
        "nodes:\r\n- type: echo\r\n  id: a\r\n  # é\r\n",
        "nodes:\n- id: a\n  type: echo\n  params:\n    l:\n    - - 1\n      - 2\n    -\n    - x: 1\n    m:\n    n: ~\n",
        "'nodes':\n- \"id\": a\n  type:\n    echo\n  params:\n    # why\n"
        "    text:\n      # deep\n      plain text\n      goes on # note\n",
        "nodes:\n- id: a\n  type: echo\n  params:\n    a: 1\n      # odd\n"
        "    b: |\n      x\n     # not text\n    c: 2\n",
        "nodes: # n\n  # first\n\n  - id: a # i\n\n    # t\n    type: echo\n",
    ],
)
def test_unusual_yaml_is_formed_once_and_means_the_same(text: str) -> None:
    formed = form(text)
    assert form(formed) == formed
    assert parse_text(formed, suffix=".yaml").places.value == parse_text(text, suffix=".yaml").places.value
    assert sorted(re.findall(r"# \w+", formed)) == sorted(re.findall(r"# \w+", text))


@pytest.mark.parametrize("text", ["? nodes\n: - {id: a, type: echo}\n", "nodes:\n  - {id: a, type: echo}\n...\n"])
def test_what_cannot_be_moved_is_left_as_it_is(text: str) -> None:
    with pytest.raises(DocumentError, match="left as it is"):
        form(text)


def test_an_alias_keeps_behind_what_it_names() -> None:
    text = "nodes:\n  - id: a\n    type: echo\n    params: {text: &t hello}\ndescription: *t\n"
    assert form(text) == text


# Generated documents: a value, written with the freedom that YAML and JSON leave.

words = st.text(alphabet="abcxyz #:-'é", min_size=1, max_size=12)
leaves = st.one_of(words, st.integers(-5, 5), st.booleans(), st.none(), st.just("line\n  two\n\nend\n"))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["k", "key2", "a b"]), inner, max_size=3)
    ),
    max_leaves=6,
)
nodes = st.lists(st.dictionaries(st.sampled_from(["p", "q", "r"]), values, max_size=3), min_size=1, max_size=3)


class Writer:
    """Writes a value as YAML in one of many ways, with numbered comments."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.comments = 0

    def chance(self) -> bool:
        return self.draw(st.integers(0, 3)) == 0

    def comment(self) -> str:
        self.comments += 1
        return f"# c{self.comments}."

    def gap(self, indent: int) -> list[str]:
        lines: list[str] = []
        if self.chance():
            lines.append(" " * indent + self.comment())
        if self.chance():
            lines.insert(self.draw(st.integers(0, len(lines))), "")
        return lines

    def note(self) -> str:
        return f"  {self.comment()}" if self.chance() else ""

    def entry(self, head: str, value: object, indent: int, *, dash: bool = False) -> list[str]:
        if isinstance(value, str) and "\n" in value:
            step = self.draw(st.integers(2, 4))
            body = [" " * (indent + step) + line if line else "" for line in value.rstrip("\n").split("\n")]
            return [f"{head} |{self.note()}", *body]
        if isinstance(value, dict | list) and value and not self.chance():
            step = self.draw(st.integers(0 if isinstance(value, list) and not dash else 1, 4))
            return [f"{head}{self.note()}", *self.block(value, indent + step)]
        return [f"{head} {json.dumps(value, ensure_ascii=False)}{self.note()}"]

    def block(self, value: dict[str, Any] | list[Any], indent: int) -> list[str]:
        lines: list[str] = []
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            lines += self.gap(indent)
            head = "-" if isinstance(value, list) else f"{key}:"
            lines += self.entry(" " * indent + head, part, indent, dash=isinstance(value, list))
        if self.chance():
            lines.append(" " * indent + self.comment())
        return lines


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    made = []
    for number, params in enumerate(draw(nodes)):
        fields: list[tuple[str, Any]] = [("id", f"n{number}"), ("type", "echo"), ("params", params), ("timeout", 5)]
        made.append(dict(draw(st.permutations(fields))))
    top: list[tuple[str, Any]] = [("nodes", made), ("description", draw(words)), ("ir_version", "0.1.0")]
    return dict(draw(st.permutations([*top, ("metadata", draw(st.dictionaries(words, values, max_size=2)))])))


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    writer = Writer(draw)
    document = draw(documents())
    document["metadata"] = {f"m{number}": value for number, value in enumerate(document["metadata"].values())}
    return "\n".join(writer.block(document, 0)) + "\n" * draw(st.integers(1, 3))


def check_yaml(text: str) -> None:
    before = parse_text(text, suffix=".yaml")
    assert not before.issues, text
    formed = canonical_text(before)
    assert sorted(re.findall(r"# c\d+\.", formed)) == sorted(re.findall(r"# c\d+\.", text))
    after = parse_text(formed, suffix=".yaml")
    assert after.places.value == before.places.value
    assert canonical_text(after) == formed
    assert formed.endswith("\n") and not formed.endswith("\n\n")


@given(yaml_texts())
@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
def test_any_yaml_keeps_its_comments_and_its_meaning_and_is_formed_once(text: str) -> None:
    check_yaml(text)


@pytest.mark.slow
@given(yaml_texts())
@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
def test_a_thousand_yaml_texts_are_formed_once(text: str) -> None:
    check_yaml(text)


def test_a_block_scalar_that_ends_with_the_file_and_not_with_a_line_is_left_alone() -> None:
    text = "nodes:\n  - {id: a, type: echo}\nmetadata:\n  note: |\n    no line break behind this"
    with pytest.raises(DocumentError, match="left as it is"):
        canonical_text(parse_text(text, suffix=".yaml"))
    assert canonical_text(parse_text(text + "\n", suffix=".yaml")).startswith("metadata:\n  note: |\n")


@given(documents(), st.sampled_from([None, 1, 4]))
@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
def test_any_json_keeps_its_meaning_and_is_formed_once(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    formed = form(text, ".json")
    assert json.loads(formed) == document
    assert form(formed, ".json") == formed
    assert list(json.loads(formed)) == [field for field in DOCUMENT_ORDER if field in document]
