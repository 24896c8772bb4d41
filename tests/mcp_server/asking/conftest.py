"""Hosts for many tests: starting a server loads the SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp_server.asking.host import Host, Profile


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all tests of a module."""
    return tmp_path_factory.mktemp("asking") / ".pflow"


@pytest.fixture(scope="module")
def host_of(shared_home: Path) -> Iterator[Callable[[Profile], Host]]:
    """Gives the host with a profile, the same one to all tests of a module."""
    hosts: dict[str, Host] = {}

    def find(profile: Profile) -> Host:
        if profile.by not in hosts:
            hosts[profile.by] = Host(shared_home, profile)
        return hosts[profile.by]

    yield find
    for host in hosts.values():
        host.raw.kill()
