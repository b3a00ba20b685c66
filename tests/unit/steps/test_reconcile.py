from __future__ import annotations

import pytest

from service.domain.identity import ChangeKey, RunKind
from service.domain.review import ChangeStatus
from service.domain.run import RunState
from service.steps.reconcile import reconcile
from tests.support.changes import KEY, Service, change_at
from tests.support.memory import NOW


@pytest.fixture
def service() -> Service:
    service = Service()
    service.see(change_at(1))
    return service


def test_a_change_that_was_abandoned_unheard_is_found(service: Service) -> None:
    service.server.put(change_at(1, minutes=1, status=ChangeStatus.ABANDONED))

    assert reconcile(service.store, service.server, None) == 1
    assert service.runs() == [("patch1", RunState.CANCELLED)]
    assert reconcile(service.store, service.server, None) == 0


def test_a_change_that_was_merged_unheard_is_measured(service: Service) -> None:
    service.server.put(change_at(1, minutes=1, status=ChangeStatus.MERGED, merged_as="parent"))

    assert reconcile(service.store, service.server, None) == 1
    assert service.runs(RunKind.POST_SUBMIT) == [("parent", RunState.PLANNING)]


def test_a_change_that_is_open_there_and_here_is_looked_at_once(service: Service) -> None:
    service.server.put(change_at(1, key=ChangeKey("gerrit", 8)))

    assert reconcile(service.store, service.server, None) == 2


def test_a_change_that_the_server_no_longer_shows_stops_nothing(service: Service) -> None:
    del service.server.changes[KEY]
    service.server.put(change_at(1, key=ChangeKey("gerrit", 8)))

    assert reconcile(service.store, service.server, None) == 2
    assert len(service.runs()) == 2


def test_changes_of_another_server_are_not_asked_for(service: Service) -> None:
    service.server.instance = "elsewhere"
    service.server.changes.clear()

    assert reconcile(service.store, service.server, None) == 0


def test_with_a_moment_only_later_changes_are_looked_at(service: Service) -> None:
    assert reconcile(service.store, service.server, change_at(2).updated) == 0
    assert reconcile(service.store, service.server, NOW) == 1
