"""Read how noisy benchmarks are, how many pairs they miss, and what machine time they take."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from bench.plans import scans_of
from service.domain.verdict.calibration.usefulness import NEWEST
from tests.contract.reading.benchmarks import measure_change
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_noise_is_the_median_of_the_pairs_that_builds_measured(site: PostgresSite) -> None:
    """Five to seven pairs are not trimmed; fewer, and counts, have no noise."""
    for change in range(1, 5):
        measure_change(site, change, "BM_x")
    errors = {1: (4, 9.0), 2: (16, 0.0107), 3: (5, 0.04 / math.sqrt(5)), 4: (25, 0.0107)}
    for number, (pairs, error) in errors.items():
        site.database.change(
            "UPDATE comparison SET pairs = :pairs, error = :error"
            " WHERE build_id = (SELECT id FROM build WHERE number = :number)",
            pairs=pairs,
            error=error,
            number=number,
        )
    (found,) = site.reading.measured_series(NOW)
    assert found.noise == pytest.approx(0.04)  # of 0.04, 0.04 and 0.05
    assert found.policy.floor == pytest.approx(0.02)
    reasons = json.dumps([{"kind": "same program", "facts": [1.001]}])
    site.database.change(
        "UPDATE comparison SET error = NULL, reasons = CAST(:reasons AS jsonb)", reasons=reasons
    )
    (found,) = site.reading.measured_series(NOW)
    assert (found.noise, found.identical) == (None, 4)


def test_undecided_benchmarks_lack_pairs_and_name_those_that_machine_time_would_give(
    site: PostgresSite,
) -> None:
    """Layout and a second sequence leave benchmarks undecided too, and others end early on purpose."""
    more = {"kind": "more pairs", "facts": [24.0, 120.0]}
    reasons = (
        [{"kind": "wide interval", "facts": [0.05, 1.03]}, more],
        [more, {"kind": "hardly slower", "facts": []}],
        [more, {"kind": "own time", "facts": [60.0, 60.0]}],
        [{"kind": "no number of pairs", "facts": []}],
        [more, {"kind": "layout refuted", "facts": [1, 1.01]}],
        [{"kind": "second lifts", "facts": ["same", 16]}],
    )
    for number, each in enumerate(reasons, 1):
        measure_change(site, number, "BM_x")
        site.database.change(
            "UPDATE comparison SET verdict = 'undecided', pairs = 8 + :number,"
            " reasons = CAST(:reasons AS jsonb)"
            " WHERE build_id = (SELECT id FROM build WHERE number = :number)",
            reasons=json.dumps(each),
            number=number,
        )
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.undecided, list(found.more_pairs)) == (6, 4, [24.0])
    assert sorted(found.undecided_pairs) == [9, 10, 11, 12]


def test_a_sequence_counts_once(site: PostgresSite) -> None:
    """A check and its merged commit share it, also if the commit belongs to no patch set."""
    for change in (1, 2):
        site.spend(measure_change(site, change, "BM_x"), 10.0)
    site.database.change("UPDATE run SET patch_set_id = NULL, kind = 'post-submit' WHERE revision = '2-1'")
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.suite_seconds) == (2, 20.0)
    site.database.change("UPDATE build SET sequence_id = (SELECT min(id) FROM sequence)")
    (found,) = site.reading.measured_series(NOW)
    assert (found.builds, found.suite_seconds) == (1, 10.0)


def test_instruction_counts_are_no_series_of_a_benchmark(site: PostgresSite) -> None:
    measure_change(site, 1, "BM_x", "BM_y")
    site.database.change("UPDATE series SET metric = 'instructions' WHERE benchmark = 'BM_x'")
    (found,) = site.reading.measured_series(NOW)
    assert (found.key.benchmark, found.family) == ("BM_y", 1)


def test_only_the_comparisons_of_the_newest_builds_are_read(site: PostgresSite) -> None:
    for change in range(1, 4 * NEWEST + 1):
        measure_change(site, change)
    site.database.change(
        """WITH added AS (
               INSERT INTO series (digest, instance, project, branch, machine_class, job, suite, benchmark,
                                   metric, unit, better)
               SELECT convert_to(k::text, 'UTF8'), 'gerrit', 'kv', 'master', 'perf', 'perf', 's', k::text,
                      'cpu_time', 's', 'lower' FROM generate_series(1, 100) AS k RETURNING id
           )
           INSERT INTO comparison (measured_at, series_id, build_id, kind, position, pairs, verdict)
           SELECT created_at, added.id, build.id, 0, 1, 8, 'same' FROM build CROSS JOIN added"""
    )
    site.database.change("ANALYZE")
    scans = scans_of(site.database.owner, lambda: site.reading.measured_series(NOW), "comparison")
    assert sum(scan.rows for scan in scans) == 100 * NEWEST
