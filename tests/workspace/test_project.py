"""Projects through a workspace in Python: looked for only where the program says so."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.core.project.search import find_folders
from pflow.workspace import Workspace

HELLO = """\
nodes:
  - {id: say, type: echo, params: {text: hello}}
outputs:
  text: {source: "${say.text}"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / ".pflow" / "workflows"
    folder.mkdir(parents=True)
    (folder / "hello.yaml").write_text(HELLO)
    return tmp_path / "work"


def agree(home: Path, project: Path) -> None:
    with Workspace(Home(home), project=project) as workspace:
        assert [found.state for found in workspace.projects.agree(lambda _: True)] == ["agreed"]


def test_a_workspace_looks_at_no_project_unless_it_is_told_where(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(home, project)
    monkeypatch.chdir(project)
    with Workspace.open() as workspace:
        with pytest.raises(NotFoundError):
            workspace.check("hello")
        assert workspace.workflows() == [] and workspace.notices == []
    with Workspace.open(project=project) as workspace:
        assert workspace.run("hello").outputs == {"text": "hello"}


def test_what_is_used_is_what_was_read_though_the_files_change_meanwhile(home: Path, project: Path) -> None:
    agree(home, project)
    file = project / ".pflow" / "workflows" / "hello.yaml"
    with Workspace(Home(home), project=project) as workspace:
        assert workspace.check("hello").ok
        file.write_text(HELLO.replace("text: hello", "text: evil"))
        assert workspace.run("hello").outputs == {"text": "hello"}
        file.unlink()
        assert workspace.run("hello").outputs == {"text": "hello"}


def test_only_the_content_that_was_shown_is_agreed_to(home: Path, project: Path) -> None:
    def ask(_: object) -> bool:
        (project / ".pflow" / "workflows" / "late.yaml").write_text(HELLO)
        return True

    with Workspace(Home(home), project=project) as workspace:
        workspace.projects.agree(ask)
        assert [found.state for found in workspace.projects.show()] == ["changed"]


def test_agreements_that_are_made_at_once_are_all_kept(home: Path, tmp_path: Path) -> None:
    roots = [tmp_path / f"p{number}" for number in range(8)]
    for root in roots:
        (root / ".pflow" / "workflows").mkdir(parents=True)
        (root / ".pflow" / "workflows" / "hello.yaml").write_text(HELLO)
    threads = [threading.Thread(target=agree, args=(home, root)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for root in roots:
        with Workspace(Home(home), project=root) as workspace:
            assert [found.state for found in workspace.projects.show()] == ["agreed"]


def test_a_home_that_is_made_during_the_search_is_no_project(home: Path, project: Path) -> None:
    assert home.parent in project.parents
    found = find_folders(project, Home(home))
    assert next(found) == project / ".pflow"
    home.mkdir()
    assert list(found) == []


def test_the_contents_of_a_folder_that_are_remembered_are_bounded(home: Path, project: Path) -> None:
    file = project / ".pflow" / "workflows" / "hello.yaml"
    for number in range(32):
        file.write_text(f"# {number}\n{HELLO}")
        agree(home, project)
    states = []
    for number in (0, 2, 31):
        file.write_text(f"# {number}\n{HELLO}")
        with Workspace(Home(home), project=project) as workspace:
            states += [found.state for found in workspace.projects.show()]
    assert states == ["changed", "agreed", "agreed"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_search_ends_at_a_directory_of_another_user(home: Path, project: Path) -> None:
    inner = project / "theirs" / "mine"
    inner.mkdir(parents=True)
    os.chown(project / "theirs", 12345, 12345)
    with Workspace(Home(home), project=inner) as workspace:
        assert workspace.projects.show() == []
    os.chown(project / ".pflow" / "workflows" / "hello.yaml", 12345, 12345)
    with Workspace(Home(home), project=project) as workspace:
        (found,) = workspace.projects.show()
        assert found.state == "refused" and "belongs to another user" in found.reason
