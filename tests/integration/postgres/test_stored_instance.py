"""The instance belongs to the database: no process stores its changes again under another name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.stored_instance import stored_instance
from service.config import ControlSettings
from service.domain.errors import BadInput, Transient
from service.wiring.control import build_control, require_instance

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration
AWAY = "postgresql://nobody@127.0.0.1:1/none"
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def test_a_new_database_belongs_to_no_instance(database: Database) -> None:
    assert stored_instance(database.owner) == ""
    require_instance(database.owner_url, "review")


def test_a_database_that_is_not_migrated_belongs_to_no_instance(server: Server) -> None:
    with server.database(migrated=False) as empty:
        assert stored_instance(empty.owner) == ""


def test_another_instance_than_that_of_the_last_contact_is_refused(
    database: Database, store: PostgresStore
) -> None:
    with store.transaction() as tx:
        tx.move_sync_cursor("review", NOW)
    require_instance(database.owner_url, "review")
    with pytest.raises(BadInput) as refused:
        require_instance(database.owner_url, "renamed")
    assert str(refused.value) == (
        "BENCHGATE_INSTANCE: is renamed, but the database stores the changes of review: set it to review, or "
        "use another database"
    )


def test_a_review_server_that_was_renamed_keeps_its_last_name(
    database: Database, store: PostgresStore
) -> None:
    with store.transaction() as tx:
        tx.move_sync_cursor("console", NOW)
        tx.move_sync_cursor("review", NOW + timedelta(hours=1))
    assert stored_instance(database.owner) == "review"


def test_a_database_that_does_not_answer_belongs_to_nobody() -> None:
    require_instance(AWAY, "review")


def test_a_worker_is_not_built_until_its_database_answers() -> None:
    """A process that is built without an answer never checks its instance."""
    with pytest.raises(Transient):
        build_control(ControlSettings(database_url=AWAY, redis_url="redis://x"), needs_database=True)
