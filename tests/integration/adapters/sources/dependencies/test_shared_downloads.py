"""Downloaded files that machines share in the artifact directory."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.sources.dependencies import cache
from tests.integration.adapters.sources.dependencies.test_cache import archive, contents, keep_on, machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox


def test_another_machine_downloads_nothing(tmp_path: Path, sandbox: BubblewrapSandbox) -> None:
    fmt = archive(tmp_path / "fmt.tar.gz", a="f")
    machine(tmp_path, sandbox).provide({"fmt": fmt}, keep_on)
    (tmp_path / "fmt.tar.gz").unlink()

    place = machine(tmp_path, sandbox, name="of another").provide({"fmt": fmt}, keep_on)

    assert contents(place) == {"fmt/a.h": "f"}


def test_a_damaged_shared_download_is_replaced(tmp_path: Path, sandbox: BubblewrapSandbox) -> None:
    fmt = archive(tmp_path / "fmt.tar.gz", a="f")
    machine(tmp_path, sandbox).provide({"fmt": fmt}, keep_on)
    (shared,) = (tmp_path / "shared").rglob("*.gz")
    shared.write_bytes(b"damaged")

    for name in ("a second", "a third"):
        place = machine(tmp_path, sandbox, name=name).provide({"fmt": fmt}, keep_on)
        assert contents(place) == {"fmt/a.h": "f"}
        (tmp_path / "fmt.tar.gz").unlink(missing_ok=True)


def test_a_damaged_shared_download_is_not_unpacked_to_its_end(
    tmp_path: Path,
    sandbox: BubblewrapSandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A small compressed file may be a thousand times longer than a download may be."""
    fmt = {"fmt.tar.gz": archive(tmp_path / "fmt.tar.gz", a="f")}  # by this name, it stays packed
    machine(tmp_path, sandbox).provide(fmt, keep_on)
    (shared,) = (tmp_path / "shared").rglob("*.gz")
    shared.write_bytes(gzip.compress(bytes(8 << 20)))
    monkeypatch.setattr(cache, "DOWNLOAD_BYTES", 1 << 20)
    pieces: list[None] = []

    place = machine(tmp_path, sandbox, name="another").provide(fmt, lambda: pieces.append(None))

    assert (place / "fmt.tar.gz").read_bytes() == (tmp_path / "fmt.tar.gz").read_bytes()
    assert len(pieces) == 3  # two of the damaged one, and the file


def test_the_work_may_end_while_it_waits_for_the_shared_files(
    tmp_path: Path, sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[Callable[[], None]] = []

    def watched(store: DirectoryArtifacts, watch: Callable[[], None]) -> DirectoryArtifacts:
        watches.append(watch)
        return store

    monkeypatch.setattr(DirectoryArtifacts, "watched", watched)
    machine(tmp_path, sandbox).provide({"fmt": archive(tmp_path / "fmt.tar.gz", a="f")}, keep_on)
    assert watches == [keep_on]
