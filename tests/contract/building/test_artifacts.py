"""Hold artifacts to one contract: in memory, in a directory, over HTTP, and in a bucket."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest
from obstore.store import MemoryStore

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.adapters.building.object_store import ObjectArtifacts, open_bucket
from service.domain.values.errors import BadInput, NotFound, Permanent
from service.ports.building import ArtifactKind
from service.web.request_deadline import DeadlineProtocol
from tests.support.building.s3_server import BUCKET, s3_server
from tests.support.building.served_artifacts import TOKEN, served
from tests.support.memory.files import MemoryArtifacts
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.building import Artifacts, ArtifactStore
    from tests.support.building.s3_server import S3Server

DATA: Final = b'{"benchmarks": []}\n' * 1000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(served(tmp_path_factory.mktemp("served")), DeadlineProtocol) as address:
        yield address


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


STORES: Final = ("memory", "directory", "bucket in memory", "s3")


def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    """An empty store of the kind that the fixture's parameter names."""
    match request.param:
        case "memory":
            return MemoryArtifacts()
        case "directory":
            return DirectoryArtifacts(tmp_path / "artifacts")
        case "bucket in memory":
            return ObjectArtifacts(MemoryStore(), "memory", tmp_path / "unfinished")
    server: S3Server = request.getfixturevalue("s3")
    patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    for name, value in server.env.items():
        patch.setenv(name, value)
    return open_bucket(f"s3://{BUCKET}/{tmp_path.name}", tmp_path / "unfinished", may_use_http=True)


class TestArtifacts:
    @pytest.fixture(params=[*STORES, "http"])
    def artifacts(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Artifacts]:
        if request.param != "http":
            yield store_of(request, tmp_path)
            return
        (tmp_path / "token").write_text(f"{TOKEN}\n")
        address: str = request.getfixturevalue("address")
        kind, unfinished = ArtifactKind.BUILDS, tmp_path / "unfinished"
        with closing(
            HttpArtifacts(address, MachineToken("perf-01", tmp_path / "token"), kind, unfinished)
        ) as artifacts:
            yield artifacts
            assert not list(unfinished.iterdir())

    @pytest.mark.parametrize("data", [b"", b"x", DATA, b"long" * (1 << 20)])
    def test_equal_bytes_have_one_key(self, artifacts: Artifacts, data: bytes) -> None:
        key = artifacts.put(data)
        assert (artifacts.put(data), artifacts.get(key, at_most=len(data))) == (key, data)
        assert b"".join(artifacts.stream(key)) == data
        assert artifacts.put(data + b"y") != key

    def test_a_file_is_kept_under_the_key_of_its_bytes(self, artifacts: Artifacts, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(DATA)
        key = artifacts.put_file(tmp_path / "in")
        artifacts.get_file(key, tmp_path / "out")
        assert (key, (tmp_path / "out").read_bytes()) == (artifacts.put(DATA), DATA)

    def test_a_file_that_exists_is_not_overwritten(self, artifacts: Artifacts, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("mine")
        with pytest.raises(Permanent):
            artifacts.get_file(artifacts.put(DATA), tmp_path / "out")
        assert (tmp_path / "out").read_text() == "mine"

    @pytest.mark.parametrize("key", ["", "0" * 64, "../" * 21 + "x"])
    def test_an_unknown_key_is_not_found(self, artifacts: Artifacts, tmp_path: Path, key: str) -> None:
        with pytest.raises(NotFound):
            artifacts.get(key)
        with pytest.raises(NotFound):
            list(artifacts.stream(key))
        with pytest.raises(NotFound):
            artifacts.get_file(key, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_more_bytes_than_asked_for_are_refused(self, artifacts: Artifacts) -> None:
        key = artifacts.put(DATA)
        assert artifacts.get(key, at_most=len(DATA)) == DATA
        with pytest.raises(BadInput, match=f"larger than {len(DATA) - 1} bytes"):
            artifacts.get(key, at_most=len(DATA) - 1)


class TestArtifactStore:
    @pytest.fixture(params=STORES)
    def artifacts(self, request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
        return store_of(request, tmp_path)

    def test_a_deleted_artifact_is_gone_and_can_be_stored_again(self, artifacts: ArtifactStore) -> None:
        key, other = artifacts.put(DATA), artifacts.put(b"other")
        assert artifacts.delete(key, 0.0)
        with pytest.raises(NotFound):
            artifacts.get(key)
        assert artifacts.get(other) == b"other"
        assert artifacts.put(DATA) == key
        assert artifacts.get(key) == DATA

    def test_a_recently_stored_artifact_is_not_deleted(self, artifacts: ArtifactStore) -> None:
        key = artifacts.put(DATA)
        assert not artifacts.delete(key, 3600.0)
        assert artifacts.get(key) == DATA

    def test_a_missing_artifact_counts_as_deleted(self, artifacts: ArtifactStore) -> None:
        assert artifacts.delete("0" * 64, 3600.0)

    def test_artifacts_are_listed_by_the_beginning_of_their_keys(self, artifacts: ArtifactStore) -> None:
        keys = sorted(artifacts.put(bytes([number])) for number in range(32))
        for prefix in ("", keys[0][0], keys[0][:2], keys[0][:3], keys[0][:4]):
            listed = sorted(each.key for each in artifacts.listed(prefix))
            assert listed == [key for key in keys if key.startswith(prefix)]
        assert all(each.size > 0 and each.stored_at > 0 for each in artifacts.listed(""))

    def test_a_store_has_the_mark_of_the_last_site_and_it_is_no_artifact(
        self, artifacts: ArtifactStore
    ) -> None:
        assert artifacts.marked() == ""
        for site in ("one", "another"):
            artifacts.mark(site)
        assert artifacts.marked() == "another"
        assert not list(artifacts.listed(""))


class TestIncomingArtifact:
    @pytest.fixture(params=STORES)
    def artifacts(self, request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
        return store_of(request, tmp_path)

    def test_a_transfer_can_be_read_once_it_is_published(self, artifacts: ArtifactStore) -> None:
        key, packed = hashlib.sha256(DATA).hexdigest(), gzip.compress(DATA)
        with closing(artifacts.receive(key)) as incoming:
            for piece in (packed[:9], packed[9:]):
                incoming.take(piece)
            with pytest.raises(NotFound):
                artifacts.get(key)
            assert not list(artifacts.listed(""))
            incoming.publish()
        assert artifacts.get(key) == DATA
        with artifacts.packed(key) as file:
            assert gzip.decompress(file.read()) == DATA

    @pytest.mark.parametrize(
        "sent",
        [b"", DATA, gzip.compress(DATA)[:-1], gzip.compress(DATA + b"y"), gzip.compress(DATA) + b"more"],
        ids=["nothing", "not packed", "cut", "other bytes", "more bytes"],
    )
    def test_other_bytes_than_those_of_the_key_are_not_stored(
        self, artifacts: ArtifactStore, sent: bytes
    ) -> None:
        key = hashlib.sha256(DATA).hexdigest()

        def transfer() -> None:
            with closing(artifacts.receive(key)) as incoming:
                incoming.take(sent)
                incoming.publish()

        with pytest.raises(BadInput, match=key):
            transfer()
        assert not list(artifacts.listed(""))
        with pytest.raises(NotFound):
            artifacts.packed(key)
