"""Hold the read ports on PostgreSQL to their contracts; they read few partitions by few queries."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from bench.plans import scans_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.ports.runs.shown import Tally
from tests.contract.reading.benchmarks import BenchmarkReadingContract
from tests.contract.reading.builds import NASTY, BuildReadingContract
from tests.contract.reading.changes import ChangeReadingContract, MeasuredPatchSetsContract
from tests.contract.reading.claims import ClaimReadingContract
from tests.contract.reading.families import FamilyReadingContract
from tests.contract.reading.machines import MachineReadingContract
from tests.contract.reading.seen_by import ReadingContract
from tests.contract.reading.series import SeriesReadingContract
from tests.contract.reading.site import ADDRESS, measure
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


class TestPostgresReading(
    ChangeReadingContract,
    MeasuredPatchSetsContract,
    BuildReadingContract,
    SeriesReadingContract,
    FamilyReadingContract,
    BenchmarkReadingContract,
    MachineReadingContract,
    ClaimReadingContract,
    ReadingContract,
):
    pass


def test_patch_sets_side_by_side_are_one_query(site: PostgresSite) -> None:
    site.add_change(patch_sets=3)
    for number in (1, 2, 3):
        measure(site, number, "BM_a", "BM_b")
    sent: list[str] = []
    event.listen(site.database.owner, "before_cursor_execute", lambda *args: sent.append(args[2]))
    site.reading.measured_patch_sets(ADDRESS, 9)
    assert len(sent) == 1


def test_each_build_is_read_from_the_partition_of_its_month(site: PostgresSite) -> None:
    site.database.change("SELECT ensure_partitions('2026-01-01', 24)")
    site.add_change(patch_sets=2)
    for number in (1, 2):
        measure(site, number, *(f"BM_{k}" for k in range(20)))
    scans = scans_of(site.database.owner, lambda: site.reading.measured_patch_sets(ADDRESS, 9), "comparison")
    assert {scan.table for scan in scans if scan.was_run} == {"comparison_2026_11"}


def test_a_build_has_the_floor_of_its_job_and_its_samples(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    build = site.reading.build("perf", 1).build
    (row,) = site.reading.comparisons(build.id, build.created_at)
    samples = site.reading.samples(build.id, build.created_at, row.series_id)
    assert build.floor == pytest.approx(0.02)
    assert (samples.base, samples.patch) == ((10.0, None, 11.0), (9.0, None, 10.0))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (None, "old text"),
        ([asdict(Reason(ReasonKind.NO_PAIR)), asdict(Reason(ReasonKind.FAILS, (NASTY,)))], None),
        ([{"kind": "of a later version", "facts": []}], "old text"),
    ],
)
def test_typed_reasons_are_worded_and_others_are_read_as_text(
    site: PostgresSite, stored: list[dict[str, Any]] | None, reason: str | None
) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change(
        "UPDATE comparison SET reason = 'old text', reasons = CAST(:stored AS jsonb)",
        stored=None if stored is None else json.dumps(stored),
    )
    build = site.reading.build("perf", 1).build
    (row,) = site.reading.comparisons(build.id, build.created_at)
    assert row.reason == (reason or f"no pair has a result on both sides; {NASTY}")


def test_a_slower_result_on_probation_is_not_counted_in_its_change_and_build(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one", "BM_two")
    reasons = [Reason(ReasonKind.LAYOUT_POSSIBLE), Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))]
    site.database.change(
        "UPDATE comparison SET reasons = CAST(:stored AS jsonb) WHERE position = 1",
        stored=json.dumps([asdict(each) for each in reasons]),
    )
    why = "not counted until 40 A/A pairs"
    found = site.reading.patch_set(ADDRESS)
    assert found.change.standing.tally == Tally(results=2, slower=2, worst=0.9, not_counted=(why,))
    build = site.reading.build("perf", 1).build
    assert build.tally == found.builds[0].tally == found.change.standing.tally
    rows = site.reading.comparisons(build.id, build.created_at)
    assert [(row.not_counted, row.clause, len(row.explained)) for row in rows] == [("", "", 0), (why, why, 2)]


@pytest.mark.parametrize("ratio", ["Infinity", "NaN"])
def test_a_counter_beyond_all_bounds_does_not_keep_the_list_from_its_readers(
    site: PostgresSite, ratio: str
) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change("UPDATE comparison SET ratio = CAST(:ratio AS double precision)", ratio=ratio)
    (change,) = site.reading.changes(5)
    assert change.standing.tally == Tally(results=1, slower=1)


def test_counted_instructions_are_no_results_of_a_badge(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one", "BM_two")
    site.database.change("UPDATE series SET metric = 'instructions' WHERE benchmark = 'BM_two'")
    (change,) = site.reading.changes(5)
    assert change.standing.tally == Tally(results=1, slower=1, worst=0.9)


def test_a_verdict_that_this_version_does_not_know_raises(site: PostgresSite) -> None:
    site.add_change()
    measure(site, 1, "BM_one")
    site.database.change("ALTER TABLE comparison DROP CONSTRAINT IF EXISTS comparison_verdict_check")
    site.database.change("UPDATE comparison SET verdict = 'lovely'")
    build = site.reading.build("perf", 1).build
    with pytest.raises(ValueError, match="lovely"):
        site.reading.comparisons(build.id, build.created_at)
