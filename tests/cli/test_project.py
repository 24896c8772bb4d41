"""`.pflow` of a project on the command line: agreed to once for each content, then used like the library."""

from __future__ import annotations

import json
import os
import pty
import shlex
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, spawn

HELLO = """\
description: Say hello
nodes:
  - {id: say, type: echo, params: {text: hello}}
outputs:
  text: {source: "${say.text}"}
"""
SHOUT = '''\
from pocketflow import Node


class ShoutNode(Node):
    """Shouts a word."""

    class Params:
        word: str

    class Outputs:
        text: str

    def prep(self, shared):
        return self.params["word"]

    def exec(self, word):
        return word.upper()

    def post(self, shared, prep_res, exec_res):
        shared["text"] = exec_res
'''
SHOUTING = HELLO.replace("echo, params: {text: hello}", "shout, params: {word: hello}")


@pytest.fixture
def project(pflow: Pflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project below the person's home directory, with one workflow; the person works in a directory inside it."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    put(root, "workflows/hello.yaml", HELLO)
    monkeypatch.chdir(root / "src")
    return root


def put(root: Path, name: str, text: str) -> Path:
    path = root / ".pflow" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def agree(pflow: Pflow) -> None:
    said = pflow("project", "agree", "--yes")
    assert said.code == 0, said


# Agreeing


def test_a_project_is_not_used_before_it_is_agreed_to(pflow: Pflow, project: Path) -> None:
    said = pflow("run", "hello")
    assert said.code == 2
    assert "there is no workflow `hello`" in said.err
    assert (
        f"brings 1 workflow and is not used: it has not been agreed to; look at it with `pflow project show {project}`"
        in (said.err)
    )


def test_a_project_is_used_once_it_is_agreed_to(pflow: Pflow, project: Path) -> None:
    agree(pflow)
    assert pflow("run", "hello").out == "hello\n"
    assert pflow("hello").out == "hello\n"
    assert pflow("validate", "hello").code == 0
    assert "say" in pflow("describe", "hello").out


def test_nobody_who_can_be_asked_means_no_agreement(pflow: Pflow, project: Path) -> None:
    said = pflow("project", "agree")
    assert said.code == 2
    assert "nobody can be asked" in said.err
    assert pflow("project", "show", "--json").json["data"]["projects"][0]["state"] == "new"


def test_what_a_project_brings_is_shown(pflow: Pflow, project: Path) -> None:
    put(project, "nodes/shout.py", SHOUT)
    put(
        project, "options.json", '{"output.limit_kb": 5, "http.allow_private": true, "GITHUB_TOKEN": "x", "no.such": 1}'
    )
    (shown,) = pflow("project", "show", "--json").json["data"]["projects"]
    assert shown["workflows"] == [{"name": "hello", "description": "Say hello"}]
    assert shown["nodes"] == ["shout.py"]
    assert shown["options"] == {"output.limit_kb": 5}
    assert shown["problems"] == [
        "`http.allow_private` in `options.json` is for the person to set, not for a project; it has no effect",
        "`GITHUB_TOKEN` in `options.json` is not an option; it has no effect",
        "`no.such` in `options.json` is not an option; it has no effect",
    ]
    assert "runs as you" in pflow("project", "show").out


def test_a_folder_that_changed_is_not_used_and_what_changed_is_shown(pflow: Pflow, project: Path) -> None:
    gone = put(project, "workflows/gone.yaml", HELLO)
    agree(pflow)
    gone.unlink()
    put(project, "workflows/hello.yaml", HELLO.replace("text: hello", "text: goodbye"))
    put(project, "workflows/new.yaml", HELLO)
    said = pflow("run", "hello")
    assert said.code == 2 and "has changed since you agreed to it" in said.err
    (shown,) = pflow("project", "show", "--json").json["data"]["projects"]
    assert shown["state"] == "changed"
    assert shown["difference"] == {
        "added": ["workflows/new.yaml"],
        "changed": ["workflows/hello.yaml"],
        "removed": ["workflows/gone.yaml"],
    }
    agree(pflow)
    assert pflow("run", "hello").out == "goodbye\n"


def test_a_content_that_was_agreed_to_before_is_not_asked_about_again(pflow: Pflow, project: Path) -> None:
    agree(pflow)
    put(project, "workflows/hello.yaml", HELLO.replace("text: hello", "text: branch"))
    agree(pflow)
    put(project, "workflows/hello.yaml", HELLO)
    assert pflow("run", "hello").out == "hello\n"


def test_an_agreement_can_be_taken_back_also_for_a_folder_that_is_gone(pflow: Pflow, project: Path) -> None:
    agree(pflow)
    said = pflow("project", "forget")
    assert said.out == f"{project}/.pflow: no longer agreed to\n"
    assert pflow("run", "hello").code == 2
    agree(pflow)
    (project / ".pflow").rename(project / "away")
    assert pflow("project", "forget", str(project), "--json").json["data"]["forgotten"] == [f"{project}/.pflow"]
    assert pflow("project", "forget", str(project)).out == "nothing was agreed to\n"


def test_agreements_are_private_and_a_damaged_file_agrees_to_nothing(pflow: Pflow, project: Path, home: Path) -> None:
    agree(pflow)
    file = home / "projects.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("{broken")
    said = pflow("run", "hello")
    assert said.code == 2 and "projects have to be agreed to again" in said.err
    agree(pflow)
    assert pflow("run", "hello").code == 0
    file.write_text('{"version": 99, "folders": {}}')
    assert pflow("run", "hello").code == 2


def test_a_project_is_known_by_its_real_path(pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(pflow)
    (project.parent / "link").symlink_to(project)
    monkeypatch.chdir(project.parent / "link")
    assert pflow("run", "hello").out == "hello\n"
    copy = project.parent / "copy"
    put(copy, "workflows/hello.yaml", HELLO)
    monkeypatch.chdir(copy)
    assert pflow("run", "hello").code == 2  # the same content elsewhere is another project


def answer_on_terminal(project: Path, answer: bytes, *words: str) -> tuple[int, str]:
    leader, follower = pty.openpty()
    process = spawn(*words, cwd=project, stdin=follower, stdout=follower, stderr=follower, env={"TERM": "dumb"})
    os.close(follower)
    output = b""
    with os.fdopen(leader, "r+b", buffering=0) as terminal:
        try:
            while part := terminal.read(1024):
                output += part
                if b"[y/N]" in output and answer:
                    terminal.write(answer)
                    answer = b""
        except OSError:
            pass  # how Linux says that the other side has closed
    return process.wait(), output.decode()


def test_on_a_terminal_the_first_use_shows_everything_and_asks(pflow: Pflow, project: Path) -> None:
    put(project, "nodes/shout.py", SHOUT)
    code, seen = answer_on_terminal(project, b"y\n", "run", "hello")
    assert code == 0, seen
    assert "Say hello" in seen and "shout.py" in seen and "runs as you" in seen
    code, seen = answer_on_terminal(project, b"", "run", "hello")
    assert code == 0 and "[y/N]" not in seen


def test_a_project_that_was_declined_is_not_asked_about_again(pflow: Pflow, project: Path) -> None:
    code, seen = answer_on_terminal(project, b"n\n", "run", "hello")
    assert code == 2 and "[y/N]" in seen
    code, seen = answer_on_terminal(project, b"", "run", "hello")
    assert code == 2 and "[y/N]" not in seen
    assert "declined, so it is not used" in pflow("project", "show").out
    agree(pflow)
    assert pflow("run", "hello").code == 0


# Which folders are projects


def test_the_home_is_never_a_project(pflow: Pflow, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hi.yaml").write_text(HELLO)
    assert pflow("workflow", "save", "hi.yaml", "hello").code == 0
    assert pflow("project", "show", "--json").json["data"]["projects"] == []
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".pflow").symlink_to(home)
    monkeypatch.chdir(tmp_path / "x")
    assert pflow("project", "show", "--json").json["data"]["projects"] == []
    assert pflow("project", "agree", ".", "--yes").code == 2
    monkeypatch.setenv("PFLOW_HOME", str(tmp_path / "elsewhere"))
    assert pflow("project", "show", "--json").json["data"]["projects"] == []


def test_a_home_inside_of_a_project_is_still_not_one(
    pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PFLOW_HOME", str(project / "src" / ".pflow"))
    agree(pflow)
    assert [each["folder"] for each in pflow("project", "show", "--json").json["data"]["projects"]] == [
        f"{project}/.pflow"
    ]


def test_nested_projects_count_nearest_first(pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project, "workflows/outer.yaml", HELLO.replace("text: hello", "text: outer"))
    inner = project / "src"
    put(inner, "workflows/hello.yaml", HELLO.replace("text: hello", "text: inner"))
    agree(pflow)
    assert pflow("run", "hello").out == "inner\n"
    assert pflow("run", "outer").out == "outer\n"
    hidden = [each for each in pflow("workflow", "list", "--json").json["data"]["workflows"] if "hidden_by" in each]
    assert [(each["path"], each["hidden_by"]) for each in hidden] == [
        (f"{project}/.pflow/workflows/hello.yaml", f"{inner}/.pflow")
    ]
    monkeypatch.chdir(project)
    assert pflow("run", "hello").out == "hello\n"


def test_a_file_or_an_empty_folder_of_that_name_is_nothing(pflow: Pflow, tmp_path: Path, write: object) -> None:
    (tmp_path / "a" / "b" / ".pflow").mkdir(parents=True)
    (tmp_path / "a" / ".pflow").write_text("not ours")
    os.chdir(tmp_path / "a" / "b")
    said = pflow("workflow", "list")
    assert said.code == 0 and "project" not in said.err


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: _link(folder, Path("/etc")), "is a link"),
        (lambda folder: _link(folder / "workflows", Path("/etc")), "is a link"),
        (lambda folder: _link(folder / "workflows" / "hello.yaml", Path("/etc/passwd")), "is a link"),
        (lambda folder: _link(folder / "options.json", Path("/nowhere")), "is a link"),
        (lambda folder: (folder / "workflows" / "hello.yaml").chmod(0o666), "can be changed by every user"),
        (lambda folder: (folder / "workflows").chmod(0o777), "can be changed by every user"),
        (lambda folder: os.mkfifo(folder / "workflows" / "pipe.yaml"), "not a regular file"),
        (lambda folder: (folder / "workflows" / "dir.yaml").mkdir(), "not a regular file"),
        (lambda folder: (folder / "options.json").mkdir(), "not a regular file"),
        (lambda folder: (folder / "nodes").write_text(""), "is not a directory"),
        (lambda folder: (folder / "workflows" / "big.yaml").write_bytes(b"#" * (17 << 20)), "more than 16 MB"),
        (lambda folder: [(folder / "workflows" / f"w{n}.yaml").touch() for n in range(501)], "more than 500 files"),
        (lambda folder: [(folder / "nodes" / f"{n}.txt").touch() for n in _made(folder / "nodes", 2100)], "more than"),
    ],
)
def test_a_folder_that_is_not_what_it_should_be_is_refused_with_the_reason(
    pflow: Pflow, project: Path, damage: object, reason: str
) -> None:
    assert callable(damage)
    agree(pflow)
    damage(project / ".pflow")
    said = pflow("run", "hello")
    assert said.code == 2
    assert reason in said.err, said
    assert pflow("project", "show", "--json").json["data"]["projects"][0]["state"] == "refused"
    assert pflow("project", "agree", "--yes").code == 3


def _made(folder: Path, count: int) -> range:
    folder.mkdir()
    return range(count)


def _link(path: Path, target: Path) -> None:
    if path.exists():
        path.rename(path.parent.parent / "before")
    path.symlink_to(target)


def test_files_with_hostile_names_are_left_out(pflow: Pflow, project: Path) -> None:
    for name in (
        "a..yaml",
        "-rf.yaml",
        "h\N{CYRILLIC SMALL LETTER IE}llo.yaml",
        "a\nb.yaml",
        "x" * 200 + ".yaml",
        "con.yaml",
    ):
        put(project, f"workflows/{name}", HELLO)
    agree(pflow)
    (shown,) = pflow("project", "show", "--json").json["data"]["projects"]
    assert [each["name"] for each in shown["workflows"]] == ["hello"]
    assert len(shown["problems"]) >= 5
    assert all(line.isprintable() for line in pflow("project", "show").out.splitlines())
    for name in ("../hello", "..", "workflows/hello"):
        assert pflow("run", name).code in (2, 3)


def test_a_bomb_or_a_broken_document_is_an_error_of_that_workflow_alone(pflow: Pflow, project: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    put(project, "workflows/bomb.yaml", "\n".join([*lines, "nodes: *a11"]))
    put(project, "workflows/broken.json", "{")
    put(project, "options.json", "[" * 5000)
    agree(pflow)
    assert pflow("run", "bomb").code == 2
    assert pflow("run", "broken").code == 2
    assert pflow("run", "hello").code == 0
    listed = [each["name"] for each in pflow("workflow", "list", "--json").json["data"]["workflows"]]
    assert listed == ["bomb", "broken", "hello"]


# Nodes and options


def test_nodes_of_a_project_run_and_say_where_they_come_from(pflow: Pflow, project: Path) -> None:
    put(project, "nodes/shout.py", SHOUT)
    put(project, "workflows/loud.yaml", SHOUTING)
    assert "there is no node type `shout`" in pflow("registry", "describe", "shout").err
    agree(pflow)
    assert pflow("run", "loud").out == "HELLO\n"
    assert f"from {project}/.pflow/nodes/shout.py" in pflow("registry", "describe", "shout").out
    assert pflow("registry", "list", "--json").out.count('"shout"') >= 1


def test_nodes_of_a_project_are_not_written_into_the_registry(pflow: Pflow, project: Path, home: Path) -> None:
    put(project, "nodes/shout.py", SHOUT)
    agree(pflow)
    assert pflow("registry", "scan").code == 0
    assert pflow("registry", "describe", "shout").code == 0
    assert "shout" not in (home / "registry.json").read_text()


def test_a_project_takes_no_name_of_another_node_type(pflow: Pflow, project: Path, home: Path) -> None:
    put(project, "nodes/echo.py", SHOUT.replace("ShoutNode", "EchoNode"))
    put(project, "nodes/mine.py", SHOUT.replace("ShoutNode", "MineNode"))
    (home / "nodes").mkdir(mode=0o700)
    (home / "nodes" / "mine.py").write_text(SHOUT.replace("ShoutNode", "MineNode").replace("upper", "title"))
    put(project, "workflows/mine.yaml", SHOUTING.replace("type: shout", "type: mine"))
    agree(pflow)
    assert pflow("run", "hello").out == "hello\n"
    assert pflow("run", "mine").out == "Hello\n"
    said = pflow("registry", "list").err
    assert "node type `echo` is left out; a built-in node has that name" in said
    assert "node type `mine` is left out; `mine.py` has that name" in said


def test_a_node_that_prints_or_raises_at_import_spoils_no_output(pflow: Pflow, project: Path) -> None:
    put(project, "nodes/shout.py", "print('hi there')\n" + SHOUT)
    put(project, "nodes/bad.py", SHOUT.replace("ShoutNode", "BadNode") + "raise SystemExit(7)\n")
    put(project, "workflows/loud.yaml", SHOUTING)
    put(project, "workflows/bad.yaml", SHOUTING.replace("type: shout", "type: bad"))
    agree(pflow)
    out, err = spawn("run", "loud", "--json", cwd=project).communicate()
    assert json.loads(out)["data"]["outputs"] == {"text": "HELLO"} and b"hi there" in err
    said = pflow("run", "bad")
    assert said.code in (1, 2) and "SystemExit" in said.err and "agree to the project again" in said.err


def test_options_of_a_project_hold_in_it_and_say_where_they_come_from(pflow: Pflow, project: Path) -> None:
    put(project, "options.json", '{"output.limit_kb": 5, "shell.strict": true}')
    assert pflow("settings", "get", "output.limit_kb").out == "20\n"
    agree(pflow)
    found = pflow("settings", "get", "output.limit_kb", "--json").json["data"]
    assert (found["value"], found["origin"]) == (5, f"{project}/.pflow")
    assert pflow("settings", "get", "shell.strict").out == "false\n"
    assert "sets it for this project" in pflow("settings", "set", "output.limit_kb", "9").err
    os.chdir(project.parent)
    assert pflow("settings", "get", "output.limit_kb").out == "9\n"


# Workflows of a project


def test_a_workflow_includes_files_of_its_project_and_workflows_by_name(pflow: Pflow, project: Path) -> None:
    put(project, "workflows/parts/end.yaml", HELLO)
    put(project, "workflows/outer.yaml", _including("parts/end.yaml"))
    put(project, "workflows/named.yaml", _including("hello"))
    agree(pflow)
    assert pflow("run", "outer").out == "hello\n"
    assert pflow("run", "named").out == "hello\n"
    assert pflow("run", "end").code == 2
    put(project, "workflows/parts/end.yaml", HELLO.replace("text: hello", "text: other"))
    assert "has changed since you agreed" in pflow("run", "outer").err


@pytest.mark.parametrize(
    "path", ["../../part.yaml", "/etc/part.yaml", "~/part.yaml", "../options.json", "../nodes/x.json"]
)
def test_a_workflow_includes_nothing_that_was_not_agreed_to(pflow: Pflow, project: Path, path: str) -> None:
    (project / "part.yaml").write_text(HELLO)
    put(project, "workflows/outer.yaml", _including(path))
    agree(pflow)
    said = pflow("run", "outer")
    assert said.code in (2, 3)
    assert "only that was agreed to" in said.err or "outside its" in said.err, said


def _including(path: str) -> str:
    step = f"{{id: say, type: workflow, params: {{workflow: {path}}}}}"
    return f"nodes:\n  - {step}\noutputs: {{text: {{source: '${{say.text}}'}}}}\n"


def test_a_list_says_where_each_workflow_comes_from_and_which_is_hidden(pflow: Pflow, project: Path) -> None:
    (project / "lib.yaml").write_text(HELLO.replace("text: hello", "text: library"))
    assert pflow("workflow", "save", "../lib.yaml", "hello").code == 0
    assert pflow("workflow", "save", "../lib.yaml", "other").code == 0
    assert pflow("workflow", "save", "../lib.yaml", "third", "--draft").code == 0
    agree(pflow)
    found = pflow("workflow", "list", "--drafts", "--json").json["data"]["workflows"]
    assert [(each["name"], each["origin"], each.get("hidden_by", "")) for each in found] == [
        ("hello", "project", ""),
        ("hello", "library", f"{project}/.pflow"),
        ("other", "library", ""),
        ("third", "draft", ""),
    ]
    shown = pflow("workflow", "list").out
    assert f"project {project}/.pflow" in shown and "library, hidden by a project" in shown
    assert [each["name"] for each in pflow("workflow", "list", "hello", "--json").json["data"]["workflows"]] == [
        "hello",
        "hello",
        "other",
    ]
    assert pflow("run", "hello").out == "hello\n"


def test_discovery_finds_workflows_and_nodes_of_a_project(pflow: Pflow, project: Path) -> None:
    put(project, "workflows/zebra.yaml", HELLO.replace("Say hello", "Count zebras"))
    put(project, "nodes/shout.py", SHOUT)
    assert "zebra" not in pflow("workflow", "discover", "count zebras").out
    agree(pflow)
    assert "zebra" in pflow("workflow", "discover", "count zebras").out
    assert "shout" in pflow("registry", "discover", "shouts a word").out


def test_a_workflow_of_a_project_is_shown_exported_and_compared(pflow: Pflow, project: Path) -> None:
    put(project, "workflows/other.yaml", HELLO.replace("text: hello", "text: other"))
    agree(pflow)
    assert pflow("workflow", "show", "hello").out == HELLO
    assert pflow("workflow", "show", "hello", "--json").json["data"]["origin"] == "project"
    assert pflow("workflow", "export", "hello").code == 0
    assert (project / "src" / "hello.yaml").read_text() == HELLO
    assert '"hello" → "other"' in pflow("workflow", "diff", "hello", "other").out
    for words in (
        ["diff", "hello"],
        ["history", "hello"],
        ["show", "hello", "--version", "1"],
        ["restore", "hello", "1"],
    ):
        said = pflow("workflow", *words)
        assert said.code == 2 and f"git log -p {project}/.pflow/workflows/hello.yaml" in said.err


def _editor(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    code = f"import sys, pathlib; path = pathlib.Path(sys.argv[1]); text = path.read_text(); {change}"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", code]))
    monkeypatch.delenv("VISUAL", raising=False)


def test_an_edit_writes_the_file_and_is_agreed_to(pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project, "workflows/parts/end.yaml", HELLO)
    file = put(project, "workflows/outer.yaml", _including("parts/end.yaml"))
    file.chmod(0o640)
    agree(pflow)
    _editor(monkeypatch, "path.write_text('description: edited\\n' + text)")
    assert pflow("workflow", "edit", "outer").out == f"saved {file}\n"
    assert file.read_text().startswith("description: edited\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert pflow("run", "outer").out == "hello\n"
    assert sorted(path.name for path in (project / ".pflow").rglob("*") if path.is_file()) == [
        "end.yaml",
        "hello.yaml",
        "outer.yaml",
    ]
    _editor(monkeypatch, "path.write_text('nodes: 7')")
    assert pflow("workflow", "edit", "outer").code == 2
    assert file.read_text().startswith("description: edited\n")


def test_an_edit_does_not_agree_to_what_others_changed_meanwhile(
    pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(pflow)
    evil = project / ".pflow/workflows/evil.yaml"
    _editor(monkeypatch, f"path.write_text('# mine\\n' + text); pathlib.Path({str(evil)!r}).write_text(text)")
    assert pflow("workflow", "edit", "hello").code == 0
    assert "has changed since you agreed" in pflow("run", "evil").err
    file = project / ".pflow/workflows/hello.yaml"
    evil.unlink()
    _editor(monkeypatch, f"path.write_text('# again\\n' + text); pathlib.Path({str(file)!r}).write_text('# theirs')")
    said = pflow("workflow", "edit", "hello")
    assert said.code == 2 and "has changed while you edited it" in said.err
    assert file.read_text() == "# theirs"


def test_a_workflow_is_saved_into_the_project(pflow: Pflow, project: Path) -> None:
    (project / "src" / "new.yaml").write_text(HELLO.replace("text: hello", "text: new"))
    said = pflow("workflow", "save", "new.yaml", "new", "--project")
    assert said.code == 2 and "is not agreed to, so nothing is saved into it" in said.err
    agree(pflow)
    assert pflow("workflow", "save", "new.yaml", "new", "--project").code == 0
    assert (project / ".pflow/workflows/new.yaml").read_text() == HELLO.replace("text: hello", "text: new")
    assert pflow("run", "new").out == "new\n"
    assert pflow("workflow", "save", "new.yaml", "hello", "--project").code == 2
    assert pflow("workflow", "save", "new.yaml", "hello", "--project", "--overwrite").code == 0
    assert pflow("run", "hello").out == "new\n"
    assert pflow("workflow", "save", "new.yaml", "x", "--project", "--draft").code == 2


def test_saving_into_a_project_makes_its_folder_but_never_in_place_of_the_home(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "hi.yaml").write_text(HELLO)
    said = pflow("workflow", "save", "hi.yaml", "hi", "--project")
    assert said.code == 2 and "is pflow's home" in said.err
    (tmp_path / "new").mkdir()
    os.chdir(tmp_path / "new")
    assert pflow("workflow", "save", "../hi.yaml", "hi", "--project").code == 0
    assert (tmp_path / "new/.pflow/workflows/hi.yaml").read_text() == HELLO
    assert pflow("run", "hi").out == "hello\n"


def test_a_credential_is_not_saved_into_a_project(pflow: Pflow, project: Path) -> None:
    agree(pflow)
    assert pflow("settings", "set", "MY_TOKEN", "correct-horse-battery").code == 0
    (project / "src" / "new.yaml").write_text(HELLO.replace("text: hello", "text: correct-horse-battery"))
    said = pflow("workflow", "save", "new.yaml", "new", "--project")
    assert said.code == 3 and "a project must not carry" in said.err
    assert not (project / ".pflow/workflows/new.yaml").exists()


def test_files_of_a_project_are_renamed_and_deleted_only_when_that_is_meant(pflow: Pflow, project: Path) -> None:
    agree(pflow)
    for words in (["delete", "hello"], ["rename", "hello", "bye"]):
        said = pflow("workflow", *words)
        assert said.code == 2 and "add `--project`" in said.err
    assert pflow("workflow", "rename", "hello", "bye", "--project").code == 0
    assert pflow("run", "bye").out == "hello\n"
    assert pflow("run", "hello").code == 2
    assert pflow("workflow", "delete", "bye", "--project").code == 0
    assert list((project / ".pflow/workflows").iterdir()) == []
    assert pflow("workflow", "delete", "bye", "--project").code == 2


def test_runs_leave_nothing_in_the_folder(pflow: Pflow, project: Path) -> None:
    put(project, "nodes/shout.py", SHOUT)
    put(project, "workflows/loud.yaml", SHOUTING)
    agree(pflow)
    before = sorted(path for path in project.rglob("*"))
    assert pflow("run", "loud").code == 0
    assert pflow("workflow", "discover", "hello").code == 0
    assert sorted(path for path in project.rglob("*")) == before


def test_a_run_goes_on_when_its_project_is_gone_unless_it_needs_a_node_of_it(pflow: Pflow, project: Path) -> None:
    gate = project / "gate"
    step = f"  - {{id: gate, type: shell, params: {{command: 'test -e {gate}'}}}}\n"
    put(project, "workflows/plain.yaml", HELLO.replace("nodes:\n", "nodes:\n" + step))
    put(project, "nodes/shout.py", SHOUT)
    put(project, "workflows/loud.yaml", SHOUTING.replace("nodes:\n", "nodes:\n" + step))
    agree(pflow)
    runs = [pflow("run", name, "--json").json["checkpoint"]["run_id"] for name in ("plain", "loud")]
    (project / ".pflow").rename(project / "away")
    gate.touch()
    assert pflow("runs", "resume", runs[0]).out == "hello\n"
    said = pflow("runs", "resume", runs[1])
    assert said.code == 2 and "there is no node type `shout`" in said.err
    (project / "away").rename(project / ".pflow")
    assert pflow("runs", "resume", runs[1]).out == "HELLO\n"


def test_completion_asks_and_says_nothing(pflow: Pflow, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_PFLOW_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "pflow run hel")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert pflow().err == ""
    monkeypatch.delenv("_PFLOW_COMPLETE")
    agree(pflow)
    monkeypatch.setenv("_PFLOW_COMPLETE", "bash_complete")
    assert "hello" in pflow().out


def test_json_carries_no_question_and_no_notice_on_stdout(pflow: Pflow, project: Path) -> None:
    said = pflow("run", "hello", "--json")
    assert said.json["success"] is False
    assert any("project" in hint for hint in json.loads(said.out)["error"]["suggestions"])
