"""A plugin of pytest that collects the tests of workflows. Every pytest loads it, so that it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Tests of a file whose name says that it holds some."""
    if not file_path.name.endswith((".test.yaml", ".test.yml", ".test.json")):
        return None
    from pflow.pytest_suite import SuiteFile  # lazy: most projects have no such files

    return SuiteFile.from_parent(parent, path=file_path)
