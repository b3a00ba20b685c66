"""Hold artifacts to one contract, in memory and in a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building.artifacts import DirectoryArtifacts
from service.domain.values.errors import BadInput, NotFound, Permanent
from tests.support.memory.files import MemoryArtifacts

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.building import Artifacts

DATA = b'{"benchmarks": []}\n' * 1000


class TestArtifacts:
    @pytest.fixture(params=["memory", "directory"])
    def artifacts(self, request: pytest.FixtureRequest, tmp_path: Path) -> Artifacts:
        return MemoryArtifacts() if request.param == "memory" else DirectoryArtifacts(tmp_path / "artifacts")

    @pytest.mark.parametrize("data", [b"", b"x", DATA])
    def test_equal_bytes_have_one_key(self, artifacts: Artifacts, data: bytes) -> None:
        key = artifacts.put(data)
        assert (artifacts.put(data), artifacts.get(key)) == (key, data)
        assert artifacts.put(data + b"y") != key

    def test_a_file_is_kept_under_the_key_of_its_bytes(self, artifacts: Artifacts, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(DATA)
        key = artifacts.put_file(tmp_path / "in")
        artifacts.get_file(key, tmp_path / "out")
        assert (key, (tmp_path / "out").read_bytes()) == (artifacts.put(DATA), DATA)

    @pytest.mark.parametrize("data", [b"", b"x", DATA, b"long" * (1 << 20)])
    def test_a_stream_has_the_size_and_the_bytes(self, artifacts: Artifacts, data: bytes) -> None:
        size, chunks = artifacts.stream(artifacts.put(data))
        assert (size, b"".join(chunks)) == (len(data), data)

    def test_a_file_that_exists_is_not_overwritten(self, artifacts: Artifacts, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("mine")
        with pytest.raises(Permanent):
            artifacts.get_file(artifacts.put(DATA), tmp_path / "out")
        assert (tmp_path / "out").read_text() == "mine"

    @pytest.mark.parametrize("key", ["", "0" * 64])
    def test_an_unknown_key_is_not_found(self, artifacts: Artifacts, tmp_path: Path, key: str) -> None:
        with pytest.raises(NotFound):
            artifacts.get(key)
        with pytest.raises(NotFound):
            artifacts.stream(key)
        with pytest.raises(NotFound):
            artifacts.get_file(key, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_deleted_artifact_is_gone_and_can_be_stored_again(self, artifacts: Artifacts) -> None:
        key, other = artifacts.put(DATA), artifacts.put(b"other")
        assert artifacts.delete(key, 0.0)
        with pytest.raises(NotFound):
            artifacts.get(key)
        assert artifacts.get(other) == b"other"
        assert artifacts.put(DATA) == key
        assert artifacts.get(key) == DATA

    def test_a_recently_stored_artifact_is_not_deleted(self, artifacts: Artifacts) -> None:
        key = artifacts.put(DATA)
        assert not artifacts.delete(key, 3600.0)
        assert artifacts.get(key) == DATA

    def test_a_missing_artifact_counts_as_deleted(self, artifacts: Artifacts) -> None:
        assert artifacts.delete("0" * 64, 3600.0)

    def test_more_bytes_than_asked_for_are_refused(self, artifacts: Artifacts) -> None:
        key = artifacts.put(DATA)
        assert artifacts.get(key, at_most=len(DATA)) == DATA
        with pytest.raises(BadInput, match=f"larger than {len(DATA) - 1} bytes"):
            artifacts.get(key, at_most=len(DATA) - 1)
