"""A review server keeps its name: no process stores its changes again under another one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.stored_servers import StoredServer, move_server, record_url, stored_servers
from service.config.control import ControlSettings, GerritSettings
from service.domain.values.errors import BadInput, Transient
from service.wiring.control import build_control
from service.wiring.instances import check_instances, require_instances

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration
AWAY = "postgresql://nobody@127.0.0.1:1/none"
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
CORE, EDGE = "https://core.example.com", "https://edge.example.com/r"


def one(instance: str, url: str = "") -> ControlSettings:
    return ControlSettings(instance=instance, gerrit_url=url)


def several(**urls: str) -> ControlSettings:
    return ControlSettings(gerrits={name: GerritSettings(url=url) for name, url in urls.items()})


def refusal(database: Database, settings: ControlSettings) -> str:
    with pytest.raises(BadInput) as refused:
        require_instances(database.owner_url, settings)
    return str(refused.value)


@pytest.fixture
def contacted(database: Database, store: PostgresStore) -> Database:
    """A database with the changes and the address of ``core``."""
    with store.transaction() as tx:
        tx.events.move_cursor("core", NOW)
    record_url(database.owner, "core", CORE)
    return database


def test_a_new_database_belongs_to_no_review_server(database: Database) -> None:
    assert stored_servers(database.owner) == ()
    assert require_instances(database.owner_url, one("review")) == {"review"}


def test_an_unmigrated_database_belongs_to_no_review_server(server: Server) -> None:
    with server.database(migrated=False) as empty:
        assert stored_servers(empty.owner) == ()


def test_another_instance_than_that_of_the_last_contact_is_refused(
    database: Database, store: PostgresStore
) -> None:
    with store.transaction() as tx:
        tx.events.move_cursor("review", NOW)
    require_instances(database.owner_url, one("review"))
    assert refusal(database, one("renamed")) == (
        "BENCHGATE_INSTANCE: is renamed, but the database stores the changes of review: set it to review, or "
        "use another database"
    )


def test_a_renamed_review_server_keeps_its_last_name(database: Database, store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.events.move_cursor("console", NOW)
        tx.events.move_cursor("review", NOW + timedelta(hours=1))
    assert [server.instance for server in stored_servers(database.owner)] == ["review", "console"]
    assert "set it to review" in refusal(database, one("console"))


def test_a_database_that_does_not_answer_belongs_to_nobody() -> None:
    assert require_instances(AWAY, one("review")) == {"review"}


def test_a_worker_is_not_built_until_its_database_answers() -> None:
    """A process that is built without an answer never checks its review servers."""
    with pytest.raises(Transient):
        build_control(ControlSettings(database_url=AWAY, redis_url="redis://x"), needs_database=True)


def test_the_address_of_the_first_contact_is_kept(contacted: Database) -> None:
    record_url(contacted.owner, "core", EDGE)
    assert stored_servers(contacted.owner) == (StoredServer("core", CORE),)


def test_a_console_may_become_a_gerrit_of_the_same_name(database: Database, store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.events.move_cursor("console", NOW)
    record_url(database.owner, "console", "")
    check_instances(database.owner_url, one("console", CORE))
    record_url(database.owner, "console", CORE)
    assert stored_servers(database.owner) == (StoredServer("console", CORE),)


def test_a_second_gerrit_may_join_and_leave(contacted: Database, store: PostgresStore) -> None:
    assert check_instances(contacted.owner_url, several(core=CORE, edge=EDGE)) == {"core", "edge"}
    with store.transaction() as tx:
        tx.events.move_cursor("edge", NOW + timedelta(hours=1))
    record_url(contacted.owner, "edge", EDGE)
    assert check_instances(contacted.owner_url, one("core", f"{CORE}/")) == {"core", "edge"}
    assert check_instances(contacted.owner_url, several(edge=EDGE)) == {"core", "edge"}


def test_a_gerrit_with_another_name_is_refused(contacted: Database) -> None:
    assert refusal(contacted, several(kernel=f"{CORE}/", edge=EDGE)) == (
        "BENCHGATE_GERRITS: https://core.example.com is named kernel, but the database stores its changes as "
        "core: name it core, or use another database"
    )


@pytest.mark.parametrize("settings", [one("core", EDGE), several(core=EDGE)])
def test_a_name_with_another_address_is_refused_until_the_server_moved(
    contacted: Database, settings: ControlSettings
) -> None:
    assert refusal(contacted, settings).endswith(
        ": core is at https://edge.example.com/r, but the database stores the changes of "
        "https://core.example.com as core: if that server moved, run `benchgate migrate --move "
        "core=https://edge.example.com/r`, else choose another name"
    )
    assert move_server(contacted.owner, "core", EDGE)
    check_instances(contacted.owner_url, settings)


def test_two_swapped_names_are_refused(contacted: Database, store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.events.move_cursor("edge", NOW)
    record_url(contacted.owner, "edge", EDGE)
    assert "is at" in refusal(contacted, several(core=EDGE, edge=CORE))


def test_a_new_name_is_refused_while_a_stored_server_may_be_it(
    database: Database, store: PostgresStore
) -> None:
    """After an upgrade, no address is stored yet."""
    with store.transaction() as tx:
        tx.events.move_cursor("gerrit", NOW)
    assert refusal(database, several(core=CORE, edge=EDGE)) == (
        "BENCHGATE_GERRITS: core is new, but the database also stores the changes of gerrit, whose address "
        "it does not know, so core may be the same server: start Benchgate once with the settings of gerrit "
        "alone, or run `benchgate migrate --move gerrit=URL` with its address"
    )
    record_url(database.owner, "gerrit", "")  # it was the console
    check_instances(database.owner_url, several(core=CORE, edge=EDGE))


def test_a_server_without_changes_cannot_move(database: Database) -> None:
    assert not move_server(database.owner, "core", CORE)


def test_several_gerrits_need_an_address_to_clone_from_each(contacted: Database) -> None:
    settings = ControlSettings(
        database_url=contacted.owner_url,
        redis_url="redis://x",
        gerrits={name: GerritSettings(url=url, user="bot") for name, url in (("core", CORE), ("edge", EDGE))},
        git_urls={"core": "https://core.example.com/{project}"},
    )
    with pytest.raises(BadInput, match="BENCHGATE_GIT_URLS: has no URL for edge"):
        build_control(settings)
