from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey
from service.domain.wording.health import QUESTION_REJECTED
from service.steps.review.look_at_change import look_at_change
from service.steps.review.record_visibility import BATCH, record_all
from tests.support.fakes import FakeReviewServer
from tests.support.review.changes import KEY, Service, change_at

if TYPE_CHECKING:
    from collections.abc import Mapping


def silent_server() -> FakeReviewServer:
    """Make a server that does not say what it shows without sign-in."""
    return FakeReviewServer(faults=dict.fromkeys(("visible", "can_read"), Transient("Gerrit answers 502")))


class Picky(FakeReviewServer):
    """A server that fails on some branches, and keeps those that it was asked about."""

    def __init__(self, failures: Mapping[str, Exception]) -> None:
        super().__init__()
        self.failures = failures
        self.branches: list[str] = []

    def can_read(self, account: str | None, project: str, branch: str) -> bool:
        self.branches.append(branch)
        if branch in self.failures:
            raise self.failures[branch]
        return super().can_read(account, project, branch)


@pytest.fixture
def service() -> Service:
    return Service()


def numbers(service: Service) -> set[int]:
    return {key.number for key in service.store.memory.public}


def test_a_change_that_everybody_sees_is_public_at_once(service: Service) -> None:
    service.see(change_at(1))
    assert numbers(service) == {7}
    assert service.server.asked == [(None, frozenset({7}))]


def test_a_public_change_is_asked_about_once(service: Service) -> None:
    service.see(change_at(1))
    service.see(change_at(2))
    assert len(service.server.asked) == 1


def test_a_change_that_only_its_people_see_is_not_public(service: Service) -> None:
    service.server.viewers[7] = {"alice"}
    service.see(change_at(1))
    assert numbers(service) == set()


def test_a_private_change_is_not_asked_about(service: Service) -> None:
    service.see(change_at(1))
    service.see(change_at(1, minutes=1, is_private=True))
    assert numbers(service) == set()
    assert len(service.server.asked) == 1


def test_a_change_that_benchgate_no_longer_sees_is_hidden(service: Service) -> None:
    service.see(change_at(1))
    del service.server.changes[KEY]
    look_at_change(service.store, service.server, KEY)
    assert numbers(service) == set()


def test_a_server_that_does_not_answer_delays_no_run() -> None:
    service = Service(server=silent_server())
    service.see(change_at(1))
    assert len(service.runs()) == 1
    record_all(service.store, service.server)
    assert numbers(service) == set()


def test_a_server_that_does_not_answer_leaves_public_what_was(service: Service) -> None:
    service.see(change_at(1))
    assert record_all(service.store, silent_server()) == "Gerrit answers 502"
    assert numbers(service) == {7}


def on_branches(failures: Mapping[str, Exception]) -> tuple[Service, Picky]:
    """An upgraded database with a change on each of six branches."""
    server = Picky(failures)
    service = Service(server=server)
    for number in range(1, 7):
        service.see(change_at(1, key=ChangeKey("gerrit", number), branch=f"b{number}"))
    service.store.memory.public.clear()
    service.store.memory.public_branches.clear()
    server.branches.clear()
    return service, server


@pytest.mark.parametrize("error", [Permanent("b2 is not a branch"), Transient("Gerrit answers 500")])
def test_a_branch_that_fails_keeps_no_other_from_being_public(error: Exception) -> None:
    service, server = on_branches({"b2": error, "b5": error})
    record_all(service.store, server)
    assert numbers(service) == {1, 3, 4, 6}


def test_a_rejected_question_is_trouble_that_names_no_branch() -> None:
    service, server = on_branches({"b2": Permanent("b2 is not a branch")})
    assert record_all(service.store, server) == QUESTION_REJECTED


def test_an_unreachable_server_is_not_asked_about_each_branch() -> None:
    service, server = on_branches({f"b{number}": Transient("down") for number in range(2, 7)})
    assert record_all(service.store, server) == "down"
    assert server.branches == ["b1", "b2", "b3", "b4"]


def test_a_server_that_answers_is_no_trouble(service: Service) -> None:
    service.see(change_at(1))
    assert record_all(service.store, service.server) == ""


def test_a_closed_project_disappears_and_returns(service: Service) -> None:
    service.see(change_at(1))
    service.see(change_at(1, key=ChangeKey("gerrit", 8), branch="stable"))
    service.server.viewers[7] = {"alice"}
    record_all(service.store, service.server)
    assert numbers(service) == {8}
    service.server.viewers.clear()
    record_all(service.store, service.server)
    assert numbers(service) == {7, 8}


def test_earlier_changes_are_asked_about_in_batches(service: Service) -> None:
    """An upgraded database knows no answer."""
    service.server.viewers = {number: {"alice"} for number in (3, 4)}
    for number in range(1, 2 * BATCH + 2):
        service.see(change_at(1, key=ChangeKey("gerrit", number)))
    service.store.memory.public.clear()
    service.store.memory.public_branches.clear()
    service.server.asked.clear()
    record_all(service.store, service.server)
    assert numbers(service) == set(range(1, 2 * BATCH + 2)) - {3, 4}
    assert [len(asked) for _, asked in service.server.asked] == [BATCH, BATCH, 1]
