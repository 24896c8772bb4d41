"""The examples that choose and compute run for real: files, commands, and services on this machine."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pflow.workspace import Workspace
from tests.examples.service import Answer, serving

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "choosing"
DATA = FOLDER / "data"
DOCUMENTS = sorted(FOLDER.glob("*.yaml"))


def outputs(workspace: Workspace, name: str, **params: object) -> dict[str, Any]:
    outcome = workspace.run(str(FOLDER / name), params)
    assert outcome.status == "completed", outcome.error
    return dict(outcome.outputs)


def steps(workspace: Workspace, run: str) -> list[str]:
    shown: Any = workspace.show_run(run)["steps"]
    return [step["step"] for step in shown]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_an_example_is_valid_without_a_warning_and_needs_no_python(workspace: Workspace, path: Path) -> None:
    checked = workspace.check(str(path))
    assert [issue for issue in checked.issues if issue.severity != "notice"] == []
    assert checked.plan is not None
    assert "code" not in {node.type for node in checked.plan.nodes}


def test_the_examples_are_in_canonical_form() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pflow", "fmt", "--check", *map(str, DOCUMENTS)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_readme_lists_every_example() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.name for path in DOCUMENTS if f"[{path.name}]({path.name})" not in text] == []


# ---- ci-doctor


CAUSES = [
    ("flaky", "flaky", "Flaky: 2 tests"),
    ("dependency", "dependency", "Missing: left-padd, httpx"),
    ("disk", "disk", "The disk is full"),
    ("unknown", "else", "Unknown"),
]


@pytest.mark.parametrize(("log", "cause", "title"), CAUSES)
def test_the_doctor_finds_the_cause_in_a_log(
    workspace: Workspace, tmp_path: Path, log: str, cause: str, title: str
) -> None:
    report = tmp_path / "report.md"
    found = outputs(workspace, "ci-doctor.yaml", log=str(DATA / f"{log}.log"), report=str(report))
    assert found == {"cause": cause, "title": title, "report": str(report)}
    text = report.read_text()
    assert text.startswith(f"# {title}\n\n")
    assert "| message |\n| --- |\n" in text


def test_the_doctor_fetches_the_log_of_a_run(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh\n[ "$*" = "run view 4711 --log-failed" ] && exec cat "{DATA}/disk.log"\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", str(gh.parent), prepend=":")
    found = outputs(workspace, "ci-doctor.yaml", run="4711", report=str(tmp_path / "report.md"))
    assert found["cause"] == "disk"


def test_a_test_that_fails_again_is_not_flaky(workspace: Workspace, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("FAILED tests/a.py::test_a\nFAILED tests/b.py::test_b\nPASSED tests/a.py::test_a (retry)\n")
    assert outputs(workspace, "ci-doctor.yaml", log=str(log), report=str(tmp_path / "r.md"))["cause"] == "else"


# ---- enrich


def customers(path: Path, count: int) -> Path:
    path.write_text("id,name\n" + "".join(f'{number},"Name, {number}"\n' for number in range(1, count + 1)))
    return path


def busy(path: str, times: int) -> Answer:
    """Every seventh customer is asked for too fast at first, and every twentieth is broken."""
    number = int(path.rpartition("/")[2])
    if number % 7 == 0 and times == 1:
        return Answer(429, {"error": "slow down"}, (("Retry-After", "0"),))
    if number % 20 == 0:
        return Answer(500, {"error": "broken"})
    return Answer(200, {"city": f"City {number}", "since": 1900 + number})


def test_rows_are_enriched_and_those_that_are_lost_are_listed(workspace: Workspace, tmp_path: Path) -> None:
    table = customers(tmp_path / "customers.csv", 200)
    with serving(busy) as service:
        found = outputs(
            workspace, "enrich.yaml", customers=str(table), service=service.url, folder=str(tmp_path / "out")
        )
    assert (found["enriched"], found["lost"]) == (190, 10)
    times = {int(path.rpartition("/")[2]): count for path, count in service.asked.items()}
    assert times == {number: 3 if number % 20 == 0 else 2 if number % 7 == 0 else 1 for number in range(1, 201)}
    with (tmp_path / "out" / "enriched.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == [number for number in range(1, 201) if number % 20]
    assert rows[6] == {"id": "7", "name": "Name, 7", "city": "City 7", "since": "1907"}
    lost = (tmp_path / "out" / "lost.md").read_text().splitlines()
    assert lost[0] == "# 10 of 200 customers are missing"
    assert [line.split(" | ")[0] for line in lost[4:] if line] == [f"| {number}" for number in range(20, 201, 20)]
    assert "500" in lost[4]


def test_without_a_loss_there_is_no_report(workspace: Workspace, tmp_path: Path) -> None:
    table = customers(tmp_path / "customers.csv", 6)
    with serving(busy) as service:
        found = outputs(workspace, "enrich.yaml", customers=str(table), service=service.url, folder=str(tmp_path))
    assert found == {"enriched": 6, "lost": 0, "report": None}
    assert not (tmp_path / "lost.md").exists()


def test_more_than_a_tenth_lost_fails_the_run(workspace: Workspace, tmp_path: Path) -> None:
    table = customers(tmp_path / "customers.csv", 20)

    def down(path: str, times: int) -> Answer:
        return Answer(404, {}) if int(path.rpartition("/")[2]) > 17 else Answer(200, {"city": "x", "since": 1})

    with serving(down) as service:
        params = {"customers": str(table), "service": service.url, "folder": str(tmp_path)}
        outcome = workspace.run(str(FOLDER / "enrich.yaml"), params)
    assert outcome.error is not None
    assert (outcome.status, outcome.error["action"]) == ("failed", "resource_missing")
    assert not (tmp_path / "enriched.csv").exists()


# ---- shipping


@pytest.mark.parametrize(
    ("order", "by", "costs", "ways"),
    [
        ({"country": "DE", "total": 120, "kilos": 0.5}, "letter", 0, ["postage", "letter"]),
        ({"country": "DE", "total": 20, "kilos": 3}, "parcel", 9, ["postage", "parcel"]),
        ({"country": "FR", "total": 20, "kilos": 30}, "parcel", 24, ["customs", "parcel"]),
        ({"country": "FR", "total": 200, "kilos": 45.5}, "freight", 145, ["customs", "freight"]),
    ],
)
def test_two_choices_in_a_row_join_again(
    workspace: Workspace, order: dict[str, object], by: str, costs: int, ways: list[str]
) -> None:
    outcome = workspace.run(str(FOLDER / "shipping.yaml"), {"order": order})
    assert outcome.outputs == {"by": by, "costs": costs}
    arms = [step for step in steps(workspace, outcome.run_id) if step not in ("home", "weigh", "parts", "offer")]
    assert arms == ways


# ---- pages


@pytest.mark.parametrize("sizes", [[0], [3], [2, 2, 1], [0, 2], [1] * 12])
def test_all_pages_are_fetched(workspace: Workspace, sizes: list[int]) -> None:
    def page(path: str, times: int) -> Answer:
        number = int(path.rpartition("=")[2])
        following = f"{service.url}/list?page={number + 1}" if number + 1 < len(sizes) else None
        return Answer(200, {"items": [f"{number}-{one}" for one in range(sizes[number])], "next": following})

    with serving(page) as service:
        found = outputs(workspace, "pages.yaml", first=f"{service.url}/list?page=0")
    assert found["items"] == [f"{number}-{one}" for number, size in enumerate(sizes) for one in range(size)]
    assert service.asked == {f"/list?page={number}": 1 for number in range(len(sizes))}


def test_a_last_page_may_have_no_next_at_all(workspace: Workspace) -> None:
    with serving(lambda path, times: Answer(200, {"items": [1]})) as service:
        assert outputs(workspace, "pages.yaml", first=service.url)["items"] == [1]


# ---- poll


def job(states: list[str]) -> Any:
    def answer(path: str, times: int) -> Answer:
        if path == "/job/result":
            return Answer(200, {"answer": 42})
        return Answer(200, {"state": states[min(times, len(states)) - 1]})

    return answer


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_job_is_asked_for_until_it_is_done(workspace: Workspace, before: int) -> None:
    with serving(job(["running"] * before + ["done"])) as service:
        found = outputs(workspace, "poll.yaml", job=f"{service.url}/job", seconds=0)
    assert found == {"result": {"answer": 42}}
    assert service.asked == {"/job": before + 1, "/job/result": 1}


@pytest.mark.parametrize(
    ("states", "asked", "message", "because"),
    [
        (["queued", "running"], 5, "the job is running", "late"),
        (["queued", "failed"], 2, "the job is failed", "broken"),
    ],
)
def test_a_job_that_is_late_or_broken_is_given_up(
    workspace: Workspace, states: list[str], asked: int, message: str, because: str
) -> None:
    with serving(job(states)) as service:
        params = {"job": f"{service.url}/job", "seconds": 0, "times": 5}
        outcome = workspace.run(str(FOLDER / "poll.yaml"), params)
    assert service.asked == {"/job": asked}
    assert outcome.error is not None
    assert (outcome.status, outcome.error["type"]) == ("failed", "failed_on_purpose")
    assert (outcome.error["message"], outcome.error["details"]) == (message, {"because": because})


# ---- sales


def test_sales_are_summed_by_region_and_ranked(workspace: Workspace, tmp_path: Path) -> None:
    found = outputs(workspace, "sales.yaml", file=str(DATA / "sales.csv"), folder=str(tmp_path))
    assert found == {"report": str(tmp_path / "sales.md"), "total": 610.25}
    assert (tmp_path / "sales.csv").read_text() == (
        "region,sales,total,best\nsouth,2,390.0,desk\nnorth,2,200.0,lamp\neast,1,20.25,lamp\n"
    )
    assert "3 regions sold 610.25.\n\n| region | sales | total | best |\n" in (tmp_path / "sales.md").read_text()


def test_small_regions_are_left_out_on_request(workspace: Workspace, tmp_path: Path) -> None:
    found = outputs(workspace, "sales.yaml", file=str(DATA / "sales.csv"), folder=str(tmp_path), least=100)
    assert found["total"] == 590.0


def test_a_table_without_a_sale_fails_with_its_name(workspace: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "empty.csv"
    table.write_text("region,product,amount,status\nnorth,lamp,1,open\n")
    outcome = workspace.run(str(FOLDER / "sales.yaml"), {"file": str(table), "folder": str(tmp_path)})
    assert outcome.error is not None
    assert outcome.error["message"] == f"no row of `{table}` is paid"
    assert not (tmp_path / "sales.csv").exists()
