"""`pflow test`, `pflow run --record` and `pflow runs show --as-test`, as a person uses them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, pflow

__all__ = ["pflow"]

DOCUMENT = """\
name: lines
inputs:
  folder: {type: string}
nodes:
  - {id: list, type: shell, params: {command: "ls ${folder}"}}
  - {id: names, type: code, params: {code: "result = text.split()", inputs: {text: "${list.stdout}"}}}
  - id: read
    type: read-file
    params: {path: "${folder}/${item}"}
    batch: {items: "${names.result}", as: item, concurrency: 4}
  - {id: count, type: let, params: {files: "size(read.results)"}}
  - {id: alert, type: echo, params: {message: "no list"}}
edges:
  - {from: list, to: names}
  - {from: list, to: alert, action: error}
  - {from: names, to: read}
  - {from: read, to: count}
outputs:
  files: {type: integer, source: "${count.files:-0}"}
  all: {type: array, source: "${read.results:-null}"}
"""

STUBBED = """\
tests:
  no folder:
    inputs: {folder: nowhere}
    stub: {list: {error: {action: timeout, message: no answer}}}
    expect:
      status: completed
      outputs: {files: 0}
      steps: {read: not reached, alert: {count: 1, outputs: {message: {"~": "^no "}}}}
      reached: [list, alert]
      edges: [list -> alert]
      calls: {shell: 1, read-file: 0}
      that: ['outputs.files == 0', 'steps.alert.message.startsWith("no")', 'inputs.folder == "nowhere"']
"""


@pytest.fixture
def document(pflow: Pflow) -> Path:
    """A workflow, and the directory that it reads."""
    Path("files").mkdir()
    for name in "ab":
        Path("files", name).write_text(f"text of {name}")
    path = Path("lines.yaml")
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def recorded(pflow: Pflow, document: Path) -> Path:
    """Its test, made from a run, while what it read is gone."""
    assert pflow("run", "lines.yaml", "folder=files").code == 0
    assert pflow("runs", "show", "latest", "--as-test", "two files").code == 0
    for file in Path("files").iterdir():
        file.unlink()
    return Path("lines.test.yaml")


def steady(text: str) -> str:
    return re.sub(r"[0-9]+ ms", "N ms", text)


def test_a_run_becomes_a_test_that_passes_when_what_it_read_is_gone(pflow: Pflow, recorded: Path) -> None:
    said = pflow("test")
    assert said.code == 0, said
    assert steady(said.out) == (
        "lines.test.yaml\n"
        "✓ two files  3 calls replayed, 0 live, N ms\n"
        "coverage 78 %: 4 of 5 nodes, 3 of 4 edges\n"
        "  nodes not reached: alert\n"
        "  edges not taken: list -> alert (error)\n"
        "1 passed\n"
    )


@pytest.mark.parametrize("word", ["lines.test.yaml", "lines.yaml", "lines", "."])
def test_tests_are_found_by_file_workflow_name_and_directory(pflow: Pflow, recorded: Path, word: str) -> None:
    assert pflow("test", word).code == 0


def test_a_test_without_a_cassette_has_stubs_and_every_kind_of_expectation(pflow: Pflow, document: Path) -> None:
    Path("lines.test.yaml").write_text(STUBBED)
    said = pflow("test", "--json")
    assert said.code == 0, said
    [file] = said.json["data"]["files"]
    assert file["tests"][0]["calls"] == {"replayed": 0, "stubbed": 1, "live": 0}


def test_a_second_run_is_added_and_what_stands_in_the_file_stays(pflow: Pflow, recorded: Path) -> None:
    text = recorded.read_text().replace("tests:", "# ours\ntests:") + "    # the end\n"
    recorded.write_text(text)
    Path("files", "c").write_text("c")
    pflow("run", "lines.yaml", "folder=files")
    assert pflow("runs", "show", "latest", "--as-test", "one: file").code == 0
    assert recorded.read_text().startswith(text.partition("    # the end")[0])
    said = pflow("test", "--json")
    assert said.code == 0, said
    assert [case["name"] for case in said.json["data"]["files"][0]["tests"]] == ["two files", "one: file"]
    assert pflow("test", "-k", "ONE").out.count("✓") == 1
    again = pflow("runs", "show", "latest", "--as-test", "one: file")
    assert again.code == 2
    assert "there is a test `one: file` already" in again.err


def test_a_run_of_a_document_that_is_nowhere_becomes_a_test_with_the_document(pflow: Pflow) -> None:
    assert pflow("run", "-", stdin='{"name": "hi", "nodes": [{"id": "a", "type": "echo"}]}').code == 0
    said = pflow("runs", "show", "latest", "--as-test", "it runs")
    assert said.code == 0, said
    assert json.loads(Path("hi.json").read_text())["name"] == "hi"
    assert pflow("test").code == 0


def test_a_workflow_that_declares_no_outputs_is_tested_by_what_it_gives(pflow: Pflow) -> None:
    Path("a.yaml").write_text("nodes: [{id: a, type: echo, params: {text: x}}]")
    Path("a.test.yaml").write_text("tests: {t: {expect: {outputs: {text: x}, that: ['outputs.text == \"x\"']}}}")
    assert pflow("test").code == 0


def test_tests_of_a_saved_workflow_are_in_the_home(pflow: Pflow, document: Path, home: Path) -> None:
    pflow("workflow", "save", "lines.yaml", "lines")
    pflow("run", "lines", "folder=files")
    assert pflow("runs", "show", "latest", "--as-test", "two files").code == 0
    assert (home / "tests" / "lines.test.yaml").is_file()
    assert pflow("test", "lines").code == 0
    assert pflow("test").out.count("✓") == 1


def test_a_failure_shows_the_first_difference_and_the_step_that_is_its_cause(pflow: Pflow, recorded: Path) -> None:
    tape = Path("lines.two-files.cassette.jsonl")
    tape.write_text(tape.read_text().replace("text of b", "another text"))
    said = pflow("test", "--junit", "junit.xml")
    assert said.code == 1
    assert (
        "    outputs.all[1].content\n"
        '      expected "text of b"\n'
        '      got      "another text"\n'
        "    first differs from the recorded run: read[1].content\n"
    ) in said.out
    root = ElementTree.fromstring(Path("junit.xml").read_text())
    failure = root.find("./testsuite/testcase[@name='two files']/failure")
    assert failure is not None
    assert "outputs.all[1].content" in str(failure.text)
    coverage = root.find("./testsuite/properties/property[@name='coverage']")
    assert coverage is not None
    assert coverage.get("value") == "77.8"


def test_a_call_that_was_not_recorded_is_shown_with_the_nearest_one(pflow: Pflow, recorded: Path) -> None:
    Path("lines.yaml").write_text(DOCUMENT.replace("ls ${folder}", "ls -r ${folder}"))
    said = pflow("test")
    assert said.code == 1
    assert (
        "    `list` (shell) makes a call that was not recorded\n"
        "      the nearest recorded call is that of `list`; it differs in\n"
        "        params.command\n"
        '          recorded "ls ${folder}"\n'
        '          got      "ls -r ${folder}"\n'
    ) in said.out


def test_recordings_that_are_not_used_are_listed_and_fail_a_strict_test(pflow: Pflow, recorded: Path) -> None:
    Path("lines.yaml").write_text(DOCUMENT.replace("text.split()", "text.split()[:1]"))
    recorded.write_text(
        "workflow: lines.yaml\n"
        "tests: {one: {cassette: lines.two-files.cassette.jsonl, expect: {outputs: {files: 1}}}}\n"
    )
    said = pflow("test")
    assert said.code == 0
    assert "recorded and not asked for: read[1] (read-file)" in said.out
    assert pflow("test", "--strict").code == 1


def test_coverage_below_the_least_fails(pflow: Pflow, recorded: Path) -> None:
    assert pflow("test", "--cov-min", "70").code == 0
    said = pflow("test", "--cov-min", "90")
    assert said.code == 1
    assert "cover less than 90 %" in said.err


def test_update_writes_the_outputs_that_there_are_and_keeps_the_rest(pflow: Pflow, recorded: Path) -> None:
    text = recorded.read_text()
    recorded.write_text(text.replace("files: 2", "files: 3  # how many"))
    assert pflow("test").code == 1
    said = pflow("test", "--update")
    assert said.code == 0
    assert "expectations updated" in said.out
    assert recorded.read_text() == text.replace("files: 2", "files: 2  # how many")
    assert pflow("test").code == 0


def test_update_writes_counts_and_a_run_that_ended_otherwise_changes_nothing(pflow: Pflow, recorded: Path) -> None:
    for name in "abc":
        Path("files", name).write_text(f"text of {name}")
    recorded.write_text(f"{recorded.read_text().rstrip()}\n      steps: {{read: {{count: 2}}}}\n")
    assert pflow("test", "--record", "all", "--update").code == 0
    assert 'calls: {"read-file": 3, "shell": 1}' in recorded.read_text()
    assert "steps: {read: {count: 3}}" in recorded.read_text()
    text = recorded.read_text().replace("status: completed", "status: failed").replace("3}", "9}")
    recorded.write_text(text)
    assert pflow("test", "--update").code == 1
    assert recorded.read_text() == text


def test_new_calls_are_recorded_and_known_ones_are_not_made_again(pflow: Pflow, recorded: Path) -> None:
    Path("files", "b").write_text("is not read")
    Path("files", "c").write_text("text of c")
    Path("lines.yaml").write_text(DOCUMENT.replace("text.split()", "[*text.split(), 'c']"))
    recorded.write_text(recorded.read_text().replace("files: 2", "files: 3"))
    assert pflow("test").code == 1
    said = pflow("test", "--record", "new", "--update")
    assert said.code == 0, said
    assert "3 calls replayed, 1 live" in said.out
    assert "text of c" in Path("lines.two-files.cassette.jsonl").read_text()
    assert "is not read" not in Path("lines.two-files.cassette.jsonl").read_text()
    assert '"read-file": 3' in recorded.read_text()
    assert pflow("test").code == 0


def test_everything_is_recorded_again_and_a_missing_cassette_is_made(pflow: Pflow, recorded: Path) -> None:
    Path("files", "a").write_text("new text")
    tape = Path("lines.two-files.cassette.jsonl")
    assert pflow("test", "--record", "all", "--update").code == 0
    assert "new text" in tape.read_text()
    tape.unlink()
    recorded.write_text("tests: {t: {inputs: {folder: files}, cassette: t.cassette.jsonl}}\nworkflow: lines.yaml\n")
    assert pflow("test", "--record", "new").code == 0
    assert pflow("test").code == 0


def test_live_runs_for_real_and_reports_drift_by_shape_and_by_value(pflow: Pflow, recorded: Path) -> None:
    for name in "ab":
        Path("files", name).write_text(f"text of {name}")
    assert pflow("test", "--live").code == 0
    recorded.write_text("tests: {t: {cassette: lines.two-files.cassette.jsonl}}\nworkflow: lines.yaml\n")
    Path("files", "a").write_text("other text")
    values = pflow("test", "--live")
    assert values.code == 0
    assert 'recorded "text of a"' in values.out


def test_a_difference_to_what_is_expected_is_not_told_again_as_drift(pflow: Pflow, recorded: Path) -> None:
    Path("files", "a").write_text("other text")
    Path("files", "b").write_text("text of b")
    said = pflow("test", "--live")
    assert said.code == 1
    assert said.out.count("other text") == 1


def test_an_expression_that_does_not_hold_is_shown_with_what_it_read(pflow: Pflow, recorded: Path) -> None:
    recorded.write_text(
        "workflow: lines.yaml\ntests:\n  t: {cassette: lines.two-files.cassette.jsonl, "
        "expect: {that: [outputs.files > size(inputs.folder)]}}\n"
    )
    told = '`outputs.files > size(inputs.folder)` does not hold: `outputs.files` is 2, `inputs.folder` is "files"\n'
    assert told in pflow("test").out


def test_live_fails_where_the_shape_of_outputs_has_drifted(pflow: Pflow) -> None:
    Path("data.json").write_text('{"rows": [{"n": 1, "old": true}]}')
    Path("rows.yaml").write_text(
        "nodes:\n"
        "  - {id: get, type: shell, params: {command: cat data.json}}\n"
        '  - {id: rows, type: parse, params: {text: "${get.stdout}", as: json}}\n'
        'outputs: {all: "${rows.value}"}\n'
    )
    pflow("run", "rows.yaml")
    assert pflow("runs", "show", "latest", "--as-test", "one").code == 0
    Path("rows.test.yaml").write_text("tests: {one: {cassette: rows.one.cassette.jsonl}}")
    Path("data.json").write_text('{"rows": [{"n": "1"}, {"n": 2}]}')
    said = pflow("test", "--live")
    assert said.code == 1
    assert "drift of shape: outputs.all.rows[].n is integer or string; it was integer" in said.out
    assert "drift of shape: outputs.all.rows[].old is gone; it was boolean" in said.out


def test_a_run_is_played_against_an_edited_document_before_anything_runs(pflow: Pflow, document: Path) -> None:
    pflow("run", "lines.yaml", "folder=files")
    for file in Path("files").iterdir():
        file.unlink()
    same = pflow("test", "lines.yaml", "--against", "latest")
    assert same.code == 0, same
    assert "nothing would differ" in same.out
    Path("edited.yaml").write_text(DOCUMENT.replace("text.split()", "sorted(text.split())[1:]"))
    said = pflow("test", "edited.yaml", "--against", "latest", "--json")
    assert said.code == 1
    data = said.json["data"]
    assert [step["step"] for step in data["steps"] if step["class"] != "same"] == ["names", "read", "count"]
    assert [call["step"] for call in data["unused"]] == ["read[0]"]
    Path("edited.yaml").write_text(DOCUMENT.replace("/${item}", "/x-${item}"))
    said = pflow("test", "edited.yaml", "--against", "latest")
    assert said.code == 1
    assert "would call, for real: `read[0]` (read-file), which was not recorded" in said.out
    assert pflow("runs", "list", "--json").json["data"]["runs"][1:] == []


def test_what_is_written_is_as_open_to_others_as_its_directory(pflow: Pflow, document: Path) -> None:
    Path().absolute().chmod(0o755)
    pflow("run", "lines.yaml", "folder=files")
    pflow("runs", "show", "latest", "--as-test", "two files")
    made = [*Path().glob("lines.test.yaml"), *Path().glob("*.jsonl")]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o644, 0o644]
    made[0].chmod(0o640)
    made[0].write_text(made[0].read_text().replace("files: 2", "files: 3"))
    assert pflow("test", "--update").code == 0
    assert made[0].stat().st_mode & 0o777 == 0o640


def test_the_folder_of_large_values_is_as_open_as_the_cassette(pflow: Pflow, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    big = {"id": "big", "type": "shell", "params": {"command": ["head", "-c", "100000", "/dev/zero"]}}
    (tmp_path / "big.json").write_text(json.dumps({"nodes": [big]}))
    assert pflow("run", "big.json", "--record").code == 0
    [value] = (tmp_path / "big.cassette").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (value.parent, value)] == [0o755, 0o644]


def test_recording_a_run_twice_leaves_the_same_bytes(pflow: Pflow, document: Path) -> None:
    assert "recorded 3 calls to lines.cassette.jsonl" in pflow("run", "lines.yaml", "--record", "folder=files").err
    first = Path("lines.cassette.jsonl").read_bytes()
    assert pflow("run", "lines.yaml", "folder=files", "--record").code == 0
    assert Path("lines.cassette.jsonl").read_bytes() == first
    assert pflow("run", "lines.yaml", "folder=files", "--record", "x.cassette.jsonl").code == 0
    assert Path("x.cassette.jsonl").exists()
    assert pflow("run", "lines.yaml", "folder=files", "--record", "x.yaml").code == 2


def test_a_run_that_gives_a_token_is_not_recorded(pflow: Pflow) -> None:
    document = '{"name": "t", "nodes": [{"id": "a", "type": "shell", "params": {"command": "cat token"}}]}'
    Path("t.json").write_text(document)
    Path("token").write_text("ghp_0123456789abcdefghijABCDEFGHIJ012345")
    said = pflow("run", "t.json", "--record")
    assert said.code == 3
    assert "the cassette would hold what looks like a credential" in said.err
    assert not Path("t.cassette.jsonl").exists()
    assert pflow("runs", "show", "latest", "--as-test", "x").code == 3
    assert [path.name for path in Path().glob("*.test.yaml")] == []


def test_a_run_with_a_secret_that_nobody_knows_any_more_is_played_with_what_stands_for_it(pflow: Pflow) -> None:
    document = """\
inputs: {token: {type: string, secret: true}}
nodes:
  - {id: say, type: shell, params: {command: "echo Bearer ${token}"}}
  - {id: again, type: shell, params: {command: "echo ${say.stdout}!"}}
outputs: {text: "${again.stdout}"}
"""
    Path("s.yaml").write_text(document)
    assert pflow("run", "s.yaml", "token=hunter2hunter2").code == 0
    assert pflow("runs", "show", "latest", "--as-test", "t").code == 0
    assert '"Bearer «secret:token»!"' in Path("s.test.yaml").read_text()
    assert not any("hunter2" in path.read_text() for path in Path().glob("s.*"))
    said = pflow("test")
    assert said.code == 0, said
    assert "2 calls replayed" in said.out


WRONG = [
    ("tests: {t: {casette: x}}", "did you mean `cassette`?"),
    ("tests: {t: {expect: {outputs: {fils: 1}}}}", "did you mean `files`?"),
    ("tests: {t: {expect: {steps: {lst: {count: 1}}}}}", "did you mean `list`?"),
    ("tests: {t: {expect: {reached: [alrt]}}}", "did you mean `alert`?"),
    ("tests: {t: {stub: {lst: {stdout: x}}}}", "the workflow has no step `lst`"),
    ("tests: {t: {real: [lst]}}", "the workflow has no step `lst`"),
    ("tests: {t: {inputs: {foldr: x}}}", "did you mean `folder`?"),
    ("tests: {t: {expect: {edges: [list -> count]}}}", "the workflow has no edge `list -> count`"),
    ("tests: {t: {expect: {calls: {shel: 1}}}}", "did you mean `shell`?"),
    ("tests: {t: {expect: {status: complete}}}", "did you mean `completed`?"),
    ("tests: {t: {expect: {that: ['outputs.files == \"x\"']}}}", ":1:"),
    ("tests: {t: {expect: {that: ['size(outputs.fils) > 0']}}}", "did you mean `outputs.files`?"),
    ("tests: {t: {expect: {that: ['outputs.files']}}}", "the expression must give a boolean"),
    ("tests: {t: {expect: {that: ['outputs.files =']}}}", "is not an operator of expressions"),
    ('tests: {t: {expect: {outputs: {files: {"~": "("}}}}}', "the regular expression cannot be read"),
    ("tests:\n  t: {}\n  t: {}", "the key `t` stands twice in one object"),
    ("tests: {t: {cassette: nowhere.cassette.jsonl}}", "there is no cassette `nowhere.cassette.jsonl`"),
    ("tests: {t: {inputs: {folder: [a]}}}", "at: tests.t.inputs.folder (lines.test.yaml:1:30)"),
    ("tests: {t: {inputs: {}}}", "error: missing input `folder` (string)\ncoverage"),
    ("workflow: nowhere.yaml\ntests: {t: {}}", "nowhere.yaml"),
    ("tests: {}", "the file has no tests"),
    ("[1]", "a test file must be an object"),
    ("tests: [", "error:"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_a_wrong_test_file_says_what_and_where(pflow: Pflow, document: Path, text: str, told: str) -> None:
    Path("lines.test.yaml").write_text(text)
    said = pflow("test")
    assert said.code == 2, said
    assert told in said.out, said
    answer = pflow("test", "--json")
    assert answer.code == 2
    assert answer.json["data"]["wrong"] == 1


def test_a_type_error_in_an_expression_is_shown_at_its_place(pflow: Pflow, document: Path) -> None:
    Path("lines.test.yaml").write_text("tests:\n  t:\n    expect:\n      that: ['outputs.all + 1 == 2']\n")
    said = pflow("test")
    assert said.code == 2
    assert "lines.test.yaml:4:27" in said.out, said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"cassette":1', '"cassette":7'), "is a cassette of version `7`"),
        (lambda text: text + text.splitlines()[1] + "\n", "repeats the call of line 2"),
        (lambda text: text.replace('"path":"files/a"}', '"path":"files/x"}'), "was changed: its key is not that"),
        (lambda text: '{"cassette": 1, "inputs": 3}', "has a `inputs` that is not an object"),
        (lambda text: text.splitlines()[0] + '\n{"step": 1, "gave": 2}\n', "line 2 of"),
        (lambda text: text.splitlines()[0] + '\n{"step": "a", "type": 3, "params": []}\n', "line 2 of"),
        (lambda text: "", "is not a JSON object"),
        (lambda text: text[:-40], "is not a JSON object"),
    ],
)
def test_a_cassette_that_cannot_be_used_is_wrong_and_not_a_failure(
    pflow: Pflow, recorded: Path, change: Any, told: str
) -> None:
    tape = Path("lines.two-files.cassette.jsonl")
    tape.write_text(change(tape.read_text()))
    said = pflow("test")
    assert said.code == 2, said
    assert told in said.out


def test_a_value_of_a_cassette_that_is_gone_is_named(pflow: Pflow, document: Path) -> None:
    Path("files", "a").write_text("x" * 100_000)
    pflow("run", "lines.yaml", "folder=files")
    assert pflow("runs", "show", "latest", "--as-test", "large").code == 0
    assert pflow("test").code == 0
    [value] = Path("lines.large.cassette").iterdir()
    value.unlink()
    said = pflow("test")
    assert said.code == 2
    assert "of the cassette is missing or was changed" in said.out


def test_without_tests_a_person_is_told_how_to_make_one(pflow: Pflow) -> None:
    said = pflow("test")
    assert said.code == 2
    assert "pflow runs show RUN --as-test NAME" in said.err
    assert pflow("test", "nothing").code == 2


def test_code_finds_the_time_and_chance_of_the_recording_and_no_network(pflow: Pflow) -> None:
    code = """\
import datetime, os, random, socket, time, uuid
def reach():
    try:
        socket.create_connection(("127.0.0.1", 9))
    except PermissionError as error:
        return "no network" in str(error)
    except OSError:
        return False
result = {
    "now": datetime.datetime.now(datetime.UTC).isoformat(),
    "today": str(datetime.date.today()),
    "time": time.time(),
    "chance": [random.random(), uuid.uuid4().hex, os.urandom(4).hex()],
    "cut off": reach(),
    "is a date": isinstance(datetime.datetime(2020, 1, 2), datetime.date),
}
"""
    nodes = [{"id": "look", "type": "code", "params": {"code": code}}]
    document = {"name": "now", "nodes": nodes, "outputs": {"seen": {"source": "${look.result}"}}}
    Path("now.json").write_text(json.dumps(document))
    assert pflow("run", "now.json").code == 0
    said = pflow("runs", "show", "latest", "--as-test", "then")
    assert said.code == 0, said
    assert pflow("test").code == 0
    assert pflow("test").code == 0
    text = Path("now.test.yaml").read_text()
    assert "cut off: true" in text
    assert "is a date: true" in text
