"""``benchgate backup`` and ``benchgate restore``, against real databases."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.dump import dump_database
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate
from service.adapters.review.console.review import ConsoleReview
from service.config.control import ControlSettings
from service.domain.access.caller import Role
from service.domain.values.errors import BadInput, Transient
from service.ports.access import NewSession
from service.ports.building import ArtifactKind
from service.steps.access.verify_audit import verify_audit
from service.web.access.route_rights import RIGHTS
from service.wiring.artifact_stores import artifact_stores
from tests.integration.postgres.whole_site import COMMITS, application, fill
from tests.support.building.s3_server import BUCKET, s3_server
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fastapi import FastAPI

    from service.ports.building import ArtifactStore
    from tests.support.postgres import Database, Server

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
GERRITS: Final = {name: {"url": f"http://{name}", "user": "ci"} for name in ("gerrit", "review")}
BRANCH: Final = urlencode({"instance": "review", "project": "kv_engine", "branch": "master"})
PAIR: Final = f"?{BRANCH}&base={COMMITS[0]}&patch={COMMITS[2]}"
QUERIES: Final[Mapping[str, str]] = {
    "/compare": PAIR,
    "/api/v1/compare": PAIR,
    "/api/v1/commits": f"?{BRANCH}",
    "/api/v1/builds/{job}/{number}/samples": "?series=1",
    "/api/v1/gerrit/checks": "?change=7&patchset=1&sha=&repo=",
    "/trends": "?q=BM&series=1",
}
NEW_SESSION: Final = NewSession(subject="1", name="Ann", email="ann@x", role=Role.READER)
LASTING: Final = r"\d+ (s|min|h|seconds?|minutes?|hours?)\b"
CHANGING: Final = re.compile(LASTING + r'|name="ticket" value="[^"]+"|"request_id":"[^"]+"')


def run(*words: str) -> str:
    done = CliRunner().invoke(cli.benchgate, [*words])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(autouse=True)
def _settings(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path / "home"))
    before = os.umask(0o022)  # which the commands change for their process
    yield
    os.umask(before)


def answers(app: FastAPI, values: Mapping[str, object]) -> Mapping[str, tuple[int, str]]:
    """Ask for every page and every list of the API; leave out what depends on the moment."""
    found = {}
    for method, path in RIGHTS:
        if method == "GET" and path not in {"/metrics", "/readyz"} and "{kind}" not in path:
            address = (path + QUERIES.get(path, "")).format_map({"name": "x", "key": "a" * 64, **values})
            answer = call(app, "GET", address)
            found[path] = answer.status_code, CHANGING.sub("…", answer.text)
    return found


@contextmanager
def running(home: Path, like: Database) -> Iterator[Database]:
    """Run the PostgreSQL of a restored home."""
    postgres = EmbeddedPostgres(home / "postgres").start(durable=False)
    owner = make_engine(postgres.owner_url)
    try:
        yield replace(like, owner_url=postgres.owner_url, owner=owner)
    finally:
        owner.dispose()
        postgres.stop()


def test_a_restored_home_shows_the_same_pages(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = fill(database)
    # A machine that falls silent between the two answers would change them.
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 hour'")
    monkeypatch.setenv("BENCHGATE_GERRITS", json.dumps(GERRITS))
    monkeypatch.setenv("BENCHGATE_GIT_URLS", json.dumps(dict.fromkeys(GERRITS, "/git/{project}")))
    values = {
        "change": "gerrit~7",
        "patch_set": 1,
        "run_id": 1,
        "job": "perf",
        "number": 1,
        "place": 1,
        "series_id": site.series,
        "regression_id": site.regression,
        "known_id": site.known,
    }
    before = answers(site.app, values)
    assert sum(status == 200 for status, _ in before.values()) > len(before) / 2
    root = tmp_path / "home" / "artifacts"
    key = DirectoryArtifacts(root).put(b"log")
    DirectoryArtifacts(root / "downloads").put(b"zlib")
    run("token", "create", "ci", "--scope", "read")
    # What another program's shell has must not lead the dump to another server.
    (tmp_path / "services").write_text("[other]\nhost=/nowhere\nport=1\ndbname=other\nuser=other\n")
    for name, value in (
        ("PGSERVICE", "other"),
        ("PGSERVICEFILE", str(tmp_path / "services")),
        ("PGOPTIONS", "-c search_path=other"),
    ):
        monkeypatch.setenv(name, value)

    printed = run("backup", str(tmp_path / "backup"))
    head = printed.removeprefix("audit head: ").strip()
    monkeypatch.delenv("BENCHGATE_DATABASE_URL")
    run("restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))

    with running(tmp_path / "new", database) as restored:
        assert answers(application(restored), values) == before
        assert verify_audit(PostgresAuditLog(restored.owner), bytes.fromhex(head)).is_passed
        assert restored.value("SELECT count(*) FROM token WHERE revoked_at IS NULL") == 0
        name = str(restored.value("SELECT id FROM site"))
    # A restored site is another one: it deletes nothing for the site that the backup was made of.
    assert name != str(database.value("SELECT id FROM site"))
    assert DirectoryArtifacts(tmp_path / "new" / "artifacts").marked() == name
    new = tmp_path / "new" / "artifacts"
    assert DirectoryArtifacts(new).get(key) == b"log"
    assert [path.name for path in new.glob("downloads/*/*/*.gz")] == [
        path.name for path in root.glob("downloads/*/*/*.gz")
    ]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "backup").rglob("*"))


def fill_home(home: Path) -> str:
    """Give a home a review and an artifact that is damaged; return its key."""
    home.mkdir()
    event = {
        "type": "patchset-created",
        "change": {"project": "kv", "branch": "master", "number": 7, "id": "I7", "status": "NEW"},
        "patchSet": {"number": 1, "revision": "1" * 40, "ref": "refs/changes/07/7/1", "kind": "REWORK"},
        "eventCreatedOn": 1,
    }
    ConsoleReview(home / "review.sqlite", "console").apply_event(json.dumps(event))
    damaged = DirectoryArtifacts(home / "artifacts").put(b"damaged")
    for path in (home / "artifacts").glob("*/*/*.gz"):
        path.write_bytes(b"x")
    return damaged


def test_a_restore_needs_an_empty_database_an_unchanged_dump_and_brings_the_reviews(
    server: Server, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = fill_home(tmp_path / "home")
    directory = tmp_path / "backup"
    token = run("token", "create", "ci", "--scope", "read").split()[-1]
    session = PostgresSessions(database.owner).open(NEW_SESSION)
    assert PostgresTokens(database.owner).find(token)
    assert PostgresSessions(database.owner).find(session)
    run("backup", str(directory))
    run("backup", str(directory))
    assert sum(path.suffix == ".dump" for path in directory.iterdir()) == 1
    assert not list(directory.rglob(f"{damaged}*"))
    with pytest.raises(BadInput, match=r"lies in .*/home, which it is to save"):
        run("backup", str(tmp_path / "home" / "backup"))

    words: tuple[str, ...] = ("restore", str(directory), "--home", str(tmp_path / "new"))
    with pytest.raises(BadInput, match="has tables already; restore into an empty one"):
        run(*words)
    with server.database(migrated=False) as empty:
        empty.administer("DROP SCHEMA audit CASCADE")
        monkeypatch.setenv("BENCHGATE_DATABASE_URL", empty.owner_url)
        words += ("--administrator-url-from", "ADMINISTRATOR_URL")
        monkeypatch.setenv("ADMINISTRATOR_URL", empty.owner_url)
        with pytest.raises(BadInput, match="names a role that is no superuser"):
            run(*words)
        monkeypatch.setenv("ADMINISTRATOR_URL", empty.administrator_url)
        DirectoryArtifacts(tmp_path / "new" / "artifacts").put(b"of another site")
        with pytest.raises(BadInput, match="has artifacts already; restore into an empty one"):
            run(*words)
        shutil.rmtree(tmp_path / "new" / "artifacts")

        def watched_migrate(url: str, administrator_url: str) -> None:
            found.extend(
                (PostgresTokens(empty.owner).find(token), PostgresSessions(empty.owner).find(session))
            )
            migrate(url, administrator_url)

        found: list[object] = []
        monkeypatch.setattr("service.cli.operating.restore.migrate", watched_migrate)
        run(*words)
        assert found == [None, None]  # nobody gets in, from the first moment
        assert empty.value("SELECT count(*) FROM build") == 0
        assert empty.value("SELECT count(*) FROM token WHERE revoked_at IS NOT NULL") == 1
    copied = ConsoleReview(tmp_path / "new" / "review.sqlite", "console")
    assert [each.key.number for each in copied.changes_since(None)] == [7]

    [dump] = directory.glob("*.dump")
    dump.write_bytes(dump.read_bytes()[:-1])
    with pytest.raises(BadInput, match="not as the manifest says: take another backup"):
        run("restore", str(directory), "--home", str(tmp_path / "other"))


def test_a_backup_has_the_artifacts_of_a_bucket_and_can_be_restored_into_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store(place: str) -> ArtifactStore:
        monkeypatch.setenv("BENCHGATE_ARTIFACTS", place)
        return artifact_stores(ControlSettings())[ArtifactKind.BUILDS]

    backup = tmp_path / "backup"
    (tmp_path / "s3").mkdir()
    with s3_server(tmp_path / "s3") as s3:
        for name, value in s3.env.items():
            monkeypatch.setenv(name, value)
        key = store(f"s3://{BUCKET}/one").put(b"log")
        run("backup", str(backup))
        assert DirectoryArtifacts(backup / "artifacts").get(key) == b"log"
        monkeypatch.delenv("BENCHGATE_DATABASE_URL")
        restored = store(f"s3://{BUCKET}/two")
        run("restore", str(backup), "--home", str(tmp_path / "new"))
        assert restored.get(key) == b"log"
        assert restored.marked()
        with pytest.raises(BadInput, match=f"s3://{BUCKET}/two has artifacts already"):
            run("restore", str(backup), "--home", str(tmp_path / "other"))


def test_a_backup_counts_only_if_others_were_kept_away_until_its_end(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_sections(url: str, path: Path, programs: Path) -> str:
        database.administer(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        return dump_database(url, path, programs)

    (tmp_path / "home").mkdir()
    monkeypatch.setattr("service.cli.operating.backup.dump_database", lose_sections)
    with pytest.raises(Transient, match="the session that kept others away was lost"):
        run("backup", str(tmp_path / "backup"))
    assert not (tmp_path / "backup" / "manifest.json").exists()
