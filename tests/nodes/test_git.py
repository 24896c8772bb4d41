"""The git nodes on real repositories: what they tell, what they change, and what no value or repository can do."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pocketflow import Node

from pflow.core.errors import PflowError, SecurityError, StepError
from pflow.nodes.git.node import GitCheckout, GitCommit, GitDiff, GitLog, GitStatus
from pflow.nodes.git.output import parse_commits, parse_numstat, parse_status
from tests.nodes.local_http import Step

pytestmark = pytest.mark.needs("git")

ODD_NAMES = ["-rf", "a b", "ü", "new\nline", "tab\t", ":(top)x", "*", "quote\"'", "--help", "$(id)", "a -> b"]


class Repo:
    """A repository with one commit (`first`: the file `a`) and someone to commit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, path: Path) -> Repo:
        repo = cls(path)
        path.mkdir()
        repo.git("init", "--quiet", "--initial-branch=main")
        repo.git("config", "user.name", "Ada")
        repo.git("config", "user.email", "ada@example.org")
        repo.write("a", "one\n")
        repo.git("add", "--all")
        repo.git("commit", "--quiet", "--message=first")
        return repo

    def git(self, *argv: str) -> str:
        done = subprocess.run(["git", *argv], cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout

    def write(self, name: str, text: str | bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def run(self, node: type[Node], **params: Any) -> Any:
        return asyncio.run(Step(self.path.parent / ".pflow").run(node, **{"path": str(self.path), **params}))

    def fail(self, node: type[Node], **params: Any) -> Any:
        with pytest.raises(PflowError) as caught:
            self.run(node, **params)
        return caught.value


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Repo.make(tmp_path_factory.mktemp("git") / "template").path


@pytest.fixture
def repo(template: Path, tmp_path: Path) -> Repo:
    return Repo(shutil.copytree(template, tmp_path / "repo"))


# Status


def test_a_fresh_checkout_is_clean(repo: Repo) -> None:
    written = repo.run(GitStatus)
    assert written["status"] == {
        "branch": "main",
        "sha": repo.git("rev-parse", "HEAD").strip(),
        "upstream": None,
        "ahead": 0,
        "behind": 0,
        "staged": [],
        "modified": [],
        "untracked": [],
        "conflicted": [],
        "clean": True,
    }
    assert written["clean"] is True


def test_every_kind_of_change_is_listed(repo: Repo) -> None:
    for name in ("b", "gone", "moved", "both"):
        repo.write(name, f"{name}\n" * 9)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message=second")
    repo.write("a", "two\n")
    repo.write("b", "staged\n")
    repo.write("both", "staged\n")
    repo.git("add", "b", "both")
    repo.write("both", "and again\n")
    repo.git("mv", "moved", "elsewhere")
    (repo.path / "gone").unlink()
    repo.write("new/deep/file", "x")
    status = repo.run(GitStatus)["status"]
    assert sorted(status["staged"]) == ["b", "both", "elsewhere"]
    assert sorted(status["modified"]) == ["a", "both", "gone"]
    assert status["untracked"] == ["new/deep/file"]
    assert status["clean"] is False


def test_the_distance_to_the_upstream_is_told(repo: Repo, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", repo.path, tmp_path / "clone"], check=True)
    repo.git("commit", "--quiet", "--allow-empty", "--message=theirs")
    clone = ["git", "-C", str(tmp_path / "clone"), "-c", "user.name=A", "-c", "user.email=a@b"]
    for message in ("mine", "mine too"):
        subprocess.run([*clone, "commit", "--quiet", "--allow-empty", f"--message={message}"], check=True)
    subprocess.run([*clone, "fetch", "--quiet"], check=True)
    status = repo.run(GitStatus, path=str(tmp_path / "clone"))["status"]
    assert (status["upstream"], status["ahead"], status["behind"]) == ("origin/main", 2, 1)


def test_a_conflict_is_listed(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "side")
    repo.write("a", "side\n")
    repo.git("commit", "--quiet", "--all", "--message=side")
    repo.git("checkout", "--quiet", "main")
    repo.write("a", "main\n")
    repo.git("commit", "--quiet", "--all", "--message=main")
    subprocess.run(["git", "merge", "--quiet", "side"], cwd=repo.path, capture_output=True)
    status = repo.run(GitStatus)["status"]
    assert (status["conflicted"], status["clean"]) == (["a"], False)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_file_name_arrives_as_it_is(repo: Repo, name: str) -> None:
    repo.write(name, "x\n")
    assert repo.run(GitStatus)["status"]["untracked"] == [name]
    written = repo.run(GitCommit, message="odd", files=[name])
    assert written["commit"]["files"] == [{"path": name, "added": 1, "removed": 0}]
    repo.write(name, "y\n")
    assert repo.run(GitDiff, files=[name])["files"] == [{"path": name, "added": 1, "removed": 1}]
    assert [c["subject"] for c in repo.run(GitLog, files=[name])["commits"]] == ["odd"]


def test_a_repository_without_commits_has_a_status_and_an_empty_log(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", tmp_path / "empty"], check=True)
    step = Step(tmp_path / ".pflow")
    status = asyncio.run(step.run(GitStatus, path=str(tmp_path / "empty")))["status"]
    assert (status["branch"], status["sha"], status["clean"]) == ("main", None, True)
    assert asyncio.run(step.run(GitLog, path=str(tmp_path / "empty")))["commits"] == []


# Log


def test_commits_come_newest_first_with_all_their_fields(repo: Repo) -> None:
    message = "second – grüße\n\nA body\n\n# not a comment\n"
    repo.write("a", "one\ntwo\n")
    subprocess.run(
        ["git", "commit", "--quiet", "--all", "--cleanup=verbatim", "--file=-"],
        cwd=repo.path,
        input=message.encode(),
        check=True,
        env={**os.environ, "GIT_AUTHOR_DATE": "2026-03-01T12:00:00+02:00"},
    )
    written = repo.run(GitLog)
    sha = repo.git("rev-parse", "HEAD").strip()
    assert written["count"] == 2
    assert written["commits"][0] == {
        "sha": sha,
        "short": repo.git("rev-parse", "--short", "HEAD").strip(),
        "author": "Ada",
        "email": "ada@example.org",
        "date": "2026-03-01T12:00:00+02:00",
        "subject": "second – grüße",
        "body": "A body\n\n# not a comment",
    }
    assert written["commits"][1]["subject"] == "first"


def test_the_log_is_limited_filtered_and_ranged(repo: Repo) -> None:
    repo.git("tag", "v1")
    for number in range(4):
        repo.write(f"f{number}", "x")
        repo.git("add", "--all")
        repo.git("commit", "--quiet", f"--message=fix [{number}]", f"--author=P{number} <p@x>")

    def subjects(**params: Any) -> Any:
        return [commit["subject"] for commit in repo.run(GitLog, **params)["commits"]]

    assert subjects(limit=2) == ["fix [3]", "fix [2]"]
    assert len(subjects(limit=0)) == 5
    assert subjects(ref="v1") == ["first"]
    assert len(subjects(ref="v1..main")) == 4
    assert subjects(grep="FIX [1]") == ["fix [1]"]
    assert subjects(author="p2") == ["fix [2]"]
    assert subjects(files=["f0"]) == ["fix [0]"]
    assert len(subjects(since="2020-01-01")) == 5
    assert subjects(until="2020-01-01") == []


def test_the_log_lists_files_when_asked(repo: Repo) -> None:
    repo.write("b", b"\0binary")
    repo.git("mv", "a", "moved")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message=files")
    repo.git("commit", "--quiet", "--allow-empty", "--message=empty")
    commits = repo.run(GitLog, include_files=True)["commits"]
    assert [commit["files"] for commit in commits] == [
        [],
        [
            {"path": "b", "added": None, "removed": None},
            {"path": "moved", "added": 0, "removed": 0, "old_path": "a"},
        ],
        [{"path": "a", "added": 1, "removed": 0}],
    ]


# Diff


def test_a_diff_is_a_patch_and_numbers(repo: Repo) -> None:
    repo.write("a", "two\nthree\n")
    written = repo.run(GitDiff)
    assert written["files"] == [{"path": "a", "added": 2, "removed": 1}]
    assert written["changed"] is True
    assert written["diff"].splitlines()[2:] == ["--- a/a", "+++ b/a", "@@ -1 +1,2 @@", "-one", "+two", "+three"]


def test_a_diff_compares_what_it_is_asked_to(repo: Repo) -> None:
    repo.write("a", "two\n")
    repo.git("commit", "--quiet", "--all", "--message=second")
    repo.write("a", "staged\n")
    repo.git("add", "a")
    repo.write("a", "working\n")

    def added(**params: Any) -> Any:
        lines = repo.run(GitDiff, **params)["diff"].splitlines()
        return [line[1:] for line in lines if line.startswith("+") and not line.startswith("++")]

    assert added() == ["working"]
    assert added(staged=True) == ["staged"]
    assert added(base="HEAD~1") == ["working"]
    assert added(base="HEAD~1", target="HEAD") == ["two"]
    assert added(base="HEAD~1", staged=True) == ["staged"]
    assert repo.run(GitDiff, files=["nothing-here"])["changed"] is False
    assert "compared with `base`" in repo.fail(GitDiff, target="HEAD").message
    assert "compared with `base`" in repo.fail(GitDiff, base="HEAD", target="HEAD", staged=True).message


def test_a_persons_settings_do_not_change_the_form_of_a_diff(repo: Repo) -> None:
    for setting in ("diff.noprefix=true", "color.ui=always", "diff.mnemonicPrefix=true", "core.pager=false"):
        repo.git("config", *setting.split("="))
    repo.write("a", "two\n")
    assert repo.run(GitDiff)["diff"].splitlines()[2:4] == ["--- a/a", "+++ b/a"]


def test_too_long_a_diff_says_so(repo: Repo) -> None:
    repo.write("a", "x" * (11 << 20))
    assert "gives more than 10 MiB" in repo.fail(GitDiff).message


# Commit


def test_named_files_are_committed_and_nothing_else(repo: Repo) -> None:
    repo.write("new", "x\n")
    repo.write("other", "x\n")
    repo.git("add", "other")
    written = repo.run(GitCommit, message="-m tricky\n\nbody", files=["new"])
    assert written["sha"] == repo.git("rev-parse", "HEAD").strip()
    assert written["branch"] == "main"
    assert written["commit"]["subject"] == "-m tricky"
    assert written["commit"]["body"] == "body"
    assert written["commit"]["files"] == [{"path": "new", "added": 1, "removed": 0}]
    assert repo.run(GitStatus)["status"]["staged"] == ["other"]


def test_everything_is_committed_also_from_a_folder_below(repo: Repo) -> None:
    repo.write("deep/file", "x\n")
    repo.write("new", "x\n")
    (repo.path / "a").unlink()
    written = repo.run(GitCommit, message="all", all=True, path=str(repo.path / "deep"))
    assert [file["path"] for file in written["commit"]["files"]] == ["a", "deep/file", "new"]


def test_what_is_staged_is_committed_by_default(repo: Repo) -> None:
    repo.write("new", "x\n")
    repo.git("add", "new")
    repo.write("a", "unstaged\n")
    assert [file["path"] for file in repo.run(GitCommit, message="staged")["commit"]["files"]] == ["new"]


def test_nothing_to_commit_is_said_plainly(repo: Repo) -> None:
    error = repo.fail(GitCommit, message="nothing")
    assert isinstance(error, StepError)
    assert (error.action, error.message) == ("error", "there is nothing to commit")
    assert error.suggestions == ("set `allow_empty` to commit without changes",)
    repo.write("a", "two\n")
    error = repo.fail(GitCommit, message="nothing")
    assert error.message == "there is nothing to commit among what was asked for; 1 other files have changed"
    assert error.details == {"changed": ["a"]}
    assert repo.run(GitCommit, message="empty", allow_empty=True)["commit"]["files"] == []


def test_an_author_is_taken_as_given(repo: Repo) -> None:
    written = repo.run(GitCommit, message="x", allow_empty=True, author="Grace Hopper <grace@example.org>")
    assert (written["commit"]["author"], written["commit"]["email"]) == ("Grace Hopper", "grace@example.org")


def test_the_identity_of_the_environment_counts(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "From Environment")
    assert repo.run(GitCommit, message="x", allow_empty=True)["commit"]["author"] == "From Environment"


def test_an_unknown_person_is_told_what_to_set(repo: Repo) -> None:
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    repo.git("config", "user.useConfigOnly", "true")
    error = repo.fail(GitCommit, message="x", allow_empty=True)
    assert error.suggestions == ("set `git config user.name` and `git config user.email`, or the node's `author`",)


def test_a_hook_that_objects_stops_the_commit(repo: Repo) -> None:
    hook = repo.path / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'lint failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    repo.write("a", "two\n")
    error = repo.fail(GitCommit, message="x", all=True)
    assert error.message == "`git commit` failed: lint failed"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"message": " \n"}, "`message` is empty"),
        ({"message": None}, "`message` is empty"),
        ({"message": "\ud800"}, "not valid Unicode"),
        ({"message": "x", "files": ["a"], "all": True}, "both given"),
        ({"message": "x", "files": [1]}, "`files` must be an array of file names"),
        ({"message": "x", "files": {"a": 1}}, "`files` must be an array of file names"),
        ({"message": "x", "author": "nobody"}, "not of the form"),
        ({"message": "x", "author": "a <b>\n--amend"}, "not of the form"),
        ({"message": "x", "files": ["a\0b"]}, "an argument cannot hold"),
        ({"message": "x", "files": ["a\ud800"]}, "an argument cannot hold"),
        ({"message": "x", "timeout": 0}, "`timeout` must be"),
    ],
)
def test_a_commit_that_cannot_be_is_explained(repo: Repo, params: dict[str, Any], words: str) -> None:
    assert words in repo.fail(GitCommit, **params).message


def test_a_missing_file_is_a_missing_resource(repo: Repo) -> None:
    error = repo.fail(GitCommit, message="x", files=["nope"])
    assert (error.action, error.details["exit_code"]) == ("resource_missing", 128)


# Checkout


def test_switching_tells_where_it_came_from(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD").strip()
    written = repo.run(GitCheckout, ref="feature", create=True)
    assert (written["branch"], written["sha"], written["previous"]) == ("feature", first, "main")
    repo.run(GitCommit, message="on feature", allow_empty=True)
    written = repo.run(GitCheckout, ref=first)
    assert (written["branch"], written["sha"], written["previous"]) == (None, first, "feature")
    assert repo.run(GitCheckout, ref="main")["previous"] == first
    assert repo.run(GitCheckout, ref="old", create=True, start="feature~1")["sha"] == first


def test_a_branch_of_the_remote_is_found_by_its_name(repo: Repo, tmp_path: Path) -> None:
    repo.git("branch", "theirs")
    subprocess.run(["git", "clone", "--quiet", repo.path, tmp_path / "clone"], check=True)
    assert repo.run(GitCheckout, ref="theirs", path=str(tmp_path / "clone"))["branch"] == "theirs"


def test_changes_that_would_be_lost_stop_it(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "side")
    repo.write("a", "side\n")
    repo.git("commit", "--quiet", "--all", "--message=side")
    repo.git("checkout", "--quiet", "main")
    repo.write("a", "mine\n")
    error = repo.fail(GitCheckout, ref="side")
    assert error.suggestions == ("commit the changes first, or put them aside with `git stash`",)
    assert (repo.path / "a").read_text() == "mine\n"


def test_a_file_is_never_taken_for_a_branch(repo: Repo) -> None:
    repo.write("a", "mine\n")
    assert repo.fail(GitCheckout, ref="a").action == "resource_missing"
    assert (repo.path / "a").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "`ref` is empty"),
        ({"ref": "main", "start": "main"}, "`start` is for a new branch"),
        ({"ref": 7}, "`ref` must be a string"),
        ({"ref": "main", "create": True}, "already exists"),
        ({"ref": "bad..name", "create": True}, "not a valid branch name"),
    ],
)
def test_a_checkout_that_cannot_be_is_explained(repo: Repo, params: dict[str, Any], words: str) -> None:
    assert words in repo.fail(GitCheckout, **params).message


# Where there is nothing to work with


@pytest.mark.parametrize("node", [GitStatus, GitLog, GitDiff, GitCommit, GitCheckout])
def test_a_folder_that_is_no_repository_is_a_missing_resource(tmp_path: Path, node: type[Any]) -> None:
    (tmp_path / "plain").mkdir()
    for path, words in (("plain", "is not in a git repository"), ("nowhere", "is not an existing directory")):
        with pytest.raises(StepError) as caught:
            asyncio.run(
                Step(tmp_path / ".pflow").run(
                    node, path=str(tmp_path / path), message="x", ref="main", files=["a", "b"]
                )
            )
        assert caught.value.action == "resource_missing"
        assert words in caught.value.message
        assert caught.value.suggestions


@pytest.mark.parametrize("node", [GitLog, GitCheckout])
def test_an_unknown_revision_is_a_missing_resource(repo: Repo, node: type[Node]) -> None:
    error = repo.fail(node, ref="v99")
    assert (error.action, error.details["path"]) == ("resource_missing", str(repo.path))


def test_a_repository_in_pflows_own_folder_is_not_changed(repo: Repo, tmp_path: Path, home: Path) -> None:
    shutil.move(repo.path, home)
    for node, params in ((GitCommit, {"message": "x", "allow_empty": True}), (GitCheckout, {"ref": "main"})):
        with pytest.raises(SecurityError):
            asyncio.run(Step(tmp_path / ".pflow").run(node, path=str(home), **params))


# What no value and no repository can do


@pytest.mark.parametrize(
    "value",
    ["-", "--", "--output=pwned", "-Opwned", "--exec=touch pwned", "--upload-pack=touch pwned", "-c", "--help", "-p"],
)
@pytest.mark.parametrize(
    ("node", "slot", "others"),
    [
        (GitLog, "ref", {}),
        (GitDiff, "base", {}),
        (GitDiff, "target", {"base": "HEAD"}),
        (GitCheckout, "ref", {}),
        (GitCheckout, "ref", {"create": True}),
        (GitCheckout, "start", {"ref": "new", "create": True}),
    ],
)
def test_no_revision_is_an_option(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, node: type[Node], slot: str, others: dict[str, Any], value: str
) -> None:
    monkeypatch.chdir(repo.path)
    error = repo.fail(node, **{slot: value}, **others)
    assert "which git would take for an option" in error.message
    assert not (repo.path / "pwned").exists()


@pytest.mark.parametrize("value", ["--output=pwned", "-Opwned", "--exec=x", "--no-index", "--amend", ":(attr:x)"])
@pytest.mark.parametrize(
    ("node", "slot"),
    [
        (GitLog, "files"),
        (GitLog, "since"),
        (GitLog, "until"),
        (GitLog, "author"),
        (GitLog, "grep"),
        (GitDiff, "files"),
        (GitStatus, "path"),
        (GitLog, "path"),
        (GitCommit, "files"),
        (GitCommit, "message"),
        (GitCommit, "author"),
    ],
)
def test_no_other_value_is_an_option(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, node: type[Node], slot: str, value: str
) -> None:
    monkeypatch.chdir(repo.path)
    before = repo.git("rev-parse", "HEAD")
    params = {"message": "x", slot: value}
    try:
        asyncio.run(Step(repo.path.parent / ".pflow").run(node, **params))
    except StepError:
        pass
    assert sorted(os.listdir(repo.path)) == [".git", "a"]
    assert repo.git("rev-parse", "HEAD") == before


TRAPS = {
    "core.fsmonitor": "touch pwned; echo",
    "core.pager": "touch pwned;",
    "pager.log": "touch pwned;",
    "pager.status": "touch pwned;",
    "diff.external": "touch pwned;",
    "diff.trap.textconv": "touch pwned;",
    "diff.trap.command": "touch pwned;",
    "core.editor": "touch pwned;",
    "core.sshCommand": "touch pwned;",
    "core.askPass": "touch pwned;",
    "gpg.program": "./trap.sh",
    "log.showSignature": "true",
    "core.hooksPath": "hooks",
    "alias.status": "!touch pwned",
    "alias.log": "!touch pwned",
    "protocol.ext.allow": "always",
    "remote.origin.url": "ext::touch pwned",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "color.ui": "always",
}
"""Settings with which a repository makes git run something."""


def test_looking_at_a_repository_runs_nothing_that_it_names(repo: Repo) -> None:
    repo.write(".gitattributes", "* diff=trap\n")
    repo.write("hooks/post-index-change", "#!/bin/sh\ntouch pwned\n")
    repo.write("trap.sh", "#!/bin/sh\ntouch pwned\n")
    (repo.path / "hooks/post-index-change").chmod(0o755)
    (repo.path / "trap.sh").chmod(0o755)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message=second")
    signed = repo.git("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    sha = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repo.path,
        input=signed,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.strip()
    repo.git("update-ref", "HEAD", sha)
    for name, value in TRAPS.items():
        repo.git("config", name, value)
    repo.write("a", "changed\n")
    os.utime(repo.path / "hooks/post-index-change")
    blob = repo.git("rev-parse", "HEAD~1:a").strip()
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for node, params in (
        (GitStatus, {}),
        (GitLog, {"include_files": True}),
        (GitDiff, {}),
        (GitDiff, {"base": "HEAD~1", "target": "HEAD"}),
        (GitDiff, {"staged": True}),
    ):
        try:
            repo.run(node, **params)
        except StepError as error:
            assert "git" in error.details  # the missing blob may be an error, but nothing was fetched for it
    assert not (repo.path / "pwned").exists()


def test_the_traps_are_real(repo: Repo) -> None:
    """The same repository does run commands for a git that is not told otherwise."""
    repo.git("config", "core.fsmonitor", TRAPS["core.fsmonitor"])
    repo.git("status")
    assert (repo.path / "pwned").exists()


def test_looking_writes_nothing_into_the_repository(repo: Repo) -> None:
    index = repo.path / ".git" / "index"
    os.utime(repo.path / "a", (1, 1))
    before = index.read_bytes()
    assert repo.run(GitStatus)["clean"] is True
    assert index.read_bytes() == before
    repo.git("status")
    assert index.read_bytes() != before


def test_the_environment_of_a_hook_does_not_redirect_git(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert repo.run(GitStatus)["clean"] is True


# Parsing


@given(st.binary())
def test_any_output_parses_to_something(output: bytes) -> None:
    parse_numstat(output)
    parse_commits(output, "mark", True)


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)))
def test_untracked_names_survive(paths: list[Any]) -> None:
    output = b"".join(f"? {path}\0".encode() for path in paths)
    assert parse_status(output)["untracked"] == paths
