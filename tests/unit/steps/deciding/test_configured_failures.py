"""Configured patterns over the log of a failed build."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from service.domain.decision.machine_report import MachineReport
from service.domain.decision.vote import Outcome
from service.domain.errors import NotFound, Transient
from service.domain.failures.configured import ConfiguredPatterns, read_patterns
from service.domain.failures.failure import Failure, FailureKind
from service.steps.deciding.analyse import analyse
from service.steps.deciding.configured_failures import with_configured
from tests.support.finished import Farm
from tests.support.memory.files import MemoryArtifacts
from tests.support.memory.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.memory.store import MemoryTransaction

PATTERNS = read_patterns("device: '^fatal: device (?P<subject>[a-z]+) is lost'", "patterns.yaml")
LOG = b"make\nfatal: device b is lost\nfatal: device a is lost\n"
OWN = Failure(FailureKind.TEST, "t", "Failed", "Failure of a CTest test 1/1 Test #1: t")


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    farm = Farm(tmp_path)
    farm.review()
    return farm


def reported(farm: Farm, report: MachineReport, log: bytes = LOG) -> MachineReport:
    farm.report(report)
    farm.service.store.update(1, log=farm.artifacts.put(log))
    found = with_configured(farm.service.store, farm.artifacts, 1, PATTERNS)
    assert found is not None
    return found


def test_its_failures_come_behind_those_of_the_machine_with_their_causes(farm: Farm) -> None:
    found = reported(farm, MachineReport(Outcome.FAILED, ("ctest ended with 8",), failures=(OWN,)))
    assert [(each.kind, each.subject) for each in found.failures] == [
        (FailureKind.TEST, "t"),
        (FailureKind.CONFIGURED, "b"),
        (FailureKind.CONFIGURED, "a"),
    ]
    assert found.causes == (
        "ctest ended with 8",
        "device: fatal: device b is lost",
        "device: fatal: device a is lost",
    )
    assert not found.is_cut


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.FAILED])
def test_a_build_that_did_not_fail_is_not_searched(farm: Farm, outcome: Outcome) -> None:
    report = MachineReport(outcome, ("because",))
    assert reported(farm, report) == report


def test_a_list_that_the_machine_cut_stays_cut(farm: Farm) -> None:
    assert reported(farm, MachineReport(Outcome.FAILED, is_cut=True)).is_cut


def test_a_lost_log_makes_the_list_incomplete_and_the_build_still_fails(farm: Farm) -> None:
    """Otherwise the known failures of the list would waive a build whose other failures nobody can read."""
    farm.report(MachineReport(Outcome.FAILED, ("because",), failures=(OWN,)))
    farm.service.store.update(1, log="0" * 64)
    found = with_configured(farm.service.store, farm.artifacts, 1, PATTERNS)
    assert found is not None
    assert (found.outcome, found.failures, found.is_cut) == (Outcome.FAILED, (OWN,), True)


def test_a_build_without_a_log_has_the_failures_of_the_machine(farm: Farm) -> None:
    farm.report(MachineReport(Outcome.FAILED, failures=(OWN,)))
    found = with_configured(farm.service.store, farm.artifacts, 1, PATTERNS)
    assert found is not None
    assert (found.failures, found.is_cut) == ((OWN,), False)


class _OutOfReach(MemoryArtifacts):
    def stream(self, key: str) -> tuple[int, Iterator[bytes]]:
        raise Transient(f"{key} cannot be read now")


def test_a_log_that_cannot_be_read_now_is_read_again_later(farm: Farm) -> None:
    farm.report(MachineReport(Outcome.FAILED))
    farm.service.store.update(1, log="0" * 64)
    before = repr(farm.service.store.memory)
    with pytest.raises(Transient):
        analyse(farm.service.store, _OutOfReach(), 1, PATTERNS)
    assert repr(farm.service.store.memory) == before


def test_without_patterns_no_log_is_read(farm: Farm) -> None:
    farm.report(MachineReport(Outcome.FAILED))
    farm.service.store.update(1, log="0" * 64)
    with pytest.raises(NotFound):
        farm.artifacts.stream("0" * 64)
    found = with_configured(farm.service.store, farm.artifacts, 1, ConfiguredPatterns())
    assert found is not None
    assert not found.is_cut


def test_the_log_is_read_outside_of_a_transaction(farm: Farm) -> None:
    """A transaction that reads a log for seconds would keep the build locked."""
    open_now, seen = [0], []

    class Watched(MemoryStore):
        @contextmanager
        def transaction(self) -> Iterator[MemoryTransaction]:
            open_now[0] += 1
            with super().transaction() as tx:
                yield tx
            open_now[0] -= 1

    class Read(MemoryArtifacts):
        def stream(self, key: str) -> tuple[int, Iterator[bytes]]:
            seen.append(open_now[0])
            return super().stream(key)

    artifacts, store = Read(), Watched()
    store.memory = farm.service.store.memory
    farm.report(MachineReport(Outcome.FAILED))
    farm.service.store.update(1, log=artifacts.put(LOG))
    analyse(store, artifacts, 1, PATTERNS)
    assert seen == [0]
    assert store.memory.builds[0].causes[0] == "device: fatal: device b is lost"
