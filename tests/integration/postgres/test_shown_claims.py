"""Claims as PostgreSQL finds them: few rows are read, and no commit is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.plans import scans_of
from service.domain.claims.answers import Answer
from service.domain.review.change import ChangeStatus
from tests.contract.reading.claims import NOON
from tests.contract.reading.site import CHANGE
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
OTHER, THIRD = CHANGE + 1, CHANGE + 2
COMPARED = 20  # benchmarks of each run


@pytest.fixture
def site(database: Database) -> PostgresSite:
    """Three changes, each with a claim; the last one is the newest."""
    site = PostgresSite(database)
    for minutes, number in enumerate((CHANGE, OTHER, THIRD)):
        site.add_change(number)
        run = site.add_run(change=number)
        site.add_build(run, benchmarks=[f"BM_{k}" for k in range(COMPARED)])
        site.claim(run, f"BM_{number}", minutes)
    return site


def test_of_each_build_only_the_claimed_results_are_read(site: PostgresSite) -> None:
    site.database.change("SELECT ensure_partitions('2026-01-01', 24)")
    scans = scans_of(site.database.owner, lambda: site.reading.recent_claims(NOON, 9), "comparison")
    run = [scan for scan in scans if scan.was_run]
    assert {scan.table for scan in run} == {"comparison_2026_11"}
    assert sum(scan.rows for scan in run) == len((CHANGE, OTHER, THIRD))


def test_the_series_of_other_benchmarks_are_not_read(site: PostgresSite) -> None:
    site.database.change(
        """INSERT INTO series (digest, instance, project, branch, machine_class, job, suite, benchmark,
                               metric, unit, better)
           SELECT sha256(number::text::bytea), instance, project, branch, machine_class, job, suite,
                  'BM_more' || number, metric, unit, better
           FROM (SELECT * FROM series LIMIT 1) AS one, generate_series(1, 5000) AS number"""
    )
    site.database.change("ANALYZE series")
    scans = scans_of(site.database.owner, lambda: site.reading.recent_claims(NOON, 9), "series")
    assert {scan.index for scan in scans if scan.was_run} == {"series_of_benchmark", "series_pkey"}


def test_a_commit_with_claims_of_another_version_is_listed_without_them(site: PostgresSite) -> None:
    site.database.change(
        """UPDATE revision_claims SET claims = '[{"form": "of a later version"}]'
           WHERE revision IN (SELECT revision FROM run ORDER BY id DESC LIMIT 1)"""
    )
    found = site.reading.recent_claims(NOON, 2)
    told = [(each.change, [claim.answer for claim in each.claims]) for each in found]
    assert told == [(THIRD, []), (OTHER, [Answer.CONFIRMED])]


def test_a_commit_has_the_status_of_its_change(site: PostgresSite) -> None:
    site.database.change("UPDATE change SET status = 'ABANDONED' WHERE number = :number", number=OTHER)
    statuses = [each.status for each in site.reading.recent_claims(NOON, 9)]
    assert statuses == [ChangeStatus.NEW, ChangeStatus.ABANDONED, ChangeStatus.NEW]
