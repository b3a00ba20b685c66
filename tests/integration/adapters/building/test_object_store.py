"""A bucket loses and shows nothing wrong when a process, the server or a right is missing."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any, Final

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import LocalStore, MemoryStore

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.compressed import STALE_SECONDS, place_of
from service.adapters.building.object_store import ObjectArtifacts, open_bucket
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput, NotFound, Permanent, Refused, Transient
from service.ports.building import ArtifactKind
from service.steps.building.copy_artifacts import copy_artifacts
from service.wiring.artifact_stores import artifact_stores
from tests.support.building.s3_server import BUCKET, SECRET, s3_server
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from obstore.store import ObjectStore

    from tests.support.building.s3_server import S3Server

pytestmark = pytest.mark.integration
DATA: Final = b"a line of a log\n" * 1000
KEY: Final = hashlib.sha256(DATA).hexdigest()
LARGE: Final = Random("large").randbytes(20 << 20)  # noqa: S311 - repeatable on purpose
OLD: Final = -1.0  # as if all were stored long ago


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(autouse=True)
def _environment(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)


def bucket(tmp_path: Path, name: str = "") -> ObjectArtifacts:
    place = f"s3://{name or BUCKET}/{tmp_path.name}"
    return open_bucket(place, tmp_path / "unfinished", may_use_http=True)


@pytest.mark.parametrize(
    "packed", [gzip.compress(DATA)[:-1], b"", gzip.compress(b"other")], ids=["cut", "empty", "other bytes"]
)
def test_a_damaged_object_is_never_returned_and_is_repaired(tmp_path: Path, packed: bytes) -> None:
    store = MemoryStore()
    artifacts = ObjectArtifacts(store, "memory", tmp_path / "unfinished")
    obstore.put(store, place_of(KEY), packed)
    with pytest.raises(Permanent, match=f"{KEY} is damaged"):
        artifacts.get_file(KEY, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    artifacts.put(DATA)
    assert artifacts.get(KEY) == DATA


def test_an_artifact_that_is_replaced_while_it_is_read_is_not_mixed(tmp_path: Path) -> None:
    store = MemoryStore()
    artifacts = ObjectArtifacts(store, "memory", tmp_path / "unfinished")
    key = artifacts.put(LARGE)
    with artifacts.packed(key) as file:
        file.read(1)
        obstore.put(store, place_of(key), gzip.compress(LARGE, 1))
        with pytest.raises(Transient, match="was stored again"):
            file.read()


def test_an_upload_of_a_killed_process_leaves_nothing_to_read(server: S3Server, tmp_path: Path) -> None:
    program = """
import pathlib, random, sys
from service.adapters.building.object_store import open_bucket
artifacts = open_bucket(sys.argv[1], pathlib.Path(sys.argv[2]), may_use_http=True)
print(artifacts.put(random.Random("large").randbytes(20 << 20)))
"""
    place = f"s3://{BUCKET}/{tmp_path.name}"
    argv = [sys.executable, "-c", program, place, str(tmp_path / "unfinished")]
    before = set(server.files.rglob("*"))
    with subprocess.Popen(argv) as process:
        assert eventually(lambda: any(path.is_file() for path in {*server.files.rglob("*")} - before))
        process.kill()
    assert process.returncode == -signal.SIGKILL
    artifacts, key = bucket(tmp_path), hashlib.sha256(LARGE).hexdigest()
    assert not list(artifacts.listed(""))
    with pytest.raises(NotFound):
        artifacts.packed(key)
    assert artifacts.put(LARGE) == key
    assert hashlib.sha256(b"".join(artifacts.stream(key))).hexdigest() == key


def test_a_deletion_of_what_is_missing_may_be_answered_by_404(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure does so, and S3 does not."""
    artifacts, delete = bucket(tmp_path), obstore.delete

    def as_azure(store: ObjectStore, place: str) -> None:
        obstore.head(store, place)
        delete(store, place)

    monkeypatch.setattr(obstore, "delete", as_azure)
    assert artifacts.delete(KEY, 0.0)


def test_a_server_that_is_away_is_a_passing_fault(server: S3Server, tmp_path: Path) -> None:
    artifacts = bucket(tmp_path)
    key = artifacts.put(LARGE)
    with artifacts.packed(key) as file:
        file.read(1)
        server.kill()
        with pytest.raises(Transient, match=f"artifact {key}: Connection refused"):
            file.read()
    try:
        for attempt in (lambda: artifacts.put(DATA), lambda: list(artifacts.listed("a")), artifacts.marked):
            with pytest.raises(Transient, match=f"s3://{BUCKET}/.*: Connection refused") as error:
                attempt()
            assert not isinstance(error.value, Refused)
    finally:
        server.start()
    assert artifacts.get(artifacts.put(DATA)) == DATA


def test_what_an_operator_must_set_right_is_named_without_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = bucket(tmp_path, "missing")
    with pytest.raises(Refused, match=r"s3://missing/.*: there is no such bucket"):
        missing.put(DATA)
    for read in (lambda: list(missing.listed("a")), lambda: missing.get(KEY)):
        with pytest.raises(Refused, match="there is no such bucket"):
            read()
    with pytest.raises(Refused, match="needs AWS_ALLOW_HTTP=true"):
        open_bucket(f"s3://{BUCKET}", tmp_path / "unfinished").put(DATA)
    own = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:99999")  # the client panics
    with pytest.raises(Refused, match="the client of the bucket cannot work with it"):
        bucket(tmp_path).put(DATA)
    monkeypatch.setenv("AWS_ENDPOINT_URL", own)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    with pytest.raises(Refused, match="access is denied"):
        list(bucket(tmp_path).listed("a"))
    with pytest.raises(Refused, match=r"access is denied \(403, SignatureDoesNotMatch") as refused:
        bucket(tmp_path).put(DATA)
    assert not {SECRET, "another-secret"} & set(str(refused.value).split())
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", own)
    with pytest.raises(Refused, match="no credentials were found"):
        bucket(tmp_path).put(DATA)


@pytest.mark.parametrize("name", ["SECRET_ACCESS_KEY", "SESSION_TOKEN", "ENDPOINT_URL", "CHECKSUM_ALGORITHM"])
def test_a_variable_that_the_client_cannot_use_is_named_without_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"AWS_{name}", "a s3cret\n")
    with pytest.raises(ValueError, match=f"AWS_{name}") as refused:
        bucket(tmp_path)
    assert "cret" not in str(refused.value)


def test_a_process_may_fork_after_it_chose_the_bucket(tmp_path: Path) -> None:
    """The control worker does so: the client starts its threads at the first request."""
    program = """
import os, sys
from service.config.control import ControlSettings
from service.wiring.artifact_stores import artifact_stores
stores = artifact_stores(ControlSettings(artifacts=sys.argv[1], home=sys.argv[2]))
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
[store.get(store.put(b"log")) for store in stores.values()]
"""
    argv = [sys.executable, "-c", program, f"s3://{BUCKET}/{tmp_path.name}", str(tmp_path)]
    subprocess.run(argv, check=True, timeout=60)


def test_an_artifact_stored_again_while_it_is_deleted_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion has seen an old artifact when the other process stores it."""
    artifacts = bucket(tmp_path)
    artifacts.put(DATA)
    put, delete, stored = obstore.put, obstore.delete, threading.Event()
    other = threading.Thread(target=lambda: bucket(tmp_path).put(DATA))

    def put_and_tell(*words: Any, **options: Any) -> Any:  # noqa: ANN401 - what the client has
        put(*words, **options)
        if threading.current_thread() is other:
            stored.set()

    def delete_after_it(store: ObjectStore, place: str) -> None:
        if place == place_of(KEY):
            other.start()
            assert stored.wait(30)
        delete(store, place)

    monkeypatch.setattr(obstore, "put", put_and_tell)
    monkeypatch.setattr(obstore, "delete", delete_after_it)
    assert artifacts.delete(KEY, OLD)
    other.join()
    assert artifacts.get(KEY) == DATA
    assert [each.key for each in artifacts.listed("")] == [KEY]


def test_a_writer_waits_while_a_deletion_may_still_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another deletion ended meanwhile, and the server gave no answer."""

    def write_and_lose_answer(*_: object) -> None:
        monkeypatch.setattr(obstore, "delete", delete)
        assert artifacts.delete(KEY, OLD)
        with pytest.raises(pytest.fail.Exception, match="waits"):
            artifacts.put(DATA)
        raise GenericError("timed out")

    artifacts, delete = ObjectArtifacts(MemoryStore(), "memory", tmp_path), obstore.delete
    artifacts.put(DATA)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waits"))
    monkeypatch.setattr(obstore, "delete", write_and_lose_answer)
    with pytest.raises(Transient, match="not answer"):
        artifacts.delete(KEY, OLD)
    with pytest.raises(pytest.fail.Exception, match="waits"):
        artifacts.put(DATA)


@pytest.mark.parametrize("clock_stops", [True, False])
def test_a_deletion_that_was_stopped_for_minutes_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, clock_stops: bool
) -> None:
    """Its clock may stop with it: then it finds that a writer waited no longer, and removed the note."""
    artifacts, head, now = ObjectArtifacts(MemoryStore(), "memory", tmp_path), obstore.head, [0.0]
    artifacts.put(DATA)

    def head_and_stop(store: ObjectStore, place: str) -> Any:  # noqa: ANN401 - what the client has
        found = head(store, place)
        if place == place_of(KEY):
            monkeypatch.setattr(obstore, "head", head)
            if clock_stops:
                artifacts.put(DATA)
            now.append(0.0 if clock_stops else 61.0)
        return found

    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    monkeypatch.setattr(time, "sleep", lambda _: now.append(now[-1] + 200.0))
    monkeypatch.setattr(obstore, "head", head_and_stop)
    assert not artifacts.delete(KEY, OLD)
    assert artifacts.get(KEY) == DATA


def test_a_note_of_a_killed_process_delays_nobody_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = ObjectArtifacts(LocalStore(tmp_path / "bucket", mkdir=True), "local", tmp_path / "unfinished")
    note = tmp_path / f"bucket/deleting/{KEY}/killed"
    note.parent.mkdir(parents=True)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waits"))
    for age in (301.0, STALE_SECONDS + 60):
        note.touch()
        os.utime(note, (time.time() - age,) * 2)
        assert artifacts.put(DATA) == KEY if age == 301.0 else list(artifacts.listed(KEY[:4]))
        assert not note.exists()


def test_both_stores_of_the_control_plane_lie_in_the_bucket_as_in_a_directory(
    server: S3Server, tmp_path: Path
) -> None:
    directory = DirectoryArtifacts(tmp_path / "artifacts")
    directory.put(DATA)
    settings = ControlSettings(artifacts=f"s3://{BUCKET}/site/", home=tmp_path)
    stores = artifact_stores(settings)
    assert copy_artifacts(directory, stores[ArtifactKind.BUILDS], lambda _: None).count == 1
    stores[ArtifactKind.DOWNLOADS].put(b"zlib")
    files = {str(path.relative_to(server.files)) for path in server.files.rglob("site/**/*.gz")}
    zlib = place_of(hashlib.sha256(b"zlib").hexdigest())
    assert files == {f"site/{place_of(KEY)}", f"site/downloads/{zlib}"}
    assert [each.key for each in stores[ArtifactKind.BUILDS].listed("")] == [KEY]


def test_a_provider_without_its_variables_is_refused(tmp_path: Path) -> None:
    settings = ControlSettings(artifacts="az://container/prefix", home=tmp_path)
    with pytest.raises(BadInput, match="BENCHGATE_ARTIFACTS: the bucket cannot be used: Account must be"):
        artifact_stores(settings)
