"""Show a failed build that says only how it ended: nobody can make it a known failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from service.adapters.postgres.reading import PostgresReading
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import Ends
from tests.integration.postgres.failures.known_site import FLAKY, Site
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

LINE = "Linker error: collect2: error: ld returned 1 exit status"
END = Failure(FailureKind.LINK, "", "linker failed", LINE)
BUTTON = "Make it a known failure"
PATTERN = "To recognise its failure, add a pattern for it."


def page(database: Database) -> str:
    return call(build_app(PostgresReading(database.owner)), "GET", "/job/linux/1/").text.replace("<wbr>", "")


def test_it_says_how_the_build_ended_and_offers_nothing(database: Database) -> None:
    Site(database).fail(7, END)
    assert PostgresReading(database.owner).build("linux", 1).ends == Ends((LINE,), may_match=False)
    assert f"how they ended: <bdi>{LINE}</bdi>. Many faults end like this" in page(database)
    assert PATTERN not in page(database)
    assert BUTTON not in page(database)


def test_it_advises_a_pattern_if_one_can_match(database: Database) -> None:
    Site(database).fail(7, Failure(FailureKind.COMMAND, "sh", "exit code 1", "sh ended with exit code 1: no"))
    assert PATTERN in page(database)


@pytest.mark.parametrize(
    "change", ["UPDATE build SET is_voting = false", "UPDATE run SET kind = 'post-submit'"]
)
def test_a_build_that_nobody_can_override_has_no_advice(database: Database, change: str) -> None:
    Site(database).fail(7, END)
    with database.owner.begin() as connection:
        connection.execute(text(change))
    assert "how they ended" not in page(database)


def test_with_a_failure_that_can_be_made_known_it_offers_that(database: Database) -> None:
    Site(database).fail(7, END, FLAKY)
    assert PostgresReading(database.owner).build("linux", 1).ends is None
    assert "how they ended" not in page(database)
    assert BUTTON in page(database)
