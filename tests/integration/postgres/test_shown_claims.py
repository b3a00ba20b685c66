"""Claims as PostgreSQL finds them: few rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.plans import scans_of
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
