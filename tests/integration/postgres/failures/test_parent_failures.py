"""Name a build of the parent with the same failures on a failed build's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.failures.evidence import ParentBuild
from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.vote import Outcome
from service.domain.values.identity import BuildName
from service.ports.failures.storing import BuildFailures
from tests.contract.reading.seen_by import Person
from tests.integration.postgres.failures.known_site import FLAKY, Site
from tests.support.store_samples import change, check_run, named, start
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

FOUND = (ParentBuild(BuildName("linux", 1), ("ep.expiry",)),)


@pytest.fixture
def reading(database: Database) -> PostgresReading:
    """A change below, which fails, and a change on top of it, which fails in the same way and in another."""
    site = Site(database)
    with site.store.transaction() as tx:
        below = start(tx, check_run(tx.changes.upsert(change(7)).patch_set_id, "p" * 40))
        build = tx.builds.add(below, 0, named("linux", sequence=""))
        tx.failures.store_failures(build, BuildFailures((FLAKY,)))
        tx.builds.finish(build, Outcome.FAILED, [])
    site.fail(8, FLAKY, Failure(FailureKind.TEST, "other", "Failed"))
    return PostgresReading(database.owner)


def test_the_page_of_the_build_names_the_parents_build(reading: PostgresReading) -> None:
    assert reading.build("linux", 2).parents == FOUND
    assert reading.build("linux", 1).parents == ()
    page = call(build_app(reading), "GET", "/job/linux/2/").text.replace("<wbr>", "")
    assert "<bdi>ep.expiry</bdi> also fails on the parent, build <a" in page
    assert '<a href="/job/linux/1/">linux/1</a>' in page


def test_a_build_of_another_ci_is_named_by_its_number_there(
    reading: PostgresReading, database: Database
) -> None:
    database.change("UPDATE build SET external_number = 340 WHERE number = 1")
    assert reading.build("linux", 2).parents == (ParentBuild(BuildName("linux", 340), ("ep.expiry",)),)


def test_a_build_that_a_viewer_does_not_see_is_not_named(
    reading: PostgresReading, database: Database
) -> None:
    assert reading.seen_by(Person([8])).build("linux", 2).parents == FOUND
    database.change("UPDATE change SET is_private = true WHERE number = 7")
    assert reading.seen_by(Person([8])).build("linux", 2).parents == ()
