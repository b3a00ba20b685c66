"""The votes of a series on the machines of its pool."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from service.domain.project.policy import Policy
from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.ports.machines import GONE_DAYS
from service.ports.verdict import SeriesVotingStatus
from service.steps.verdict.review_benchmarks import votes_of
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, machine_view, series_view
from tests.unit.domain.verdict.calibration.test_usefulness import KEY, series

ROW = series(1)
YES = voting_status_of(History(), Policy(probation=0))


def reading_with(machines: int, measured: int) -> FakeReading:
    """A pool of machines, of which the first few measured A/A pairs of a series."""
    reading = FakeReading()
    reading.machine_rows = [machine_view(f"m{number:02}") for number in range(machines)]
    shown = replace(series_view(ROW.id, ROW.key.benchmark), machine_class=KEY.machine_class)
    reading.voting_status_rows = [
        SeriesVotingStatus(machine=each.name, series=shown, measured_at=NOW, voting_status=YES)
        for each in reading.machine_rows[:measured]
    ]
    return reading


def votes(reading: FakeReading) -> list[tuple[str, int, bool]]:
    return [(each.machine, each.machines, each.may_vote) for each in votes_of(reading, [ROW], NOW)[ROW.id]]


def test_machines_without_evidence_are_counted_beside_those_that_have_some() -> None:
    assert votes(reading_with(3, 1)) == [("m00", 1, True), ("", 2, False)]
    assert votes(reading_with(2, 2)) == [("m00", 1, True), ("m01", 1, True)]
    assert votes(reading_with(2, 0)) == [("", 2, False)]
    assert votes(reading_with(0, 0)) == [("", 0, False)]


def test_no_machine_of_a_large_pool_is_left_out() -> None:
    assert len(votes(reading_with(60, 60))) == 60


def test_machines_of_other_pools_and_those_that_are_gone_do_not_count() -> None:
    reading = reading_with(3, 2)
    gone = replace(reading.machine_rows[1], last_seen_at=NOW - timedelta(days=GONE_DAYS, seconds=1))
    reading.machine_rows = [reading.machine_rows[0], gone, replace(reading.machine_rows[2], pool="tests")]
    assert votes(reading) == [("m00", 1, True)]
