"""Places that no step may read, whatever a document says, and what opens them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pflow.core.errors import SecurityError
from pflow.core.file.home import Home
from pflow.execution.outcome import Outcome
from pflow.nodes.file.protected_place import CREDENTIALS, MOVED
from pflow.workspace import Workspace

CANARY = "canary-5c1f0e7a"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; `~` is its parent."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def workspace(work: Path, home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as workspace:
        yield workspace


def run(workspace: Workspace, kind: str, **params: object) -> Outcome:
    given = {name.removesuffix("_"): value for name, value in params.items()}
    return workspace.run({"nodes": [{"id": "step", "type": kind, "params": given}]})


def assert_refused(outcome: Outcome) -> Mapping[str, object]:
    assert not outcome.success
    error = outcome.error or {}
    assert error["type"] == "security", error
    assert outcome.exit_code == 3
    assert CANARY not in str(outcome.envelope())
    return error


def plant(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CANARY)
    return path


def test_every_credential_of_the_table_is_neither_read_nor_copied_nor_moved_nor_changed(
    workspace: Workspace, tmp_path: Path
) -> None:
    for name in (name for names in CREDENTIALS.values() for name in names):
        file = plant(tmp_path / name)
        for path in (str(file), f"~/{name}"):
            assert_refused(run(workspace, "read-file", path=path))
        for kind in ("copy-file", "move-file"):
            assert_refused(run(workspace, kind, from_=str(file), to="mine"))
        assert_refused(run(workspace, "write-file", path=str(file), content="x"))
        assert file.read_text() == CANARY
        file.unlink()


@pytest.mark.parametrize("name", [".ssh", ".aws", ".gnupg", ".kube", ".config/gh"])
def test_all_that_is_in_a_directory_of_credentials_is_refused(workspace: Workspace, tmp_path: Path, name: str) -> None:
    file = plant(tmp_path / name / "deep/er/file")
    assert_refused(run(workspace, "read-file", path=str(file)))
    assert_refused(run(workspace, "list-files", path=str(tmp_path / name)))
    assert_refused(run(workspace, "list-files", path=str(file.parent)))


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/thread-self/environ",
        "/proc/self/mem",
        "/proc/1/cmdline",
        "/proc/self/maps",
        "/proc/kcore",
        "/proc/../proc/self/environ",
        "/dev/mem",
        "/dev/fd/0",
        "/dev/../proc/self/environ",
        "/sys/kernel/notes",
        "/etc/shadow",
        "/etc/ssh/ssh_host_ed25519_key",
        "/run/secrets/token",
    ],
)
def test_what_the_kernel_and_the_system_keep_is_refused(workspace: Workspace, path: str) -> None:
    assert_refused(run(workspace, "read-file", path=path))
    assert_refused(run(workspace, "copy-file", from_=path, to="mine"))


@pytest.mark.parametrize("through", ["/proc/self/root", "/proc/self/cwd/..", "/proc/thread-self/root"])
def test_detours_over_the_kernels_links_end_at_the_same_refusal(
    workspace: Workspace, tmp_path: Path, through: str
) -> None:
    file = plant(tmp_path / ".ssh/id_rsa")
    path = f"{through}{file}" if through.endswith("root") else f"{through}/.ssh/id_rsa"
    assert Path(path).read_text() == CANARY
    assert_refused(run(workspace, "read-file", path=path))


def test_an_open_descriptor_is_not_a_detour(workspace: Workspace, tmp_path: Path) -> None:
    assert_refused(run(workspace, "read-file", path=f"/proc/self/task/{os.getpid()}/environ"))
    with plant(tmp_path / ".ssh/id_rsa").open() as file:
        assert_refused(run(workspace, "read-file", path=f"/proc/self/fd/{file.fileno()}"))
        assert_refused(run(workspace, "read-file", path=f"/dev/fd/{file.fileno()}"))


def test_what_the_kernel_says_about_the_machine_is_read(workspace: Workspace) -> None:
    assert run(workspace, "read-file", path="/proc/meminfo").success


def test_links_and_hard_links_to_a_credential_are_refused(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    key = plant(tmp_path / ".ssh/deep/id_rsa")
    plant(tmp_path / ".netrc")
    (work / "file").symlink_to(key)
    (work / "folder").symlink_to(tmp_path / ".ssh")
    (work / "twice").symlink_to("folder")
    os.link(key, work / "hard")
    os.link(tmp_path / ".netrc", work / "hard-file")
    for path in (
        "file",
        "folder/deep/id_rsa",
        "twice/deep/id_rsa",
        "hard",
        "hard-file",
        "../" + work.name + "/../.netrc",
    ):
        assert_refused(run(workspace, "read-file", path=path))
        assert_refused(run(workspace, "copy-file", from_=path, to="mine"))
        assert_refused(run(workspace, "move-file", from_=path, to="mine"))
    assert not (work / "mine").exists()


def test_a_hard_link_to_an_ordinary_file_is_read(workspace: Workspace, work: Path) -> None:
    (work / "a").write_text("x")
    os.link(work / "a", work / "b")
    assert run(workspace, "read-file", path="b").success


def test_what_a_link_in_a_protected_place_leads_to_is_protected(workspace: Workspace, tmp_path: Path) -> None:
    elsewhere = plant(tmp_path / "data/keys/id_rsa")
    (tmp_path / ".ssh").symlink_to(elsewhere.parent)
    (tmp_path / ".netrc").symlink_to(plant(tmp_path / "data/logins"))
    assert_refused(run(workspace, "read-file", path=str(elsewhere)))
    assert_refused(run(workspace, "read-file", path=str(tmp_path / "data/logins")))


@pytest.mark.parametrize("variable", sorted(MOVED))
def test_credentials_that_a_variable_moves_elsewhere_are_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    assert_refused(run(workspace, "read-file", path=str(plant(tmp_path / "moved" / MOVED[variable][0]))))


def test_another_config_home_and_a_list_of_clusters_are_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/one:{tmp_path}/two")
    for name in ("settings/gh/hosts.yml", "two"):
        assert_refused(run(workspace, "read-file", path=str(plant(tmp_path / name))))


def test_a_variable_that_names_the_whole_home_closes_nothing_else(
    workspace: Workspace, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (("GNUPGHOME", str(tmp_path)), ("AZURE_CONFIG_DIR", "/"), ("GH_CONFIG_DIR", "relative")):
        monkeypatch.setenv(variable, value)
    assert run(workspace, "read-file", path=str(plant(work / "file"))).success


def test_steps_are_not_told_where_pflow_keeps_its_files(workspace: Workspace) -> None:
    shell = run(workspace, "shell", command='echo "[$PFLOW_HOME]"')
    assert str(shell.outputs["stdout"]).strip() == "[]"
    code = run(workspace, "code", code="import os\nresult = os.environ.get('PFLOW_HOME')")
    assert code.outputs["result"] is None


@pytest.mark.parametrize(
    "path", ["/home/somebody/.ssh/id_rsa", "/home/other/.aws/credentials", "/Users/x/.pflow/runs.db"]
)
def test_the_credentials_of_other_users_are_refused(workspace: Workspace, path: str) -> None:
    assert_refused(run(workspace, "read-file", path=path))


@pytest.mark.parametrize(
    "name",
    [
        *("settings.json", "settings.json.corrupt-20261116-010101", ".settings.json.lock", "mcp-tokens.json"),
        *("mcp-servers.json", "runs.db", "runs.db-wal", "runs.db.corrupt-20261116-010101", "registry.json"),
        *(".settings.json.0123456789abcdef.tmp", "debug/workflow-trace-x.json", "nodes/own.py"),
    ],
)
def test_pflows_own_files_are_refused_with_their_copies(workspace: Workspace, home: Path, name: str) -> None:
    workspace.set_setting("trace.keep_days", "9")
    file = home / name
    if not file.exists():
        plant(file)
    assert_refused(run(workspace, "read-file", path=str(file)))
    assert_refused(run(workspace, "copy-file", from_=str(file), to="mine"))
    assert_refused(run(workspace, "list-files", path=str(file.parent)))


def test_results_that_were_handed_out_as_files_and_saved_workflows_are_read(workspace: Workspace, home: Path) -> None:
    for name in ("runs/r1/http-abc", "workflows/mine.json", "temp-workflows/draft.json"):
        file = plant(home / name)
        assert run(workspace, "read-file", path=str(file)).success


def test_shell_start_up_files_and_git_settings_of_the_person_are_read(workspace: Workspace, tmp_path: Path) -> None:
    for name in (".bashrc", ".profile", ".gitconfig", ".config/systemd/x", ".config/fish/config.fish"):
        assert run(workspace, "read-file", path=str(plant(tmp_path / name))).success


def test_the_settings_of_a_repository_are_not_read(workspace: Workspace, work: Path) -> None:
    for name in (".git/config", ".git/modules/x/config", ".GIT/config.worktree"):
        plant(work / name)
        assert_refused(run(workspace, "read-file", path=name))
    assert run(workspace, "read-file", path=str(plant(work / ".git/HEAD"))).success
    assert run(workspace, "read-file", path=str(plant(work / "config"))).success


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="the folders are those of Linux")
def test_what_is_protected_elsewhere_is_protected_in_memory(workspace: Workspace, work: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as memory:
        settings, notes = plant(Path(memory, ".git/config")), plant(Path(memory, "notes"))
        assert_refused(run(workspace, "read-file", path=str(settings)))
        assert run(workspace, "read-file", path=str(notes)).success


def test_a_list_leaves_protected_directories_out(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    plant(tmp_path / ".ssh/id_rsa")
    plant(tmp_path / "Library/Keychains/login")
    plant(tmp_path / "Library/Books/one")
    (tmp_path / "link").symlink_to(tmp_path / ".ssh")
    for pattern in (".ssh/*", "**", "link/*", "*/*/*", ".*/*"):
        outcome = run(workspace, "list-files", path="~", pattern=pattern)
        assert outcome.success
        assert "id_rsa" not in str(outcome.outputs)
        assert "login" not in str(outcome.outputs)


@pytest.mark.parametrize("entry", ["~/.kube/config", "~/.kube", "~/.k*/config", "/nothing, ~/.kube/*", "~/link"])
def test_the_setting_opens_a_place_for_reading_and_not_for_writing(
    workspace: Workspace, tmp_path: Path, entry: str
) -> None:
    file = plant(tmp_path / ".kube/config")
    (tmp_path / "link").symlink_to(file)
    other = plant(tmp_path / ".ssh/config")
    workspace.set_setting("files.allow_read", entry)
    with Workspace(workspace.home) as afresh:
        outcome = run(afresh, "read-file", path=str(file))
        assert outcome.success
        assert outcome.outputs["content"] == CANARY
        assert_refused(run(afresh, "read-file", path=str(other)))
        assert_refused(run(afresh, "write-file", path=str(file), content="x"))


@pytest.mark.parametrize("entry", ["/", "/*", "~/.pflow", "/proc", "/proc/self/environ"])
def test_no_setting_opens_pflows_own_files_or_processes(workspace: Workspace, home: Path, entry: str) -> None:
    workspace.set_setting("SERVICE_TOKEN", CANARY)
    workspace.set_setting("files.allow_read", entry)
    with Workspace(workspace.home) as afresh:
        assert_refused(run(afresh, "read-file", path=str(home / "settings.json")))
        assert_refused(run(afresh, "read-file", path="/proc/self/environ"))


@pytest.mark.parametrize("entry", ["relative", "~/.kube/../.ssh", "."])
def test_an_entry_that_is_not_an_absolute_path_opens_nothing(workspace: Workspace, tmp_path: Path, entry: str) -> None:
    file = plant(tmp_path / ".ssh/config")
    workspace.set_setting("files.allow_read", entry)
    with Workspace(workspace.home) as afresh:
        assert "files.allow_read" in str(assert_refused(run(afresh, "read-file", path=str(file)))["message"])


def test_a_refusal_names_the_setting_with_the_place(workspace: Workspace, tmp_path: Path) -> None:
    plant(tmp_path / ".aws/credentials")
    error = assert_refused(run(workspace, "read-file", path="~/.aws/credentials"))
    assert error["suggestions"] == ["pflow settings set files.allow_read ~/.aws"]


@pytest.mark.parametrize("name", [".aws/credentials", ".ssh/id_rsa", ".pflow/mcp-tokens.json"])
def test_a_document_cannot_show_a_key_by_including_it_as_a_workflow(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    plant(tmp_path / name)
    with pytest.raises(SecurityError) as caught:
        workspace.check(str(tmp_path / name))
    assert CANARY not in str(caught.value)
    outer = {"nodes": [{"id": "w", "type": "workflow", "params": {"workflow": f"~/{name}"}}]}
    (issue,) = workspace.check(outer).issues
    assert "refused to read the workflow" in issue.message
    assert CANARY not in str(issue)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_nodes_do_not_look_into_protected_places(workspace: Workspace, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / ".ssh")], check=True)
    for kind in ("git-status", "git-log", "git-diff"):
        assert_refused(run(workspace, kind, path="~/.ssh"))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_difference_does_not_show_the_credentials_of_a_home_under_version_control(
    workspace: Workspace, tmp_path: Path
) -> None:
    for argv in (["init", "--quiet"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        subprocess.run(["git", *argv], cwd=tmp_path, check=True)
    key, notes = plant(tmp_path / ".ssh/id_rsa"), plant(tmp_path / "notes")
    subprocess.run(["git", "add", ".ssh", "notes"], cwd=tmp_path, check=True)
    subprocess.run(["git", "commit", "--quiet", "--message=first"], cwd=tmp_path, check=True)
    for file in (key, notes):
        file.write_text("another")
    assert_refused(run(workspace, "git-diff", path="~"))
    assert_refused(run(workspace, "git-diff", path=".", base="HEAD"))
    assert run(workspace, "git-diff", path="~", files=["notes"]).success


@contextmanager
def mounted(place: Path, *argv: str) -> Iterator[None]:
    place.mkdir()
    if subprocess.run(["mount", *argv, str(place)], capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no `mount`")
def test_a_protected_directory_that_is_mounted_elsewhere_is_known_again(
    workspace: Workspace, work: Path, tmp_path: Path
) -> None:
    plant(tmp_path / ".ssh/id_rsa")
    with mounted(work / "keys", "--bind", str(tmp_path / ".ssh")):
        assert_refused(run(workspace, "read-file", path="keys/id_rsa"))
        assert_refused(run(workspace, "write-file", path="keys/authorized_keys", content="x"))
        assert_refused(run(workspace, "delete-file", path="keys/id_rsa"))
        assert_refused(run(workspace, "list-files", path="keys"))
    with mounted(work / "processes", "-t", "proc", "proc"):
        assert_refused(run(workspace, "read-file", path=f"processes/{os.getpid()}/environ"))
        assert_refused(run(workspace, "copy-file", from_="processes/self/environ", to="mine"))
