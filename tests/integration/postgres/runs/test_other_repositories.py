"""Remember which commits of other repositories a build was planned with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


def test_a_build_has_the_workspace_of_its_specification(database: Database) -> None:
    stored = {"manifest": "https://h/m", "commit": "c" * 40, "folder": "core", "others": [], "files": []}
    build = named("perf")
    several = replace(build, job="several", spec={**build.spec, "workspace": stored})
    queue(PostgresStore(database.owner), build, several)

    reading = PostgresReading(database.owner)
    assert reading.build("perf", 1).workspace is None
    assert reading.build("several", 1).workspace == stored
