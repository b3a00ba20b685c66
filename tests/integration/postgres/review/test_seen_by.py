"""Name nothing in the service's condition that is not public."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.runs.health import Patience
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeAddress
from service.domain.wording.health import degradation_sentences
from tests.contract.reading.seen_by import Person
from tests.contract.reading.site import CHANGE
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from service.ports.reading import Reading
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_a_number_without_a_change_is_asked_about_like_a_hidden_one(site: PostgresSite) -> None:
    """Else the review server's time or failure would show which numbers are hidden."""
    site.add_change()
    site.hide()
    asked = []
    for number in (CHANGE, 4711):
        person = Person()
        with pytest.raises(NotFound):
            site.reading.seen_by(person).change(ChangeAddress(number))
        asked.append(person.asked)
    assert asked == [[{CHANGE}], [{4711}]]
    with pytest.raises(NotFound):
        site.reading.seen_by(Person([4711])).change(ChangeAddress(4711))


def test_a_missing_right_on_a_hidden_branch_is_reported_without_its_name(site: PostgresSite) -> None:
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
