"""The condition of the service names nothing that is not public."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.health import Patience
from service.domain.wording.health import degradation_sentences
from tests.integration.postgres.reading.test_reading import PostgresSite

if TYPE_CHECKING:
    from service.ports.reading import Reading
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_a_missing_right_on_a_branch_that_is_not_public_is_reported_without_its_name(
    site: PostgresSite,
) -> None:
    site.add_change()
    for branch in ("master", "secret"):
        site.database.change(
            "INSERT INTO pulse (part, beat_at, trouble) VALUES (:part, now(), :trouble)",
            part=f"vote on gerrit kv {branch}",
            trouble=f"no label on kv {branch}",
        )

    def rights(reading: Reading) -> set[tuple[str, str]]:
        return {(beat.part, beat.trouble) for beat in reading.condition().heartbeats}

    assert len(rights(site.reading)) == 2
    public = rights(site.reading.seen_by(None))
    assert ("vote on gerrit kv master", "no label on kv master") in public
    assert "secret" not in str(public)
    sentences = degradation_sentences(site.reading.seen_by(None).condition(), Patience())
    assert any(
        sentence.startswith("Benchgate may not vote: a branch that is not public") for sentence in sentences
    )
