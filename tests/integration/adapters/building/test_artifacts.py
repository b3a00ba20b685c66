"""Artifacts are returned unchanged, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.compressed import STALE_SECONDS
from service.domain.values.errors import BadInput, BadResults, NotFound, Permanent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.integration

DATA = b'{"benchmarks": []}\n' * 1000


@pytest.fixture
def artifacts(tmp_path: Path) -> DirectoryArtifacts:
    return DirectoryArtifacts(tmp_path / "artifacts")


def stored(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "artifacts").rglob("*") if path.is_file())


@pytest.mark.parametrize("data", [b"", b"x", DATA, bytes(range(256)) * 20_000])
def test_stored_bytes_are_returned(artifacts: DirectoryArtifacts, data: bytes) -> None:
    assert artifacts.get(artifacts.put(data)) == data


def test_the_key_is_the_digest_of_the_bytes(artifacts: DirectoryArtifacts) -> None:
    assert artifacts.put(DATA) == hashlib.sha256(DATA).hexdigest()


def test_equal_bytes_are_stored_once(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    key = artifacts.put(DATA)
    (path,) = stored(tmp_path)
    before = path.read_bytes()
    assert artifacts.put(DATA) == key
    assert stored(tmp_path) == [path]
    assert path.read_bytes() == before
    assert path.relative_to(tmp_path).parts[1:3] == (key[:2], key[2:4])
    assert len(before) < len(DATA) // 10


def test_a_stored_file_is_returned(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(DATA)
    key = artifacts.put_file(tmp_path / "in")
    artifacts.get_file(key, tmp_path / "out")
    assert key == artifacts.put(DATA)
    assert (tmp_path / "out").read_bytes() == DATA


def test_a_file_that_exists_is_not_overwritten(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(Permanent):
        artifacts.get_file(artifacts.put(DATA), tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_symbolic_link_or_fifo_is_refused(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(BadResults):
            artifacts.put_file(tmp_path / name)
    assert not stored(tmp_path)


@pytest.mark.parametrize("key", ["", "0" * 63, "A" * 64, "../" * 21 + "x", "0" * 64 + "\n", "0" * 64])
def test_an_invalid_or_unknown_key_is_not_found(artifacts: DirectoryArtifacts, key: str) -> None:
    with pytest.raises(NotFound):
        artifacts.get(key)


def test_no_more_than_the_limit_is_read_into_memory(artifacts: DirectoryArtifacts) -> None:
    key = artifacts.put(bytes(32 << 20))
    with pytest.raises(BadInput, match="1048576"):
        artifacts.get(key, at_most=1 << 20)
    assert len(artifacts.get(key, at_most=32 << 20)) == 32 << 20


def truncated(packed: bytes) -> bytes:
    return packed[: len(packed) // 2]


def emptied(_: bytes) -> bytes:
    return b""


def flipped(packed: bytes) -> bytes:
    return packed[:30] + bytes([packed[30] ^ 0xFF]) + packed[31:]


def exchanged(_: bytes) -> bytes:
    return gzip.compress(b"something else")


def prolonged(packed: bytes) -> bytes:
    return packed + b"garbage"


@pytest.mark.parametrize("damage", [truncated, emptied, flipped, exchanged, prolonged])
def test_damaged_bytes_are_never_returned(
    artifacts: DirectoryArtifacts, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    key = artifacts.put(DATA)
    (path,) = stored(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Permanent, match=key):
        artifacts.get(key)
    with pytest.raises(Permanent, match=key):
        artifacts.get_file(key, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    artifacts.put(DATA)
    assert artifacts.get(key) == DATA


def test_a_full_disk_is_transient_and_leaves_no_file(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    """A size limit on the process replaces a full disk: a write fails after its first part."""
    key = artifacts.put(bytes(1 << 20))
    before = stored(tmp_path)
    program = """
import os, pathlib, resource, signal, sys
from service.adapters.building.artifacts import DirectoryArtifacts
from service.domain.values.errors import Transient
root, key = pathlib.Path(sys.argv[1]), sys.argv[2]
artifacts = DirectoryArtifacts(root / "artifacts")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
refused = 0
for attempt in (lambda: artifacts.put(os.urandom(1 << 20)), lambda: artifacts.get_file(key, root / "out")):
    try:
        attempt()
    except Transient:
        refused += 1
sys.exit(refused)
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path), key], check=False)
    assert ended.returncode == 2
    assert stored(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_a_writer_killed_before_the_rename_leaves_nothing_under_a_key(tmp_path: Path) -> None:
    program = """
import os, pathlib, signal, sys
from service.adapters.building import artifacts
class Dying(artifacts.DirectoryArtifacts):
    def _publish(self, unfinished, key):
        os.kill(os.getpid(), signal.SIGKILL)
Dying(pathlib.Path(sys.argv[1])).put(b"x" * 100000)
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "artifacts")], check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = stored(tmp_path)
    assert left.parent.name == "incoming"
    with pytest.raises(NotFound):
        DirectoryArtifacts(tmp_path / "artifacts").get(hashlib.sha256(b"x" * 100000).hexdigest())
    assert left.exists(), "it may be another process's, still being written"
    long_ago = time.time() - STALE_SECONDS - 60
    os.utime(left, (long_ago, long_ago))
    DirectoryArtifacts(tmp_path / "artifacts")
    assert not stored(tmp_path)


def test_many_processes_can_write_the_same_bytes(tmp_path: Path) -> None:
    program = """
import pathlib, sys
from service.adapters.building.artifacts import DirectoryArtifacts
artifacts = DirectoryArtifacts(pathlib.Path(sys.argv[1]))
for number in range(40):
    data = str(number % 4).encode() * 300_000
    assert artifacts.get(artifacts.put(data)) == data
"""
    argv = [sys.executable, "-c", program, str(tmp_path / "artifacts")]
    processes = [subprocess.Popen(argv) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert len(stored(tmp_path)) == 4
