"""Migrate the schema through its history."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from click.testing import CliRunner

from service import cli
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.failures.schema import failure
from service.adapters.postgres.migrate import configured, migrate, pending
from service.domain.values.errors import Permanent, Transient
from service.ports.review.changes import SyncCursor
from tests.support.store_samples import change

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration

metadata = failure.metadata  # with the tables of both modules
ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "tests" / "samples" / "schema" / "migrated.txt"
COLUMNS_AND_INDEXES = """
SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' NOT NULL' END, ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid))
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
UNION ALL
SELECT pg_get_indexdef(c.oid) FROM pg_class AS c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('i', 'I') AND NOT c.relispartition
"""


def differences(database: Database) -> list[Any]:
    def is_compared(name: str | None, kind: str, parents: object) -> bool:
        # The code describes the tables that it builds queries from, without their indexes.
        return name in metadata.tables if kind == "table" else kind != "index"

    with database.owner.connect() as connection:
        options = {"include_name": is_compared, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))


def test_the_tables_in_the_code_are_those_that_the_migrations_make(database: Database) -> None:
    assert differences(database) == []


def test_columns_and_indexes_are_the_recorded_ones_also_those_that_only_sql_names(database: Database) -> None:
    found = sorted(line for (line,) in database.rows(COLUMNS_AND_INDEXES))
    assert found == SCHEMA.read_text(encoding="utf-8").splitlines()


def test_a_difference_between_code_and_database_is_noticed(database: Database) -> None:
    database.change("ALTER TABLE event ADD COLUMN mood text")
    assert [found[0] for found in differences(database)] == ["remove_column"]


def test_migrating_the_newest_schema_changes_nothing(database: Database) -> None:
    database.change("INSERT INTO pulse (part, beat_at) VALUES ('here', now())")
    migrate(database.owner_url)
    assert database.value("SELECT count(*) FROM pulse") == 1


def test_missing_migrations_are_listed_with_whether_the_service_must_stop(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    assert CliRunner().invoke(cli.benchgate, ["migrate", "--check"]).exit_code == 0
    database.change("UPDATE alembic_version SET version_num = '20261122_0100'")
    done = CliRunner().invoke(cli.benchgate, ["migrate", "--check"])
    assert done.exit_code == 1
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("20261122_0200  Add the variant of a launch: a column")
    assert first.endswith(
        "(stop first: a control worker would count pairs of relinks as pairs of the programs as built)"
    )
    assert second.endswith(" (while running)")
    assert "stop all parts, then run `benchgate migrate`" in done.stderr
    assert database.value("SELECT version_num FROM alembic_version") == "20261122_0100"


def test_a_database_of_a_newer_version_is_left_alone_and_says_so(database: Database) -> None:
    database.change("UPDATE alembic_version SET version_num = '20990101_0100'")
    for refused in (migrate, pending):
        with pytest.raises(
            Permanent, match="a newer version of Benchgate migrated the database, to 20990101"
        ):
            refused(database.owner_url)


def test_processes_that_migrate_at_once_do_it_once(server: Server) -> None:
    with server.database(migrated=False) as empty, ThreadPoolExecutor(2) as pool:
        program = "import sys; from service.adapters.postgres.migrate import migrate; migrate(sys.argv[1])"
        argv = [sys.executable, "-c", program, empty.owner_url]
        starts = [pool.submit(subprocess.run, argv, cwd=ROOT, check=True, timeout=60) for _ in range(2)]
        assert [start.result().returncode for start in starts] == [0, 0]
        assert empty.value("SELECT count(*) FROM alembic_version") == 1


def test_the_schema_can_be_taken_down_and_made_again(database: Database) -> None:
    command.downgrade(configured(database.owner_url), "base")
    left = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i'"
    assert database.rows(left) == [("alembic_version",)]
    migrate(database.owner_url)
    assert differences(database) == []


def test_reasons_of_relinks_are_typed_and_the_others_stay_text(database: Database) -> None:
    command.downgrade(configured(database.owner_url), "20261122_0100")
    layout, other = "layout: not checked by relinking", "no complete pair"
    for number, reason in enumerate((layout, other)):
        database.change(
            "INSERT INTO comparison"
            " (measured_at, series_id, build_id, kind, position, pairs, verdict, reason)"
            " VALUES (now(), :n, 1, 0, :n, 8, 'undecided', :reason)",
            n=number,
            reason=reason,
        )
    migrate(database.owner_url)
    assert database.rows("SELECT reason, reasons FROM comparison ORDER BY position") == [
        (layout, [{"kind": "layout as text", "facts": [layout]}]),
        (other, None),
    ]


def test_the_previous_version_has_no_request_of_a_page_to_reply_to(
    database: Database, store: PostgresStore
) -> None:
    with store.transaction() as tx:
        patch_set = tx.changes.upsert(change()).patch_set_id
    for source in ("comment", "page"):
        database.change(
            "INSERT INTO heard (change_id, patch_set_id, account, person, written_at, digest, text, source)"
            " SELECT change_id, id, '1', 'Ann', now(), '', :source, :source FROM patch_set WHERE id = :id",
            source=source,
            id=patch_set,
        )
    command.downgrade(configured(database.owner_url), "20261122_2240")
    assert database.rows("SELECT text, state FROM heard ORDER BY text") == [
        ("comment", "pending"),
        ("page", "done"),
    ]


def test_pending_comments_lose_the_servers_first_lines(database: Database, store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.changes.upsert(change()).patch_set_id
    texts = {
        "Patch Set 3:\n\nrecheck": "recheck",
        "Patch Set 12: Verified+1\n\n(2 comments)\n\nbenchmark Parse\n\nthanks": "benchmark Parse\n\nthanks",
        "Uploaded patch set 2.\n\n(1 inline comment)\n\nok-to-test": "ok-to-test",
        "benchmark Parse\n\nPatch Set 3:": "benchmark Parse\n\nPatch Set 3:",
        "": "",
    }
    command.downgrade(configured(database.owner_url), "20261123_0510")
    for text in texts:
        database.change(
            "INSERT INTO heard (change_id, patch_set_id, account, person, written_at, digest, text)"
            " SELECT change_id, id, '1', 'Ann', now(), :digest, :text FROM patch_set WHERE id = :id",
            digest=text.encode(),
            text=text,
            id=patch_set,
        )
    command.upgrade(configured(database.owner_url), "head")
    assert [text for (text,) in database.rows("SELECT text FROM heard ORDER BY id")] == [*texts.values()]


def test_inline_comments_that_the_version_before_passed_over_stay_unread(
    database: Database, store: PostgresStore
) -> None:
    command.downgrade(configured(database.owner_url), "20261127_0100")
    database.change(
        "INSERT INTO server (instance, first_contact, seen_until)"
        " VALUES ('old', '2026-11-21 09:00Z', '2026-11-22 09:00Z')"
    )
    command.upgrade(configured(database.owner_url), "head")
    with store.transaction() as tx:
        old = tx.events.cursor("old")
        assert old is not None
        tx.events.move_cursor("old", later := old.seen_until + timedelta(days=1))
        tx.events.move_cursor("new", later)
        assert tx.events.cursor("old") == SyncCursor(old.first_contact, later, old.seen_until)
        assert tx.events.cursor("new") == SyncCursor(later, later)


def test_the_command_line_takes_the_database_by_x(server: Server) -> None:
    with server.database(migrated=False) as empty:
        argv = [sys.executable, "-m", "alembic", "-x", f"url={empty.owner_url}", "upgrade", "head"]
        subprocess.run(argv, cwd=ROOT, check=True, timeout=60)
        assert empty.value("SELECT count(*) FROM build") == 0


def test_migrating_works_from_any_directory(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    migrate(database.owner_url)


def test_an_unreachable_server_is_a_passing_fault() -> None:
    with pytest.raises(Transient, match="database: "):
        migrate("postgresql://nobody@127.0.0.1:1/nothing")


def test_every_engine_speaks_utc(database: Database) -> None:
    engine = make_engine(database.owner_url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW timezone").scalar() == "UTC"
    engine.dispose()


def test_rows_in_the_default_partition_do_not_stop_the_next_month(database: Database) -> None:
    database.change("INSERT INTO result VALUES ('2031-05-02', 1, 1, 0, '{1}')")
    database.change("SELECT ensure_partitions('2031-05-01', 1)")
    made = database.rows(
        "SELECT relname FROM pg_class WHERE relname LIKE '%_2031_%' AND relkind = 'r' ORDER BY 1"
    )
    assert [row[0] for row in made] == ["comparison_2031_05", "comparison_2031_06", "result_2031_06"]


def test_partitions_begin_where_the_month_does_in_utc(database: Database) -> None:
    database.change("SET LOCAL timezone = 'Asia/Tokyo'; SELECT ensure_partitions('2031-06-10', 0)")
    database.change("SET LOCAL timezone = 'America/Lima'; SELECT ensure_partitions('2031-07-10', 0)")
    database.change("INSERT INTO result VALUES ('2031-06-30 23:59:59+00', 1, 1, 0, '{1}')")
    assert database.value("SELECT tableoid::regclass::text FROM result") == "result_2031_06"
