"""Templates are looked up and nothing more: what parses, what it becomes, and what is left alone."""

import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pflow.core.errors import StepError, UnresolvedError
from pflow.core.file.home import Home
from pflow.core.interface import MISSING
from pflow.core.template.compiled import Reference, as_text, descend
from pflow.core.template.template import compile_value, references_of, split_text
from pflow.workspace import Workspace
from tests.quick import examples

DATA = {
    "a": "one",
    "n": 7,
    "none": None,
    "list": ["x", {"y": "z"}, []],
    "node": {"result": {"items": [{"title": "T"}], "odd key": 1, "dotted.key": 2, "é": 3, "0": 4, "": 5}, "size": 2},
    "dash-ed": True,
    "secret": {"X": "hidden"},
}


def look_up(reference: Reference) -> Any:
    """A value from `DATA`, as a run would find it."""
    if reference.root in DATA:
        return descend(DATA[reference.root], reference)
    if reference.default is not MISSING:
        return reference.default
    raise UnresolvedError(f"there is no `{reference.root}`")


def render(value: Any) -> Any:
    compiled, problems = compile_value(value)
    assert problems == []
    return compiled.render(look_up)


def problems_of(value: str) -> list[str]:
    return [problem.message for problem in compile_value(value)[1]]


# A second resolver, written from the documentation alone and one character at a time.

NAME = set(string.ascii_letters + string.digits + "_-")


class Wrong(Exception):
    """The text holds something that is no template."""


def resolve(text: str) -> Any:
    parts: list[Any] = []
    at = 0
    while at < len(text):
        if text.startswith("$${", at):
            parts, at = [*parts, "${"], at + 3
        elif text.startswith("${", at):
            value, at = resolve_one(text, at + 2)
            parts.append([value])
        else:
            parts, at = [*parts, text[at]], at + 1
    if len(parts) == 1 and isinstance(parts[0], list):
        return parts[0][0]
    return "".join(part if isinstance(part, str) else dump(part[0]) for part in parts)


def dump(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def resolve_one(text: str, at: int) -> tuple[Any, ...]:
    end = at
    while end < len(text) and text[end] in NAME:
        end += 1
    name = text[at:end]
    path: list[str | int] = []
    if not name or name[0] in string.digits + "-" or name.startswith("__"):
        raise Wrong
    while text[end : end + 1] in (".", "["):
        if text[end] == ".":
            start = end = end + 1
            while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
                end += 1
            path.append(text[start:end])
            if start == end:
                raise Wrong
        elif text[end + 1 : end + 2] == '"':
            try:
                key, size = json.JSONDecoder().raw_decode(text[end + 1 :])
            except ValueError:
                raise Wrong from None
            path, end = [*path, key], end + 1 + size
            if text[end : end + 1] != "]":
                raise Wrong
            end += 1
        else:
            close = text.find("]", end)
            digits = text[end + 1 : close]
            if close < 0 or not digits or set(digits) - set(string.digits) or len(digits) > 9:
                raise Wrong
            path, end = [*path, int(digits)], close + 1
    default: tuple[str, ...] = ()
    if text.startswith(":-", end):
        stop = min((i for i in (text.find("}", end), text.find("{", end)) if i >= 0), default=len(text))
        default, end = (text[end + 2 : stop],), stop
    if text[end : end + 1] != "}":
        raise Wrong
    value: object = DATA
    for key in [name, *path]:
        if isinstance(value, dict) and str(key) in value:
            value = value[str(key)]
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif default:
            return default[0], end + 1
        else:
            raise KeyError(key)
    return value, end + 1


STEPS = [
    ".result", ".items", ".size", ".y", ".é", ".0", "[0]", "[1]", "[2]", "[99]", "[-1]", "[1234567890]",
    '["odd key"]', '["dotted.key"]', '[""]', '["\\u00e9"]', "['x']", ".", "..x", "[", "[]", "()", "|f", " ",
    "[x]",
]  # fmt: skip
ROOTS = ["a", "n", "none", "list", "node", "dash-ed", "secret", "missing", "__a", "9a", "", "é", "a b", "${a}", "a+1"]
templates = st.builds(
    lambda root, steps, default, close: "${" + root + "".join(steps) + default + close,
    st.sampled_from(ROOTS),
    st.lists(st.sampled_from(STEPS), max_size=3),
    st.sampled_from(["", "", "", ":-", ":-x", ":-a b", ":-${a}", ":-}", ":", "-x", ":-$"]),
    st.sampled_from(["}", "}", "}", "}", ""]),
)
texts = st.lists(
    templates
    | st.sampled_from(["$", "$$", "{", "}", "$${", "$${a}", "${", "text", " ", "\n", "é", '"', "\\", "%(a)s"]),
    max_size=5,
).map("".join)


@given(texts)
@example("$$${a}")
@example("${a:-${n}}")
@settings(max_examples=examples(400))
def test_two_resolvers_agree(text: str) -> None:
    try:
        expected = resolve(text)
    except Wrong:
        assert problems_of(text)
    except KeyError:
        # The other resolver stops at the first thing it cannot find; something later may be no template at all.
        compiled, problems = compile_value(text)
        if not problems:
            with pytest.raises(UnresolvedError):
                compiled.render(look_up)
    else:
        found = render(text)
        assert (type(found), found) == (type(expected), expected)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_string_that_is_one_template_gives_the_very_value(value: object) -> None:
    assert compile_value("${a.b}")[0].render(lambda reference: value) is value


@given(st.text(), st.text(), st.text())
def test_a_value_is_inserted_as_it_is(before: str, value: str, after: str) -> None:
    compiled, _ = compile_value(before.replace("$", "") + "-${a}-" + after.replace("$", ""))
    assert compiled.render(lambda reference: value) == before.replace("$", "") + f"-{value}-" + after.replace("$", "")


@given(st.text(st.sampled_from('ab${}:-[]". \n')))
def test_any_text_can_be_escaped(text: str) -> None:
    assert render(text.replace("${", "$${")) == text


@given(json_values.filter(lambda value: "${" not in str(value)))
def test_a_value_without_templates_stays_the_same_object(value: object) -> None:
    assert compile_value(value)[0].render(look_up) is value


def test_values_go_into_text_as_json() -> None:
    assert render("${n} ${none} ${dash-ed} ${list} ${a}") == '7 null true ["x",{"y":"z"},[]] one'


def test_structures_are_filled_in_place() -> None:
    given_: dict[str, Any] = {"k": ["${n}", "x ${a}", {"deep": "${node.result.items[0].title}"}], "same": {"x": 1}}
    found = render(given_)
    assert found == {"k": [7, "x one", {"deep": "T"}], "same": {"x": 1}}
    assert found["same"] is given_["same"]
    assert list(found) == list(given_)
    assert given_["k"][0] == "${n}"


def test_a_default_stands_in_for_what_is_missing_and_only_then() -> None:
    assert render("${missing:-x y}") == "x y"
    assert render("${node.nope.deep:-d}") == "d"
    assert render("${list[9]:-}") == ""
    assert render("${a:-x}") == "one"
    assert render("${none:-x}") is None


def test_problems_say_where_they_are() -> None:
    _, problems = compile_value({"k": ["fine ${a}", {"deep": "no ${1+1}"}]})
    assert [(problem.path, problem.offset) for problem in problems] == [(("k", 1, "deep"), 3)]


# C1
@pytest.mark.parametrize("inner", [
    "a.b()", "a()", "a|f", "a | f", "1+1", "a + b", "a[b]", "a[0:1]", "a[-1]", "a[*]", "a,b", "a b", "!a",
    "a!r", "a:x", "a:=x", "a:+x", "#a", "a#b", "a%b", "a/b/c", "a^", "a,,", "@a", "a@P", "lambda: 0", "'a'",
    "", " a", "a ", "a..b", ".a", "a.", "[0]", "9", "-a", "a['x']", 'a["x]', "a[99999999999]", "\n", "é",
])  # fmt: skip
def test_an_expression_is_no_template(inner: str) -> None:
    [problem] = compile_value("${" + inner + "}")[1]
    assert problem.message.startswith("`${")
    assert problem.hint.endswith("write `$${` for a literal `${`")


@pytest.mark.parametrize("name", ["__class__", "__builtins__", "__", "__a.b"])
def test_reserved_names_are_refused(name: str) -> None:
    assert problems_of("${" + name + "}") == [f"`${{{name}}}`: names that start with `__` are reserved"]


@pytest.mark.parametrize(
    "path", ["a.__class__.__mro__", "list.append", "node.keys", "n.real", "secret.X.upper", "a[0]"]
)
def test_attributes_of_python_objects_cannot_be_reached(path: str) -> None:
    with pytest.raises(UnresolvedError):
        render("${" + path + "}")


def test_odd_keys_are_plain_data() -> None:
    compiled, _ = compile_value("${o.__class__} ${o.__proto__}")
    data = {"__class__": "c", "__proto__": "p"}
    assert compiled.render(lambda reference: descend(data, reference)) == "c p"


# C2
@pytest.mark.parametrize("value", ["${secret.X}", "$${a}", "${a}${a}", "${", "a ${secret.X} b", "$" * 9 + "{a}"])
@pytest.mark.parametrize("text", ["${v}", "<${v}>", "${v}${v}", "$${${v}}"])
def test_templates_in_values_are_data(value: str, text: str) -> None:
    compiled, _ = compile_value(text)
    assert compiled.render(lambda reference: value) == text.replace("$${", "\1").replace("${v}", value).replace(
        "\1", "${"
    )


# C3
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("$${a}", "${a}"), ("$$${a}", "$${a}"), ("$$$${a}", "$$${a}"), ("$${", "${"), ("$$", "$$"),
        ("$a", "$a"), ("$ {a}", "$ {a}"), ("{a}", "{a}"), ("${a}}", "one}"),
        ("{${a}}", "{one}"), ("$${${a}}", "${one}"), ("${a}$${a}", "one${a}"), ("${a}${a}", "oneone"),
        ("}${a}{", "}one{"), ("\\${a}", "\\one"), ("", ""), ("$", "$"),
    ],
)  # fmt: skip
def test_dollars_and_braces_have_a_defined_result(text: str, becomes: str) -> None:
    assert render(text) == becomes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${${a}}", "`${${a}`: templates do not nest"),
        ("${a${n}}", "`${a${n}`: templates do not nest"),
        ("${a", "`${a` opens a template that never ends"),
        ("x ${", "`${` opens a template that never ends"),
        ("${a:-{}}", "`${a:-{}` is not a template: only names, `.key`, `[0]` and `:-default` are"),
        (
            "${" + "a " * 50 + "}",
            "`${" + ("a " * 50)[:57] + "…` is not a template: only names, `.key`, `[0]` and `:-default` are",
        ),
    ],
)
def test_what_is_no_template_is_a_problem(text: str, message: str) -> None:
    assert problems_of(text) == [message]


# C5
def test_a_missing_part_says_what_is_there() -> None:
    with pytest.raises(UnresolvedError) as caught:
        render("x ${node.result.titel}")
    assert caught.value.message == (
        "template `${node.result.titel}` not resolved: `node.result` is an object with items (array), "
        "odd key (integer), dotted.key (integer), é (integer), 0 (integer),  (integer), and has no `titel`"
    )
    assert caught.value.details == {"missing": ["node.result.titel"]}
    with pytest.raises(UnresolvedError) as caught:
        render("${node.resul}")
    assert caught.value.suggestions == ("did you mean `result`?",)
    with pytest.raises(UnresolvedError, match="`list` is an array of 3, and has no `7`"):
        render("${list[7]}")
    with pytest.raises(UnresolvedError, match="`a` is string, and has no `b`") as caught:
        render("${a.b}")
    assert caught.value.suggestions == (
        "if the text holds data, read it in a `parse` step with `text: ${a}` first, and use its `value`",
    )


# C7
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('${node.result["odd key"]}', 1), ('${node.result["dotted.key"]}', 2), ("${node.result.é}", 3),
        ('${node.result["é"]}', 3), ('${node.result["\\u00e9"]}', 3), ("${node.result[0]}", 4),
        ("${node.result.0}", 4),
        ('${node.result[""]}', 5), ('${node["result"]["items"][0]["title"]}', "T"), ("${list[1].y}", "z"),
        ("${list[2]}", []), ("${dash-ed}", True), ("${list[000000001].y}", "z"),
    ],
)  # fmt: skip
def test_odd_keys_and_indexes_are_reached(text: str, value: object) -> None:
    assert render(text) == value


@pytest.mark.parametrize(
    "text",
    ["${list[3]}", "${list[999999999]}", "${list.0}", '${list["0"]}', "${node.result.odd}", "${a[0]}", "${none.x}"],
)
def test_what_is_not_there_is_not_made_up(text: str) -> None:
    with pytest.raises(UnresolvedError):
        render(text)


# C8
@pytest.mark.parametrize("text", [
    "{0.__globals__}", "{a}", "%(a)s", "%s", "{{a}}", "{{ a }}", "{% if a %}", "<%= a %>", "$(a)", "$a",
    "`a`", "#{a}", "@{a}", "\\u0024{a}",
])  # fmt: skip
def test_other_kinds_of_placeholders_are_plain_text(text: str) -> None:
    assert render(text) is text


# C12
@pytest.mark.slow
def test_a_hundred_thousand_templates_are_parsed_and_filled() -> None:
    text = "".join(f"<${{v{index}.x[{index}]}}>" for index in range(100_000))
    compiled, problems = compile_value(text)
    assert problems == []
    assert len(compiled.references) == 100_000
    assert compiled.render(lambda reference: reference.path[1]) == "".join(f"<{index}>" for index in range(100_000))


@pytest.mark.parametrize(
    "piece",
    ["${", "${a", "${a.", '${a["', "${a:-", "$${", "$", "${a[0", "${__a}", "${a b}", '${a["\\', "${a.b-", "{", "}"],
)
def test_a_long_text_of_anything_is_parsed(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    parts, problems = split_text(text)
    assert len(problems) == text.replace("$${", "").count("${")
    assert "".join(part if isinstance(part, str) else part.text for part in parts) == text.replace("$${", "${")


class Watched(str):
    """A text that knows how much of it was searched."""

    searched = 0

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = super().find(sub, start, len(self) if end is None else end)
        self.searched += (len(self) if found < 0 else found) - start
        return found


@pytest.mark.parametrize(
    "text", ["${" * 1000, "${" * 1000 + "}", "${ }" * 1000, "${ " * 500 + "}" * 500, "${ }${" * 500]
)
def test_a_text_is_searched_only_once(text: str) -> None:
    watched = Watched(text)
    assert len(split_text(watched)[1]) == text.count("${")
    assert watched.searched <= 2 * len(text)


def test_problems_show_little_of_a_long_text() -> None:
    [problem] = split_text("${" + "x " * 100_000)[1]
    assert len(problem.message) < 120


def test_references_know_where_they_stand() -> None:
    assert references_of("a ${b.c[0]:-d} $${e}") == [Reference("b", ("c", 0), "d", "${b.c[0]:-d}", 2)]


def test_what_is_no_json_cannot_become_text() -> None:
    with pytest.raises(StepError, match="a value of type `object` cannot become text"):
        as_text(object())


# C5, C9, C10 and C11 as a document meets them


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def show(**params: Any) -> dict[str, Any]:
    return {"id": "show", "type": "echo", "params": params}


def test_a_missing_name_lists_near_ones(workspace: Workspace) -> None:
    document = {"inputs": {"title": {"type": "string"}}, "nodes": [show(text="${titel}")]}
    [issue] = workspace.check(document).issues
    assert issue.known == ("title (string)",)
    assert issue.hint == "did you mean `${title}`?"


@pytest.mark.parametrize("name", ["HOME", "PATH", "USER", "PFLOW_HOME", "CANARY"])
def test_the_environment_is_not_looked_up(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("CANARY", "leaked")
    [issue] = workspace.check({"nodes": [show(text="${" + name + "}")]}).issues
    assert issue.code == "unknown-name"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"nodes": [show(o={"${x}": 1})]}, "nodes[0].params.o"),
        ({"nodes": [{"id": "${x}", "type": "echo"}]}, "nodes[0].id"),
        ({"nodes": [{"id": "a", "type": "${x}"}]}, "nodes[0].type"),
        ({"nodes": [show()], "start_node": "${x}"}, "start_node"),
        ({"nodes": [show()], "edges": [{"from": "show", "to": "${x}"}]}, "edges[0].to"),
        ({"nodes": [{"id": "w", "type": "workflow", "params": {"workflow": "${x}"}}]}, "nodes[0].params.workflow"),
        ({"nodes": [{"id": "h", "type": "http", "params": {"url": "${x}://h"}}]}, "nodes[0].params.url"),
        ({"nodes": [{"id": "s", "type": "shell", "params": {"command": "eval ${x}"}}]}, "nodes[0].params.command"),
    ],
)
def test_templates_stand_only_where_values_do(workspace: Workspace, document: dict[str, Any], path: str) -> None:
    issues = workspace.check({"inputs": {"x": {"type": "string"}}, **document}).issues
    assert path in {issue.path for issue in issues}


def test_a_default_is_data_and_so_cannot_refer_in_a_circle(workspace: Workspace) -> None:
    document = {
        "inputs": {"a": {"type": "string", "default": "${b}"}, "b": {"type": "string", "default": "${a}"}},
        "nodes": [show(text="${a} ${b}", whole="${a}")],
    }
    outcome = workspace.run(document)
    assert outcome.outputs == {"text": "${b} ${a}", "whole": "${b}"}


def test_a_node_cannot_refer_to_itself(workspace: Workspace) -> None:
    [issue] = workspace.check({"nodes": [show(text="${show.text}")]}).issues
    assert issue.code == "not-before"
