"""Read a trend with the machines and errors of its points."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.verdict.shown_series import since_untouched
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.estimate import estimate
from service.ports.reading import MOST_UNTOUCHED
from service.ports.verdict import UntouchedCommit
from tests.contract.reading.seen_by import OTHER, Person
from tests.contract.reading.site import CHANGE, measure
from tests.integration.postgres.site import PostgresSite
from tests.support.reading.views import trend_point

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_a_viewer_is_asked_about_the_changes_in_the_range_of_a_trend(site: PostgresSite) -> None:
    site.add_change()
    site.add_change(OTHER)
    series = site.add_series("BM_x")
    for change in (OTHER, CHANGE):
        site.add_build(site.add_run(change=change), benchmarks=["BM_x"])
    site.hide(OTHER)
    for within, asked, points in ((timedelta(0), [], 1), (timedelta(9), [{OTHER}], 2)):
        person = Person([OTHER])
        assert len(site.reading.seen_by(person).trend(series, 9, within).points) == points
        assert person.asked == asked


def test_a_trend_has_the_facts_of_the_machines_of_its_merged_commits(site: PostgresSite) -> None:
    site.add_change()
    series = site.add_series("BM_one")
    for kind in (RunKind.CHECK, RunKind.POST_SUBMIT):
        measure(site, 1, "BM_one", kind=kind)
    for number in (1, 2):
        site.database.change(
            """WITH made AS (INSERT INTO environment (fingerprint, facts)
                   VALUES (:name, jsonb_build_object('kernel', cast(:name AS text))) RETURNING id)
            UPDATE build SET environment_id = made.id FROM made WHERE build.number = :number""",
            name=f"6.{number}",
            number=number,
        )
    assert list(site.reading.trend(series, 9).environments.values()) == [{"kernel": "6.2"}]


def test_a_trend_begins_where_all_commits_that_touch_nothing_are_known() -> None:
    points = [trend_point(k, 1.0) for k in range(3)]
    second = UntouchedCommit("a" * 40, "b" * 40, points[1].moment)
    assert since_untouched(points, [second] * MOST_UNTOUCHED) == tuple(points[1:])
    assert since_untouched(points, [second]) == tuple(points)


def test_without_a_stored_error_that_of_a_merged_commit_comes_from_the_pairs_of_its_verdict(
    site: PostgresSite, database: Database
) -> None:
    """Discarded pairs and those after the verdict do not count; neither does a patch set's."""
    site.add_change()
    series = site.add_series("BM_x")
    for kind in (RunKind.POST_SUBMIT, RunKind.CHECK):
        site.add_build(site.add_run(kind=kind), benchmarks=["BM_x"])
    base, patch = [10.0, None, *([10.0] * 7), 10.0], [9.0, 1.0, 9.1, 9.2, 9.0, 9.1, 9.2, 9.0, 9.1, 99.0]
    for side, samples in enumerate((base, patch)):
        database.change("UPDATE result SET samples = :samples WHERE side = :side", samples=samples, side=side)
    merged, proposed = site.reading.trend(series, 3).points
    counted = [value for value in patch if value not in {1.0, 99.0}]
    assert merged.error == pytest.approx(estimate([10.0] * 8, counted).error)
    assert proposed.error is None
    assert merged.step is not None
    assert merged.step.log == pytest.approx(math.log(0.9))
    reasons = json.dumps([{"kind": "same program", "facts": []}])
    database.change("UPDATE comparison SET reasons = cast(:reasons AS jsonb)", reasons=reasons)
    same = site.reading.trend(series, 3).points[0]
    assert same.is_same_program
    assert same.step is not None
    assert (same.step.log, same.step.error) == (0, 0)
    [member] = site.reading.family(series, 1, 3).members
    assert [(step.log, step.error, step.pairs) for step in member.steps] == [(0, 0, same.step.pairs)]
    database.change("UPDATE comparison SET error = 0.25 * kind")
    assert [point.error for point in site.reading.trend(series, 3).points] == [0.25, 0.0]
