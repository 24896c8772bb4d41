"""The skill for agents: where it goes, that it says true things, and that nothing of a person's is lost."""

from __future__ import annotations

import os
import pty
import re
from hashlib import sha256
from pathlib import Path

import click
import pytest
import yaml

from pflow.cli.command_table import COMMANDS
from pflow.cli.main import root
from pflow.core.errors import ExistsError, StorageError
from pflow.workspace.guide import guide_page
from pflow.workspace.skill.install import find_skill, install_skill, remove_skill
from pflow.workspace.skill.text import skill_text
from tests.cli.conftest import Pflow, spawn

PLACES = {"claude": ".claude", "codex": ".agents", "cursor": ".cursor"}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def file_of(folder: Path, host: str = "claude") -> Path:
    return folder / PLACES[host] / "skills" / "pflow" / "SKILL.md"


@pytest.mark.parametrize("host", PLACES)
def test_a_skill_comes_and_goes_without_a_trace(pflow: Pflow, person: Path, tmp_path: Path, host: str) -> None:
    for flags, folder in (((), person), (("--project",), tmp_path)):
        said = pflow("skill", "install", host, "--yes", *flags)
        path = file_of(folder, host)
        assert (said.code, said.out) == (0, f"wrote `{path}`\nnew sessions of {host} know it\n")
        assert path.read_text() == skill_text() == pflow("skill", "show").out
        assert pflow("skill", "install", host, *flags).out == f"`{path}` has it already\n"
        said = pflow("skill", "uninstall", host, "--yes", *flags)
        assert (said.code, said.out) == (0, f"removed `{path}`\n")
        assert [*(folder / PLACES[host] / "skills").iterdir()] == []
        assert pflow("skill", "uninstall", host, *flags).out == f"there is no `{path}`\n"


def test_the_whole_text_is_shown_before_it_is_written(pflow: Pflow, person: Path) -> None:
    said = pflow("skill", "install", "claude")
    assert (said.code, said.err.partition("\n")[0]) == (
        2,
        f"error: nobody can agree to a change of `{file_of(person)}`",
    )
    said = pflow("skill", "install", "claude", "--dry-run")
    assert said.out == f"would write `{file_of(person)}`:\n\n{skill_text()}"
    assert not (person / ".claude").exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_person_is_asked(person: Path, home: Path, tmp_path: Path, answer: str) -> None:
    leader, follower = pty.openpty()
    process = spawn("skill", "install", "codex", cwd=tmp_path, stdin=follower)
    os.close(follower)
    os.write(leader, f"{answer}\n".encode())
    _, err = process.communicate(timeout=100)
    os.close(leader)
    assert f"this becomes `{file_of(person, 'codex')}`:" in err.decode()
    assert "5. Never put a secret into a document" in err.decode()
    assert (process.returncode, file_of(person, "codex").exists()) == ((0, True) if answer == "y" else (1, False))


@pytest.mark.parametrize("edited", [True, False])
def test_what_a_person_wrote_is_never_lost(pflow: Pflow, person: Path, edited: bool) -> None:
    path = file_of(person)
    if edited:
        pflow("skill", "install", "claude", "--yes")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("my own words\n")
    mine = path.read_bytes()
    reason = "was changed by hand since pflow wrote it" if edited else "is there already, and pflow did not write it"
    said = pflow("skill", "install", "claude", "--yes")
    assert said.code == 2
    assert said.err.startswith(f"error: `{path}` {reason}\n\nhint: `--overwrite` replaces it, and keeps a copy")
    said = pflow("skill", "uninstall", "claude", "--yes")
    assert (said.code, path.read_bytes()) == (2, mine)
    copy = path.with_name("SKILL.md.pflow-backup-1")
    if edited:
        assert pflow("skill", "uninstall", "claude", "--yes", "--overwrite").code == 0
        assert copy.read_bytes() == mine
        path.write_bytes(mine)
        copy = path.with_name("SKILL.md.pflow-backup-2")
    else:
        assert pflow("skill", "uninstall", "claude", "--yes", "--overwrite").code == 2
    said = pflow("skill", "install", "claude", "--yes", "--overwrite", "--json")
    assert said.json["data"]["backup"] == str(copy)
    assert (copy.read_bytes(), path.read_text()) == (mine, skill_text())


def test_the_skill_of_another_version_is_replaced(pflow: Pflow, person: Path) -> None:
    path = file_of(person)
    path.parent.mkdir(parents=True)
    old = "---\nname: pflow\n---\nas it was\n"
    digest = sha256(old.encode()).hexdigest()
    sealed = f"{old}\n<!-- Written by pflow (sha256 {digest}); `pflow skill uninstall` removes it. -->\n"
    path.write_bytes(sealed.replace("\n", "\r\n").encode())
    assert pflow("skill", "install", "claude", "--yes", "--json").json["data"]["state"] == "older"
    assert (path.read_text(), [*path.parent.iterdir()]) == (skill_text(), [path])


def test_a_file_that_changes_while_the_person_reads_is_left_alone(person: Path) -> None:
    found = find_skill("claude", person=person, environ={})
    file_of(person).parent.mkdir(parents=True)
    file_of(person).write_text("mine")
    with pytest.raises(StorageError):
        install_skill(found)
    with pytest.raises(ExistsError):
        remove_skill(find_skill("claude", person=person, environ={}), overwrite=True)
    assert file_of(person).read_text() == "mine"


def test_a_link_in_a_project_does_not_lead_out_of_it(
    pflow: Pflow, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / ".claude").symlink_to(person)
    said = pflow("skill", "install", "claude", "--project", "--yes")
    assert said.code == 3
    assert "leads out of the project" in said.err
    assert [*person.iterdir()] == []


def test_a_link_of_a_persons_own_is_followed(pflow: Pflow, person: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles"
    kept.mkdir()
    (person / ".claude").symlink_to(kept)
    assert pflow("skill", "install", "claude", "--yes").code == 0
    assert (kept / "skills" / "pflow" / "SKILL.md").read_text() == skill_text()


def test_a_directory_in_the_way_is_an_error_in_words(pflow: Pflow, person: Path) -> None:
    file_of(person).mkdir(parents=True)
    said = pflow("skill", "install", "claude", "--yes")
    assert said.code != 0
    assert "it is not a file" in said.err


def test_the_folder_of_claude_may_be_elsewhere(
    pflow: Pflow, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    pflow("skill", "install", "claude", "--yes")
    assert (tmp_path / "other" / "skills" / "pflow" / "SKILL.md").exists()


def test_an_unknown_host_is_told_what_to_do(pflow: Pflow, person: Path) -> None:
    assert "hint: did you mean `codex`?" in pflow("skill", "install", "codx").err
    assert "`pflow skill show` prints the text" in pflow("skill", "install", "emacs").err


def test_the_skill_has_the_form_that_hosts_read() -> None:
    _, head, body = skill_text().split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["name"] == "pflow"
    assert 0 < len(front["description"]) <= 1024
    assert guide_page().partition("## The loop\n")[2].partition("\n## ")[0] in body
    assert len(skill_text()) < 6000, "an agent reads all of it"


def test_every_command_in_the_skill_exists() -> None:
    ctx = click.Context(root)
    for words in re.findall(r"`pflow ([a-z][a-z ]*)", skill_text()):
        first, *rest = words.split()
        assert first in COMMANDS, words
        command = root.get_command(ctx, first)
        if rest and isinstance(command, click.Group):
            assert rest[0] in command.list_commands(ctx), words
