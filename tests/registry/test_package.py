"""Nodes of installed packages: found without importing them, imported only when they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from pflow.core.file.home import Home
from pflow.registry.registry import Registry
from pflow.workspace.workspace import Workspace

NODES = '''
import sys
from typing import TypedDict

import pflow
from pocketflow import Node

sys.stderr.write("imported\\n")

class Forecast(TypedDict):
    city: str
    degrees: float

@pflow.node(version="1")
def forecast(city: str, days: int = 1) -> Forecast:
    """The weather of a city."""
    return {"city": city, "degrees": 20.5 * days}

class Rain(Node):
    """Make rain.

    Interface:
    - Writes: shared["wet"]: bool
    """

    def post(self, shared, prep_res, exec_res):
        shared["wet"] = True
'''


class Packages:
    """A directory that packages are installed in, and a command line that has it on its path."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = Home(home)
        folder.mkdir()

    def install(self, name: str, points: str, version: str = "1.0", **modules: str) -> None:
        """A package as an installer leaves it; `points` are the lines of its entry points."""
        package = self.folder / name
        package.mkdir(exist_ok=True)
        for module, source in {"__init__": "", **modules}.items():
            (package / f"{module}.py").write_text(source)
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(
            f"[console_scripts]\nx = y:z\n\n[pflow.nodes]\n{points}\n\n[other]\na = b\n"
        )

    def pflow(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "PFLOW_HOME": str(self.home.root), "PYTHONPATH": str(self.folder)}
        command = [sys.executable, "-m", "pflow", *words]
        return subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def packages(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    made = Packages(tmp_path / "installed", home)
    monkeypatch.setenv("PYTHONPATH", str(made.folder))
    monkeypatch.syspath_prepend(str(made.folder))
    return made


def test_a_node_of_a_package_is_described_without_importing_it_and_runs(packages: Packages) -> None:
    packages.install("sky", "forecast = sky.nodes:forecast\nmake-rain = sky.nodes:Rain", nodes=NODES)
    described = packages.pflow("registry", "describe", "forecast")
    assert "imported" not in described.stderr
    assert "The weather of a city." in described.stdout
    assert "from package `sky 1.0`" in described.stdout
    checked = packages.pflow("registry", "run", "forecast", "town=Rome")
    assert checked.returncode == 2
    assert "imported" not in checked.stderr
    ran = packages.pflow("registry", "run", "forecast", "city=Rome", "days=2")
    assert orjson.loads(ran.stdout) == {"city": "Rome", "degrees": 41.0}, ran.stderr
    assert ran.stderr.count("imported") == 1
    assert orjson.loads(packages.pflow("registry", "run", "make-rain").stdout) == {"wet": True}


def test_a_package_that_pip_installed_brings_its_nodes(packages: Packages, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src" / "sky").mkdir(parents=True)
    (project / "src" / "sky" / "__init__.py").write_text("from sky.nodes import forecast as forecast\n")
    (project / "src" / "sky" / "nodes.py").write_text(NODES)
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "sky-nodes"\nversion = "2.1"\n'
        '[project.entry-points."pflow.nodes"]\nforecast = "sky:forecast"\n'
        '[tool.hatch.build.targets.wheel]\npackages = ["src/sky"]\n'
    )
    install = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--quiet"]
    done = subprocess.run(
        [*install, "--target", str(packages.folder), str(project)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot build here: {done.stderr[-200:]}")
    ran = packages.pflow("registry", "run", "forecast", "city=Oslo")
    assert orjson.loads(ran.stdout) == {"city": "Oslo", "degrees": 20.5}, ran.stderr
    assert "sky-nodes 2.1" in packages.pflow("registry", "describe", "forecast").stdout


def test_a_module_as_an_entry_point_brings_all_its_nodes_by_their_own_names(packages: Packages) -> None:
    packages.install("sky", "all = sky.nodes", nodes=NODES)
    registry = Registry.load(packages.home)
    assert {"forecast", "rain"} <= set(registry.names())
    assert registry.get("forecast").node_hash == "forecast@1"


def test_installing_upgrading_and_removing_a_package_is_noticed(packages: Packages) -> None:
    assert "forecast" not in Registry.load(packages.home)
    packages.install("sky", "forecast = sky.nodes:forecast", nodes=NODES)
    first = Registry.load(packages.home)
    assert first.get("forecast").package == "sky 1.0"
    nodes = packages.folder / "sky" / "nodes.py"
    nodes.write_text(NODES.replace("days: int", "hours: int"))
    assert first.afresh().get("forecast").interface.param("hours") is not None
    (packages.folder / "sky-1.0.dist-info" / "entry_points.txt").unlink()
    assert "forecast" not in Registry.load(packages.home)


def test_a_package_cannot_take_a_built_in_name_or_that_of_a_persons_own_node(packages: Packages) -> None:
    packages.home.nodes.mkdir(parents=True, mode=0o700)
    (packages.home.nodes / "own.py").write_text("import pflow\n@pflow.node\ndef forecast(place):\n    return place\n")
    packages.install("sky", "forecast = sky.nodes:forecast\nshell = sky.nodes:Rain", nodes=NODES)
    registry = Registry.load(packages.home)
    assert registry.notices == [
        "package `sky 1.0`: node type `forecast` is left out; `own.py` has that name",
        "package `sky 1.0`: node type `shell` is left out; a built-in node has that name",
    ]
    assert registry.get("forecast").interface.param("place") is not None


def test_a_name_that_two_packages_have_is_refused_with_both(packages: Packages) -> None:
    packages.install("sky", "forecast = sky.nodes:forecast", nodes=NODES)
    packages.install("air", "forecast = air.nodes:forecast", nodes=NODES)
    with Workspace(packages.home) as workspace:
        (issue,) = workspace.check({"nodes": [{"id": "f", "type": "forecast", "params": {"city": "x"}}]}).issues
    assert issue.code == "unknown-type"
    assert issue.message == "node type `forecast` is in several packages: `air 1.0` and `sky 1.0`"


def test_entry_points_that_cannot_be_used_are_notices(packages: Packages) -> None:
    packages.install(
        "sky",
        "gone = sky.missing:node\nno-such = sky.nodes:nothing\nBad Name = sky.nodes:forecast\n"
        "bAd = sky.nodes:forecast\n"
        "broken = sky.broken:node\nother = nowhere.at.all:node\nplain = sky.plain:node",
        nodes=NODES,
        broken="def node(:",
        plain="def node(): ...",
    )
    registry = Registry.load(packages.home)
    left_out = [notice.partition("is left out; ")[2] for notice in registry.notices]
    assert left_out == [
        "the source of module `sky.missing` was not found",
        "no class or `@pflow.node` function `nothing` was found in `sky.nodes`",
        "a node type's name has only a-z, 0-9 and -",
        "a node type's name has only a-z, 0-9 and -",
        "`broken.py` line 1: invalid syntax",
        "the source of module `nowhere.at.all` was not found",
        "no class or `@pflow.node` function `node` was found in `sky.plain`",
    ]


def test_a_package_that_fails_to_import_fails_its_step_and_nothing_else(packages: Packages) -> None:
    packages.install("sky", "forecast = sky.nodes:forecast", nodes="raise SystemExit(7)\n" + NODES)
    assert packages.pflow("registry", "run", "echo", "a=1").returncode == 0
    ran = packages.pflow("registry", "run", "forecast", "city=Rome", "--json")
    error = orjson.loads(ran.stdout)["error"]
    assert error["message"] == "node type `forecast` cannot be loaded from `package sky 1.0`: SystemExit: 7"


def test_metadata_in_the_current_directory_is_not_read(packages: Packages, tmp_path: Path) -> None:
    hostile = Packages(tmp_path / "cloned", packages.home.root)
    hostile.install("evil", "forecast = evil.nodes:forecast", nodes=NODES)
    listed = packages.pflow("registry", "describe", "forecast", cwd=hostile.folder)
    assert listed.returncode == 2
    assert "there is no node type `forecast`" in listed.stderr


def test_a_changed_registry_file_cannot_name_code_that_no_package_declares(packages: Packages) -> None:
    packages.install("sky", "forecast = sky.nodes:forecast", nodes=NODES)
    quiet = packages.folder  # nobody else writes there: a directory that changes is scanned again
    packages.pflow("registry", "list", cwd=quiet)
    content = orjson.loads(packages.home.registry.read_bytes())
    content["forecast"] |= {"module": "os", "function": "abort"}
    packages.home.registry.write_bytes(orjson.dumps(content))
    ran = packages.pflow("registry", "run", "forecast", "city=x", cwd=quiet)
    assert "points outside of pflow" in ran.stderr
