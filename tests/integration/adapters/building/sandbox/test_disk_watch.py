"""A program cannot take the whole disk of its machine, and is blamed for its own files only."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.host_faults import HostFaults
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.values.errors import Transient
from tests.integration.adapters.building.sandbox.sandboxed import writable
from tests.support.small_disk import required_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed

MIB = 1 << 20
# Each writes slowly enough to be seen, and sleeps when the disk is full, so that only a kill ends it.
MANY_FILES = "k=0; while :; do head -c 1048576 /dev/zero > /build/$k; k=$((k+1)); sleep 0.02; done"
NO_NAME = "exec 3> /build/f; rm /build/f; while :; do head -c 1048576 /dev/zero >&3; sleep 0.02; done"
SLEEP = "head -c 1048576 /dev/zero > /build/f; sleep 30"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with required_disk(tmp_path / "disk", 64) as directory:
        (directory / "build").mkdir()
        yield directory


def run(disk: Path, script: str, quota: int, *more: Mount, log: BytesIO | None = None) -> Completed:
    mounts = (writable(disk / "build"), *more)
    command = Command(("sh", "-c", script), mounts, limits=Limits(60.0, disk_bytes=quota))
    return HostFaults(BubblewrapSandbox(), disk).run(command, log=log, watch=lambda: None)


def test_a_program_that_writes_without_end_is_stopped_at_its_quota(disk: Path) -> None:
    log = BytesIO()
    done = run(disk, MANY_FILES, 16 * MIB, log=log)

    assert done.stopped_by is StoppedBy.DISK
    assert sum(1 for _ in (disk / "build").iterdir()) < 48  # and not when the disk was full
    assert b"== wrote more than 0.015625 GiB" in log.getvalue()


def test_a_program_that_hides_its_files_is_stopped_before_the_disk_is_full(disk: Path) -> None:
    assert run(disk, NO_NAME, 16 * MIB).stopped_by is StoppedBy.DISK


def test_a_program_beside_somebody_who_fills_the_disk_is_not_blamed(disk: Path) -> None:
    (disk / "others").mkdir()
    others = Mount(disk / "others", "/others", writable=True, is_bounded=True)
    with pytest.raises(Transient, match="disk is full"):
        run(disk, MANY_FILES.replace("/build", "/others"), 16 * MIB, others)


def test_a_program_below_its_quota_goes_on(disk: Path) -> None:
    done = run(disk, SLEEP.replace("30", "0.6"), 16 * MIB)

    assert done.is_success
