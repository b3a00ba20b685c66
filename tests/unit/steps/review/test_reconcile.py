from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import ChangeStatus
from service.domain.runs.states import RunState
from service.domain.values.errors import Transient
from service.domain.values.identity import ChangeKey, RunKind
from service.steps.review.reconcile import reconcile
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, Service, change_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from service.domain.review.change import Change


OLD = ChangeKey("gerrit", 5)


@pytest.fixture
def service() -> Service:
    service = Service()
    service.see(change_at(1))
    return service


def test_a_change_abandoned_without_an_event_is_found(service: Service) -> None:
    service.server.put(change_at(1, minutes=1, status=ChangeStatus.ABANDONED))

    assert service.reconcile(is_full=True) == 1
    assert service.runs() == [("patch1", RunState.CANCELLED)]
    assert service.reconcile(is_full=True) == 0


def test_a_change_merged_without_an_event_is_measured(service: Service) -> None:
    service.server.put(change_at(1, minutes=1, status=ChangeStatus.MERGED, merged_as="parent"))

    assert service.reconcile(is_full=True) == 1
    assert service.runs(RunKind.POST_SUBMIT) == [("parent", RunState.PLANNING)]


def test_a_change_open_on_both_sides_is_looked_at_once(service: Service) -> None:
    service.server.put(change_at(1, key=ChangeKey("gerrit", 8)))

    assert service.reconcile(is_full=True) == 2


def test_a_change_that_the_server_no_longer_shows_is_skipped(service: Service) -> None:
    del service.server.changes[KEY]
    service.server.put(change_at(1, key=ChangeKey("gerrit", 8)))

    assert service.reconcile(is_full=True) == 2
    assert len(service.runs()) == 2


def test_changes_of_another_server_are_not_requested(service: Service) -> None:
    service.server.instance = "elsewhere"
    service.server.changes.clear()

    assert service.reconcile(is_full=True) == 0


class TestFirstContact:
    """First contact looks at changes that moved lately; the others follow when something happens to them."""

    WEEK = timedelta(days=7)

    @pytest.fixture
    def service(self) -> Service:
        service = Service()
        service.server.put(change_at(1, updated=WRITTEN - timedelta(days=6)))
        service.server.put(change_at(1, key=OLD, updated=WRITTEN - timedelta(days=8)))
        return service

    def reconcile(self, service: Service, lookback: timedelta | None = WEEK) -> int | None:
        return reconcile(service.store, service.server, is_full=True, lookback=lookback)

    def test_it_leaves_out_changes_that_did_not_move_lately(self, service: Service) -> None:
        assert self.reconcile(service) == 1
        assert [event.change for event in service.store.memory.events] == [KEY.number]
        assert self.reconcile(service) == 1

    def test_a_change_that_moves_later_is_looked_at(self, service: Service) -> None:
        self.reconcile(service)
        service.server.put(change_at(1, key=OLD, updated=WRITTEN + timedelta(minutes=1)))

        assert self.reconcile(service) == 2

    def test_all_changes_are_looked_at_on_demand_and_followed_from_then_on(self, service: Service) -> None:
        self.reconcile(service)
        assert service.reconcile(is_full=True) == 2
        assert self.reconcile(service) == 2

    def test_an_old_change_that_stays_as_it_is_remains_one_event(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each event is a stored row, and full reconciliations go on for ever."""
        service.reconcile(is_full=True)
        events = len(service.store.memory.events)
        for minutes in (30, 60):
            later = WRITTEN + timedelta(minutes=minutes)
            monkeypatch.setattr(service.server, "now", lambda moment=later: moment)
            self.reconcile(service)

        assert len(service.store.memory.events) == events


class TestPosition:
    """The position up to which the server was read, by its own clock."""

    def test_the_first_contact_looks_at_everything(self, service: Service) -> None:
        assert service.store.memory.sync_cursors == {}
        assert service.reconcile() == 1
        assert service.store.memory.sync_cursors["gerrit"].first_contact == WRITTEN

    def test_later_only_updated_changes_are_looked_at(self, service: Service) -> None:
        service.reconcile()
        assert service.reconcile() == 0
        service.server.put(change_at(2, updated=WRITTEN + timedelta(minutes=1)))
        assert service.reconcile() == 1
        assert service.runs()[-1] == ("patch2", RunState.PLANNING)

    def test_an_update_that_the_server_shows_late_is_found(self, service: Service) -> None:
        service.reconcile()
        service.server.put(change_at(2, updated=WRITTEN - timedelta(minutes=4)))
        assert service.reconcile() == 1

    def test_a_full_reconciliation_also_finds_closed_changes(self, service: Service) -> None:
        """A change may be created and merged between two reconciliations."""
        service.reconcile()
        merged = change_at(
            1,
            key=ChangeKey("gerrit", 9),
            updated=WRITTEN + timedelta(minutes=1),
            status=ChangeStatus.MERGED,
            merged_as="parent",
            submitted=WRITTEN + timedelta(minutes=1),
        )
        service.server.put(merged)
        service.server.put(change_at(2, updated=WRITTEN + timedelta(hours=1)))
        service.reconcile(is_full=True)
        assert service.runs(RunKind.POST_SUBMIT) == [("parent", RunState.PLANNING)]

    def test_it_moves_only_with_the_queued_tasks(self, service: Service) -> None:
        service.reconcile()
        service.server.put(change_at(2, updated=WRITTEN + timedelta(minutes=1)))
        before = service.store.memory.sync_cursors["gerrit"]
        service.server.changes_since = broken_at_the_last_page  # type: ignore[method-assign, assignment]
        with pytest.raises(Transient):
            service.reconcile()

        assert service.store.memory.sync_cursors["gerrit"] == before


def broken_at_the_last_page(moment: datetime | None) -> Iterator[Change]:
    yield change_at(2, updated=WRITTEN + timedelta(hours=1))
    raise Transient("502")
