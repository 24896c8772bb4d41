"""What an agent did becomes a document that checks: loops as batches, what it wrote itself as a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.core.session.call import Call, Session
from pflow.planning.learning.act import act_of
from pflow.planning.learning.hide import hide_secrets
from pflow.planning.learning.learned import Learned, Wishes
from pflow.planning.learning.learner import learn_document
from pflow.planning.learning.literal import Task
from pflow.planning.learning.select import choose
from pflow.workspace.workspace import Workspace


def shell(number: int, command: str, stdout: str, *, ok: bool = True) -> Call:
    result = {"stdout": stdout, "stderr": "", "exit_code": 0 if ok else 1}
    return Call(number=number, kind="shell", tool="Bash", arguments={"command": command}, result=result, ok=ok)


def learned(*calls: Call, llm: bool = True) -> Learned:
    session = hide_secrets(Session(host="claude", id="1", calls=calls), lambda value: value)
    chosen = choose([act_of(call, lambda server, tool: None) for call in session.calls], session.answer)
    return learn_document(chosen.kept, Task(folder="/work/task"), wishes=Wishes(llm=llm))


def session_of_a_loop() -> list[Call]:
    names = ["alpha.txt", "beta.txt", "gamma.txt"]
    reads = [shell(at, f"wc -l notes/{name}", f"{at}7 notes/{name}") for at, name in enumerate(names, 2)]
    written = Call(
        number=9,
        kind="write-file",
        tool="Write",
        arguments={"path": "/work/task/report.md", "content": "# Lines\n\n- alpha.txt has most\n- gamma.txt fewest\n"},
        result="written",
    )
    return [shell(1, "ls notes", "\n".join(names)), *reads, written]


@pytest.mark.parametrize("llm", [True, False])
def test_a_loop_over_lines_becomes_a_batch_and_written_text_a_gap(tmp_path: Path, llm: bool) -> None:
    found = learned(*session_of_a_loop(), llm=llm)
    nodes = {node["id"]: node for node in found.document["nodes"]}  # type: ignore[attr-defined]
    assert nodes["wc"]["batch"]["as"] == "item"
    assert [act.number for step in found.steps for act in step.acts if step.id == "wc"] == [2, 3, 4]
    assert [node["type"] for node in nodes.values()].count("llm" if llm else "ask") == 1
    assert nodes["write"]["params"]["path"] == "${folder}/report.md"
    with Workspace(Home(tmp_path / "home")) as workspace:
        assert not workspace.check(found.document).errors


def test_failed_calls_are_never_steps_and_are_asked_about() -> None:
    calls = [shell(1, "make release", "", ok=False), shell(2, "touch done.txt", "")]
    chosen = choose([act_of(call, lambda server, tool: None) for call in calls], "")
    assert [act.number for act in chosen.kept] == [2]
    assert "call 1 (`make`) failed" in chosen.questions[0][1]


def test_what_was_only_looked_at_is_not_needed() -> None:
    calls = [shell(1, "cat README.md", "Nothing of interest"), shell(2, "touch done.txt", "")]
    chosen = choose([act_of(call, lambda server, tool: None) for call in calls], "")
    assert chosen.explored == (1,)


def test_a_token_becomes_a_secret_input_without_a_default() -> None:
    token = "ghp_" + "a1B2" * 9
    found = learned(shell(1, f"curl -X POST -H 'Authorization: Bearer {token}' https://api.example.com/x", "{}"))
    assert token not in str(found.document)
    assert found.document["inputs"] == {
        "secret": {"type": "string", "secret": True, "description": "A secret of the session"}
    }


def test_a_loop_over_what_stands_inside_of_lines_takes_it_out_with_a_pattern(tmp_path: Path) -> None:
    commits = ["3f2a91c0aa", "77b0e4d1bb", "c01d5e92cc"]
    log = "".join(f"Commit: {commit}\nAuthor: Ada\nMessage: Fix it\n" for commit in commits)
    shows = [shell(at, f"git show {commit}", f"+++ {commit}") for at, commit in enumerate(commits, 2)]
    found = learned(shell(1, "git log", log), *shows, shell(9, "touch 77b0e4d1bb.done 3f2a91c0aa c01d5e92cc", ""))
    nodes = list(found.document["nodes"])  # type: ignore[call-overload]
    assert [node["type"] for node in nodes] == ["shell", "parse", "shell", "shell"]
    assert nodes[2]["params"]["command"] == ["git", "show", "${item.value}"]
    assert nodes[1]["params"]["pattern"].startswith("^Commit:")
    with Workspace(Home(tmp_path / "home")) as workspace:
        assert not workspace.check(found.document).errors


def test_names_that_were_sorted_before_their_turn_are_sorted_again(tmp_path: Path) -> None:
    names = ["ticket-003.json", "ticket-001.json", "ticket-002.json"]
    listing = shell(1, "ls -f", "\n".join(f"[FILE] {name}" for name in names))
    reads = [shell(at, f"cat tickets/{name}", f"{name} {at}") for at, name in enumerate(sorted(names), 2)]
    found = learned(listing, *reads, shell(9, "touch ticket-001.json ticket-002.json", ""))
    nodes = {node["id"]: node for node in found.document["nodes"]}  # type: ignore[attr-defined]
    assert [node["type"] for node in nodes.values()] == ["shell", "parse", "let", "shell", "shell"]
    assert nodes["cat"]["params"]["command"] == ["cat", "tickets/${item.value}"]
    with Workspace(Home(tmp_path / "home")) as workspace:
        assert not workspace.check(found.document).errors


@pytest.mark.parametrize(("everywhere", "after"), [(False, "three two two\r\n"), (True, "three two three\r\n")])
def test_an_edit_replaces_the_same_text_again_and_fails_where_it_does_not_stand(
    tmp_path: Path, everywhere: bool, after: str
) -> None:
    file = tmp_path / "a $HOME.txt"
    file.write_bytes(b"one two one\r\n" if everywhere else b"one two two\r\n")
    arguments = {"path": str(file), "old": "one", "new": "three", "all": everywhere}
    found = learned(Call(number=1, kind="edit-file", tool="Edit", arguments=arguments, result="done"))
    with Workspace(Home(tmp_path / "home")) as workspace:
        assert workspace.run(found.document).success
        assert file.read_bytes() == after.encode()
        again = workspace.run(found.document)
    assert again.error is not None
    assert "the text to be replaced is not in" in str(again.error)


def test_an_edit_of_nothing_writes_the_file(tmp_path: Path) -> None:
    arguments = {"path": str(tmp_path / "new.txt"), "old": "", "new": "${not a template}", "all": False}
    found = learned(Call(number=1, kind="edit-file", tool="Edit", arguments=arguments, result="done"))
    with Workspace(Home(tmp_path / "home")) as workspace:
        assert workspace.run(found.document).success
    assert (tmp_path / "new.txt").read_text() == "${not a template}"


def test_calls_of_the_same_tool_beside_a_loop_are_steps_of_their_own() -> None:
    names = ["alpha.txt", "beta.txt", "gamma.txt"]
    counted = ["total.txt", *names, "other.txt"]
    counts = [shell(at, f"touch -c {name}", "") for at, name in enumerate(counted, 2)]
    found = learned(shell(1, "ls", "\n".join(names)), *counts)
    assert [step.acts[0].number for step in found.steps] == [1, 2, 3, 6]
    assert [act.number for act in found.steps[2].acts] == [3, 4, 5]
