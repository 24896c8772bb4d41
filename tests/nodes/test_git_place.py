"""File nodes cannot change what git runs: its directories, what becomes one, and the files that its settings name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.execution.outcome import Outcome
from pflow.workspace import Workspace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

EVIL = (
    '[core]\n\trepositoryformatversion = 0\n[filter "x"]\n\tclean = touch {mark}; cat\n\tsmudge = touch {mark}; cat\n'
)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, which is the current folder."""
    repo = tmp_path / "repo"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "repo")
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    (repo / "a").write_text("one\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=first")
    monkeypatch.chdir(repo)
    return repo


@pytest.fixture
def workspace(repo: Path, home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as workspace:
        yield workspace


def git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)


def run(workspace: Workspace, kind: str, **params: object) -> Outcome:
    given = {name.removesuffix("_"): value for name, value in params.items()}
    return workspace.run({"nodes": [{"id": "step", "type": kind, "params": given}]})


def write(workspace: Workspace, path: str, content: str = "x") -> Outcome:
    return run(workspace, "write-file", path=path, content=content)


def is_refused(outcome: Outcome) -> bool:
    return not outcome.success and (outcome.error or {})["type"] == "security" and outcome.exit_code == 3


def test_another_common_directory_for_a_repository_cannot_be_given(workspace: Workspace, tmp_path: Path) -> None:
    mark = tmp_path / "PWN"
    write(workspace, "evil/config", EVIL.format(mark=mark))
    write(workspace, "evil/objects/x")
    write(workspace, "evil/refs/x")
    write(workspace, ".gitattributes", "* filter=x\n")
    assert is_refused(write(workspace, ".git/commondir", "../evil\n"))
    write(workspace, "a", "two\n")
    assert run(workspace, "git-status").success
    assert not mark.exists()


@pytest.mark.parametrize(
    "path",
    [
        *(".git/commondir", ".git/config", ".git/config.worktree", ".git/HEAD", ".git/index", ".git/info/attributes"),
        *(".git/info/exclude", ".git/objects/info/alternates", ".git/worktrees/w/gitdir", ".git/modules/m/config"),
        *(".git/hooks/pre-commit", ".GIT/config", "sub/.git", "sub/.git/config", ".git/rebase-merge/git-rebase-todo"),
        *(".git./config", "git~1/config"),
    ],
)
def test_nothing_in_a_git_directory_is_written_replaced_or_deleted(workspace: Workspace, repo: Path, path: str) -> None:
    assert is_refused(write(workspace, path))
    assert is_refused(run(workspace, "write-file", path=path, content="x", append=True))
    assert is_refused(run(workspace, "copy-file", from_="a", to=path))
    assert is_refused(run(workspace, "move-file", from_="a", to=path))
    assert is_refused(run(workspace, "delete-file", path=path))
    assert is_refused(run(workspace, "move-file", from_=".git/HEAD", to="mine"))


@pytest.mark.parametrize("name", ["bare", "bare.git", "store"])
def test_a_repository_without_a_working_tree_is_known_by_what_is_in_it(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    git(tmp_path, "init", "--quiet", "--bare", name)
    for path in ("config", "hooks/post-update", "objects/info/alternates", "refs/heads/x", "new"):
        assert is_refused(write(workspace, str(tmp_path / name / path)))


def test_a_git_directory_elsewhere_is_known_by_what_is_in_it(workspace: Workspace, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", f"--separate-git-dir={tmp_path}/store", "tree")
    assert is_refused(write(workspace, str(tmp_path / "store/config")))
    assert is_refused(write(workspace, str(tmp_path / "tree/.git"), "gitdir: ../evil"))
    assert write(workspace, str(tmp_path / "tree/file")).success


@pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x"])
def test_no_order_of_writes_makes_a_directory_a_repository(workspace: Workspace, tmp_path: Path, last: str) -> None:
    mark = tmp_path / "PWN"
    content = {
        "config": EVIL.format(mark=mark) + "[core]\n\tbare = false\n\tworktree = ..\n",
        "HEAD": "ref: refs/heads/main\n",
    }
    folder = tmp_path / "made"
    for part in ("config", *(part for part in ("HEAD", "objects/x", "refs/x") if part != last)):
        assert write(workspace, str(folder / part), content.get(part, "x")).success
    assert is_refused(write(workspace, str(folder / last), content.get(last, "x")))
    run(workspace, "git-status", path=str(folder))
    assert not mark.exists()


def test_a_head_beside_the_name_of_a_common_directory_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    assert write(workspace, str(tmp_path / "made/HEAD"), "ref: refs/heads/main\n").success
    assert is_refused(write(workspace, str(tmp_path / "made/commondir"), "../evil\n"))


def test_writes_at_the_same_time_do_not_make_a_directory_a_repository(workspace: Workspace, tmp_path: Path) -> None:
    for attempt in range(20):
        folder = tmp_path / f"made{attempt}"
        items = {
            "items": ["HEAD", "objects/x", "refs/x", "objects/y", "refs/y"],
            "concurrency": 5,
            "on_error": "continue",
            "max_failed": "100%",
        }
        node = {
            "id": "w",
            "type": "write-file",
            "params": {"path": f"{folder}/${{item}}", "content": "x"},
            "batch": items,
        }
        workspace.run({"nodes": [node]})
        made = [(folder / name).exists() for name in ("HEAD", "objects", "refs")]
        assert not all(made)


def test_a_repository_that_comes_with_the_files_of_another_is_not_used(
    workspace: Workspace, repo: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "PWN"
    git(repo, "init", "--quiet", "--bare", "inner")
    (repo / "inner/config").write_text(EVIL.format(mark=mark) + "[core]\n\tbare = false\n\tworktree = ..\n")
    (repo / ".gitattributes").write_text("* filter=x\n")
    for kind in ("git-status", "git-diff", "git-log"):
        assert is_refused(run(workspace, kind, path="inner"))
        assert is_refused(run(workspace, kind, path="inner/objects"))
    assert is_refused(run(workspace, "git-commit", path="inner", message="m", all=True))
    assert not mark.exists()


def test_a_repository_without_a_working_tree_can_still_be_looked_at(
    workspace: Workspace, repo: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", "repo", "mirror")
    outcome = run(workspace, "git-log", path=str(tmp_path / "mirror"))
    assert outcome.success, outcome.error
    assert run(workspace, "git-log", path=str(repo / ".git")).success


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ("[core]\n\thooksPath = .githooks\n", ".githooks/pre-commit"),
        ("[core] hookspath=.githooks\n", ".githooks/pre-commit"),
        ("[include]\n\tpath = ../.gitconfig\n", ".gitconfig"),
        ('[includeIf "gitdir:~/"]\n\tpath = "../team.inc" # ours\n', "team.inc"),
        ("[include]\n\tpath = ../one.inc\n", "two.inc"),
    ],
)
def test_files_that_a_repositorys_settings_name_are_protected(
    workspace: Workspace, repo: Path, settings: str, path: str
) -> None:
    with (repo / ".git/config").open("a") as file:
        file.write(settings)
    (repo / "one.inc").write_text("[include]\n\tpath = two.inc\n")
    assert is_refused(write(workspace, path))
    assert write(workspace, "other").success


def test_files_that_the_persons_git_settings_include_are_protected(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(
        '[includeIf "gitdir:~/work/"]\n\tpath = ~/work.inc\n[core]\n\thooksPath=~/hooks\n'
    )
    assert is_refused(write(workspace, str(tmp_path / "work.inc")))
    assert is_refused(write(workspace, str(tmp_path / "hooks/pre-commit")))


@pytest.mark.parametrize("path", ["HEAD", "config", "objects/a", "refs/b", "src/hooks/x", "gitconfig", ".gitignore"])
def test_ordinary_files_with_such_names_are_free(workspace: Workspace, path: str) -> None:
    assert write(workspace, path).success


def test_a_worktree_is_written_to_but_not_its_settings(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "second"))
    assert write(workspace, str(tmp_path / "second/file")).success
    assert is_refused(write(workspace, str(tmp_path / "second/.git"), "gitdir: /tmp"))
    git(repo, "config", "extensions.worktreeConfig", "true")
    assert is_refused(write(workspace, str(repo / ".git/worktrees/second/config.worktree")))
    assert run(workspace, "git-status", path=str(tmp_path / "second")).success
