"""Questions, waits and approvals as people write them wrong: each is found before anybody is asked, with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace

CHOICES = "prompt: Go?, choices: [post, stop]"

WRONG: list[tuple[str, str, str, str]] = [
    # the node, the code, what the message or its list says, what the hint says
    ("type: ask, params: {prompt: Go?}", "missing-param", "nothing that could be answered", "choices: [yes, no]"),
    ("type: ask, params: {prompt: Go?, choices: []}", "missing-param", "nothing that could", "choices: [yes, no]"),
    ("type: ask, params: {prompt: Go?, schema: {}}", "missing-param", "nothing that could", "schema: {note:"),
    ("type: ask, params: {choices: [a, b]}", "missing-param", "needs `prompt`", "give `prompt` in `params`"),
    ("type: ask, params: {prompt: '', choices: [a, b]}", "missing-param", "is empty", "say what is asked"),
    ("type: ask, params: {prompt: Go?, choices: [a, b, a]}", "bad-choice", "`a` stands twice", "leave one of them out"),
    (
        "type: ask, params: {prompt: Go?, choices: [Yes, yes]}",
        "bad-choice",
        "`yes` differs from `Yes` only in case",
        "leave one",
    ),
    ("type: ask, params: {prompt: Go?, choices: [true, b]}", "bad-choice", "truth value `true`", 'write "yes"'),
    ("type: ask, params: {prompt: Go?, choices: [1, b]}", "bad-choice", "the number `1` is", 'write "1"'),
    ("type: ask, params: {prompt: Go?, choices: [' a', b]}", "bad-choice", "one short line", "at most 60 characters"),
    ('type: ask, params: {prompt: Go?, choices: ["a\\u001b", b]}', "bad-choice", r"`a\x1b`", "at most 60 characters"),
    ("type: ask, params: {prompt: Go?, choices: [null, b]}", "bad-choice", "null is among", "is a string"),
    ("type: ask, params: {prompt: Go?, choices: [{a: b}]}", "bad-choice", "an object is among", "is a string"),
    ("type: ask, params: {prompt: Go?, choices: ['', b]}", "bad-choice", "an empty string is among", "leave it out"),
    ("type: echo, approve: yes", "wrong-type", "not the string `yes`", "write `approve: true`"),
    ("type: echo, approve: Sure?", "wrong-type", "not the string `Sure?`", "write approve: {prompt: 'Sure?'}"),
    ("type: ask, params: {prompt: Go?, choices: [timeout, b]}", "reserved-case", "a choice of `q`", "another"),
    (f"type: ask, params: {{prompt: Go?, choices: {list(map(str, range(21)))}}}", "too-many", "at most 20", "`enum`"),
    ("type: ask, params: {prompt: Go?, choices: ['${x}', b]}", "template-here", "`choices`", "`prompt` or `show`"),
    (f"type: ask, params: {{{CHOICES}, who: '${{x}}'}}", "template-here", "`who`", "`prompt` or `show`"),
    (f"type: ask, params: {{{CHOICES}, who: persn}}", "bad-choice", "`persn`", "did you mean `person`?"),
    (f"type: ask, params: {{{CHOICES}}}, on: {{post: end}}", "missing-edge", "can end with `stop`", "on: {stop: …}"),
    (f"type: ask, params: {{{CHOICES}}}, on: {{post: next, halt: end}}", "unknown-action", "never returns", "switch"),
    (f"type: ask, params: {{{CHOICES}, timeout: 3d}}", "missing-edge", "in time", "`default: stop`"),
    ("type: ask, params: {prompt: Go?, schema: {n: {type: integer}}, timeout: 3d}", "missing-edge", "in time", "on: {"),
    (f"type: ask, params: {{{CHOICES}, timeout: 3d, default: stpo}}", "bad-choice", "`stpo`", "did you mean `stop`?"),
    ("type: ask, params: {prompt: Go?, schema: {n: {}}, default: x}", "bad-choice", "`x`", "a default needs `choices`"),
    (
        f"type: ask, params: {{{CHOICES}, timeout: 3d, default: stop}}, on: {{timeout: end}}",
        *("timeout-twice", "only one of them can count", "remove one of them"),
    ),
    (f"type: ask, params: {{{CHOICES}}}, on: {{timeout: end}}", "missing-param", "for ever", "timeout: 3d"),
    (f"type: ask, params: {{{CHOICES}}}, timeout: 3d", "unexpected-field", "stands in its", "params: {timeout: 3d}"),
    (f"type: ask, params: {{{CHOICES}, timeout: soon, default: stop}}", "wrong-type", "`soon`", "`3d`"),
    (f"type: ask, params: {{{CHOICES}, timeout: 0, default: stop}}", "out-of-range", "above 0", ""),
    (f"type: ask, params: {{{CHOICES}, timeout: 400d, default: stop}}", "out-of-range", "at most a year", ""),
    (f"type: ask, timeout: 30, params: {{{CHOICES}}}", "unexpected-field", "stands in its `params`", "timeout: 30s"),
    (f"type: ask, retry: {{attempts: 2}}, params: {{{CHOICES}}}", "unexpected-field", "it waits", "`timeout`"),
    (f"type: ask, approve: true, params: {{{CHOICES}}}", "unexpected-field", "has no effects", "leave it out"),
    ("type: ask, params: {prompt: Go?, options: [a, b]}", "unknown-param", "`options`", "did you mean `choices`?"),
    (f"type: ask, params: {{{CHOICES}, question: Go?}}", "unknown-param", "`question`", "did you mean `prompt`?"),
    ("type: ask, params: {prompt: Go?, schema: {note: string}}", "wrong-type", "needs a schema", "{type: string}"),
    ("type: ask, params: {prompt: Go?, schema: {ok: boolean}}", "wrong-type", "needs a schema", "{type: boolean}"),
    ("type: ask, params: {prompt: Go?, schema: {type: boolean}}", "wrong-type", "by name", "{answer: {type: boolean}}"),
    ("type: ask, params: {prompt: Go?, schema: {type: string, n: {type: array}}}", "wrong-type", "needs", "string}"),
    ("type: ask, params: {prompt: Go?, schema: {n: {typ: string}}}", "unknown-field", "`typ`", "did you mean `type`?"),
    ("type: ask, params: {prompt: Go?, schema: {n: {type: text}}}", "wrong-type", "`text`", "`type: string`"),
    ("type: ask, params: {prompt: Go?, schema: {n: {type: int}}}", "wrong-type", "`int`", "`type: integer`"),
    ("type: ask, params: {prompt: Go?, schema: {d: {type: date}}}", "wrong-type", "`date`", "format: date"),
    ("type: ask, params: {prompt: Go?, schema: {a: {type: object}}}", "nested-field", "an object", "of its own"),
    (
        "type: ask, params: {prompt: Go?, schema: {home: {properties: {zip: {type: string}}}}}",
        *("nested-field", "`home`", "`home_zip`"),
    ),
    (
        "type: ask, params: {prompt: Go?, schema: {type: object, properties: {zip: {type: string}}}}",
        *("nested-field", "the fields themselves", "schema: {zip: …}"),
    ),
    (
        "type: ask, params: {prompt: Go?, schema: {tags: {type: array}}}",
        "nested-field",
        "does not say of which values",
        "enum",
    ),
    (
        "type: ask, params: {prompt: Go?, schema: {pw: {secret: true}}}",
        "secret-field",
        "are recorded",
        "pflow settings set",
    ),
    ("type: ask, params: {prompt: Go?, schema: {m: {format: phone}}}", "bad-choice", "`phone`", ""),
    ("type: ask, params: {prompt: Go?, schema: {n: {type: integer, default: x}}}", "wrong-type", "must be integer", ""),
    ("type: ask, params: {prompt: Go?, schema: {p: {enum: [a, b], default: c}}}", "wrong-type", "one of `a`, `b`", ""),
    ("type: wait", "missing-param", "needs one of", "for: 90s"),
    ("type: wait, params: {for: 2h, until: '18:30'}", "unexpected-field", "`for` and `until` together", "keep `for`"),
    ("type: wait, params: {for: soon}", "wrong-type", "`soon`", "`90s`"),
    ("type: wait, params: {for: -1}", "out-of-range", "at least 0", ""),
    ("type: wait, params: {seconds: 3}", "unknown-param", "`seconds`", "did you mean `for`?"),
    ("type: wait, params: {until: tomorrow}", "wrong-type", "`tomorrow`", "2026-11-18T09:30:00Z"),
    ("type: wait, params: {for: 2h, timeout: 3h}", "unexpected-field", "ends by itself", "leave it out"),
    ("type: wait, params: {until: '18:30', when: value}", "unexpected-field", "ends by itself", "leave it out"),
    ("type: wait, params: {message: paid, interval: 3}", "unexpected-field", "a `file` or a `url`", "leave it out"),
    ("type: wait, params: {message: 'paid-${x}'}", "template-here", "name of a message", "`when`"),
    ("type: wait, params: {message: paid, when: 'valu.sum > 5'}", "unknown-name", "`valu`", "did you mean `value`?"),
    ("type: wait, params: {file: a.txt, interval: often}", "wrong-type", "`often`", "`90s`"),
    ("type: wait, params: {file: a.txt, interval: 2d}", "out-of-range", "at most 1 d", ""),
    ("type: wait, params: {file: a.txt, when: value.sise > 3}", "unknown-field", "no field `sise`", "`value.size`"),
    ("type: wait, params: {file: a.txt, when: value.size}", "expression-type", "gives an integer", "value.size != 0"),
    (
        "type: wait, params: {url: 'https://example.org', when: value.status == 200}",
        *("unknown-field", "no field `status`", "`value.status_code`"),
    ),
    ("type: wait, params: {file: a.txt, backoff: 0.5}", "out-of-range", "`backoff`", "doubles it"),
    ("type: wait, params: {message: paid}, on: {timeout: end}", "missing-param", "for ever", "timeout: 3d"),
    ("type: wait, timeout: 3, params: {message: paid}", "unexpected-field", "stands in its `params`", "timeout: 3s"),
    ("type: wait, approve: true, params: {for: 2h}", "unexpected-field", "has no effects", "leave it out"),
    ("type: echo, approve: Really?", "wrong-type", "true or an object", "approve: {prompt: 'Really?'}"),
    ("type: echo, approve: {promt: x}", "unknown-field", "`promt`", "did you mean `prompt`?"),
    ("type: echo, approve: {prompt: '${nope}'}", "unknown-name", "`nope`", ""),
    ("type: echo, approve: {timeout: soon}", "wrong-type", "`soon`", "`3d`"),
    ("type: echo, approve: true, on: {timeout: end}", "missing-field", "for ever", "approve: {timeout: 3d}"),
    ("type: echo, approval: true", "unknown-field", "`approval`", "did you mean `approve`?"),
    ("type: approval, params: {prompt: Go?}", "unknown-type", "`approval`", "did you mean `ask`?"),
    ("type: sleep, params: {for: 3}", "unknown-type", "`sleep`", "did you mean `wait`?"),
]


def document(node: str) -> str:
    after = "{id: after, type: echo, params: {a: 1}}"
    return f"inputs: {{x: {{type: string}}}}\nnodes:\n  - {{id: q, {node}}}\n  - {after}"


def check(text: str, home: Path) -> list[Issue]:
    with Workspace(Home(home)) as workspace:
        return [one for one in workspace.check(workspace.parse(text, suffix=".yaml")).issues if one.severity == "error"]


@pytest.mark.parametrize(("node", "code", "says", "hint"), WRONG, ids=[node for node, *_ in WRONG])
def test_what_is_wrong_with_a_question_or_a_wait_is_found(
    node: str, code: str, says: str, hint: str, home: Path
) -> None:
    issues = check(document(node), home)
    found = [issue for issue in issues if issue.code == code]
    assert [issue for issue in found if says in issue.message and hint in issue.hint], issues


def test_a_prompt_that_would_be_cut_is_told_before(home: Path) -> None:
    text = document(f"type: ask, params: {{prompt: {'x' * 5000}, choices: [a, b]}}")
    with Workspace(Home(home)) as workspace:
        [issue] = workspace.check(workspace.parse(text, suffix=".yaml")).issues
    assert (issue.code, issue.severity) == ("too-large", "warning")
    assert issue.message == "of the 5,000 characters of the prompt only 4,096 are shown"


def test_one_mistake_is_told_once(home: Path) -> None:
    for node, code, *_ in WRONG:
        issues = check(document(node), home)
        assert [issue.code for issue in issues].count(code) == 1, issues


@pytest.mark.parametrize(
    ("later", "params"),
    [
        ("{id: w, type: write-file, params: {path: out.txt, content: x}}", "file: out.txt"),
        ("{id: w, type: move-file, params: {from: a, to: out.txt}}", "file: out.txt"),
        ("{id: w, type: shell, params: {command: 'pflow send ${run.id} go'}}", "message: go"),
    ],
)
def test_a_step_cannot_wait_for_what_a_later_one_brings_about(later: str, params: str, home: Path) -> None:
    [issue] = check(f"nodes:\n  - {{id: q, type: wait, params: {{{params}}}}}\n  - {later}", home)
    assert (issue.code, issue.hint) == ("waits-for-itself", "put `w` before it, or let it run beside it with `edges`")
    beside = "edges: [{from: start, to: q}, {from: start, to: w}]"
    nodes = (
        f"nodes:\n  - {{id: start, type: echo}}\n  - {{id: q, type: wait, params: {{{params}}}}}\n  - {later}\n{beside}"
    )
    assert check(nodes, home) == []


@pytest.mark.parametrize("section", ["on_failure", "finally"])
@pytest.mark.parametrize(
    "node",
    [
        f"type: ask, params: {{{CHOICES}}}",
        "type: echo, approve: true",
        "type: wait, params: {message: paid}",
        "type: wait, params: {for: 2h}",
    ],
)
def test_nobody_is_asked_in_sections(section: str, node: str, home: Path) -> None:
    issues = check(f"nodes:\n  - {{id: a, type: echo}}\n  - {{id: q, {node}}}\n{section}: q", home)
    assert [issue.code for issue in issues] == ["section-wait"]


@pytest.mark.parametrize(
    ("node", "how"),
    [
        (f"type: ask, params: {{{CHOICES}}}", "asks a question"),
        ("type: echo, approve: true", "asks for approval"),
        ("type: wait, params: {for: 2h}", "may wait for more than 60 s"),
        ("type: wait, params: {file: a.txt}", "may wait for more than 60 s"),
        ("type: wait, params: {for: 5s}", ""),
    ],
)
def test_nor_does_a_workflow_that_a_section_runs(node: str, how: str, home: Path) -> None:
    inner = f"{{nodes: [{{id: c, type: workflow, params: {{workflow: {{nodes: [{{id: q, {node}}}]}}}}}}]}}"
    text = (
        f"nodes:\n  - {{id: a, type: echo}}\n  - {{id: w, type: workflow, params: {{workflow: {inner}}}}}\nfinally: w"
    )
    issues = check(text, home)
    said = f"`w` runs a workflow whose node `q` {how}, which cannot be done in `finally`: a run that ends does not wait"
    assert [issue.message for issue in issues] == ([said] if how else [])


@pytest.mark.parametrize(
    "node",
    [
        f"type: ask, params: {{{CHOICES}}}",
        f"type: ask, params: {{{CHOICES}}}, on: {{post: next, stop: end}}",
        f"type: ask, params: {{{CHOICES}, timeout: 3d, default: stop, who: any}}",
        f"type: ask, params: {{{CHOICES}, timeout: '${{x}}'}}, on: {{timeout: end, post: next, stop: end}}",
        f"type: ask, params: {{{CHOICES}}}, on: {{declined: end, post: next, stop: end}}",
        "type: ask, params: {prompt: '${x}?', show: {x: '${x}'}, schema: {n: {type: integer, minimum: 1}}}",
        "type: ask, params: {prompt: When?, schema: {d: {format: date}}}",
        "type: ask, params: {prompt: Go?, schema: {tags: {type: array, items: {enum: [a, b]}, default: [a]}}}",
        f"type: ask, params: {{{CHOICES}}}, batch: {{items: [1, 2]}}",
        "type: wait, params: {for: 0}",
        "type: wait, params: {until: '2026-11-18T09:30:00Z'}",
        "type: wait, params: {message: paid, when: 'value.sum > 5', timeout: 3d}, on: {timeout: end}",
        "type: wait, params: {file: a.txt, when: value.size > 3, interval: 1m, backoff: 2}",
        "type: wait, params: {url: 'https://example.org/${x}', when: value.status_code == 200}",
        "type: echo, approve: {prompt: 'Say ${x}?', timeout: 3d}, on: {declined: end, timeout: end}",
        "type: echo, params: {x: '${item}'}, batch: {items: [1, 2]}, approve: {prompt: 'Say ${item}?'}",
    ],
)
def test_what_is_right_has_no_issue(node: str, home: Path) -> None:
    assert check(document(node), home) == []
