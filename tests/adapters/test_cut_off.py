"""A driver whose database is cut off while it takes up a run leaves that run to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.adapters.postgres.journal import PostgresJournal
from pflow.adapters.postgres.roster import Roster
from pflow.core.errors import StorageError
from pflow.core.file.home import Home
from pflow.core.setting.place import Place
from pflow.workspace import Workspace
from tests.adapters.relay import Relay
from tests.cluster import Server

pytestmark = pytest.mark.needs("postgres")

DOCUMENT = {
    "nodes": [
        {"id": "ok", "type": "ask", "params": {"prompt": "go on?", "choices": ["yes", "no"]}},
        {"id": "last", "type": "echo", "params": {"said": "done"}},
    ]
}


class CutAfterClaim(PostgresJournal):
    """A journal whose connection is cut, once, after the next claim, and cannot be made again if it `is_away_then`."""

    relay: Relay | None = None
    is_away_then = False

    def claim(self, run_id: str, ticket: int = 0) -> int:
        following = super().claim(run_id, ticket)
        if self.relay is not None:
            self.relay.is_away = self.is_away_then
            self.relay.cut, self.relay = "request", None
        return following


def test_a_run_whose_journal_is_cut_off_after_the_claim_still_waits_for_a_driver(
    postgres: Server, a_place: Place, home: Path
) -> None:
    assert a_place.journal is not None
    with Relay(postgres.postgres.port) as relay:
        place = a_place._replace(journal=a_place.journal._replace(port=relay.port))
        journal = CutAfterClaim(postgres.database(place))
        with Workspace(Home(home), journal=journal, driven=True) as workspace:
            asked = workspace.run(DOCUMENT)
            workspace.answer(asked.run_id, asked.open_waits[0].place, "yes")
            journal.relay = relay
            with pytest.raises(StorageError):
                workspace.resume(asked.run_id)
            assert relay.cuts == 1
            assert workspace.driving.info(asked.run_id).status == "waiting"
            assert [info.run_id for info in workspace.driving.due(0.0)] == [asked.run_id]
            assert workspace.resume(asked.run_id).status == "completed"
        journal.close()


def test_a_process_that_lives_on_keeps_no_run_that_it_could_not_change(
    postgres: Server, a_place: Place, home: Path
) -> None:
    assert a_place.journal is not None
    with Relay(postgres.postgres.port) as relay:
        place = a_place._replace(journal=a_place.journal._replace(port=relay.port))
        journal = CutAfterClaim(postgres.database(place))
        journal.is_away_then = True
        with Workspace(Home(home)) as workspace:
            workspace.set_setting("on.test.journal", str(a_place.journal))
        with Workspace(Home(home), journal=journal, roster=Roster(journal.database), on="test") as workspace:
            asked = workspace.run(DOCUMENT)
            journal.relay = relay
            with pytest.raises(StorageError):
                workspace.cancel(asked.run_id)
            relay.is_away = False
            assert workspace.driving.info(asked.run_id).state == "waiting"
            other = postgres.journal(a_place)
            assert other.claim(asked.run_id) == other.info(asked.run_id).events
            other.close()
            assert workspace.cancel(asked.run_id) == "cancelled"
        journal.close()
