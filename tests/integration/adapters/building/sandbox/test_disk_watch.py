"""A program cannot take the whole disk of its machine, and is blamed for its own files only."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox import disk_watch
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.disk_watch import DiskWatch
from service.adapters.building.sandbox.host_faults import HostFaults
from service.adapters.system.disk import counting
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.values.errors import Cancelled, Transient
from tests.integration.adapters.building.sandbox.sandboxed import writable
from tests.support.small_disk import ordinary_user, required_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


def command_of(disk: Path, script: str, quota: int, *more: Mount) -> Command:
    mounts = (writable(disk / "build"), *more)
    return Command(("sh", "-c", script), mounts, limits=Limits(60.0, disk_bytes=quota))


def run(disk: Path, command: Command, watch: Callable[[], None] = lambda: None) -> Completed:
    return HostFaults(BubblewrapSandbox(), disk).run(command, log=BytesIO(), watch=watch)


def test_a_program_that_writes_without_end_is_stopped_at_its_quota(disk: Path) -> None:
    log, command = BytesIO(), command_of(disk, MANY_FILES, 16 * MIB)
    done = HostFaults(BubblewrapSandbox(), disk).run(command, log=log, watch=lambda: None)

    assert done.stopped_by is StoppedBy.DISK
    assert sum(1 for _ in (disk / "build").iterdir()) < 48  # and not when the disk was full
    assert b"== wrote more than 0.015625 GiB" in log.getvalue()


def test_files_without_a_name_blame_nobody(disk: Path) -> None:
    with pytest.raises(Transient, match="disk is full"):
        run(disk, command_of(disk, NO_NAME, 16 * MIB))


def test_a_program_that_cannot_reserve_its_room_failed_because_of_its_host(disk: Path) -> None:
    """Linkers reserve the room for a whole file, which fails at once, so the watch may miss the full disk."""
    (disk / "other").write_bytes(bytes(38 * MIB))
    with pytest.raises(Transient, match=r"too full|is full"):
        run(disk, command_of(disk, "fallocate -l 30M /build/program", 48 * MIB))


def test_a_program_that_finds_no_room_elsewhere_failed_by_itself(disk: Path) -> None:
    """The disk would have taken all that it may write, so that its own /tmp is full, or it makes this up."""
    done = run(disk, command_of(disk, "echo 'program: No space left on device'; exit 1", 16 * MIB))

    assert (done.exit_code, done.stopped_by) == (1, None)


def test_a_program_that_fails_without_a_word_of_the_disk_failed_by_itself(disk: Path) -> None:
    (disk / "other").write_bytes(bytes(16 * MIB))

    assert (
        run(disk, command_of(disk, "head -c 20971520 /dev/zero > /build/f; exit 1", 60 * MIB)).exit_code == 1
    )


def test_nothing_is_counted_beside_a_measured_program_but_at_its_end(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[object] = []

    def noted(directories: Sequence[Path]) -> tuple[str, ...]:
        counts.append(directories)
        return counting(directories)

    monkeypatch.setattr(disk_watch, "counting", noted)
    for size, end in ((8, None), (30, StoppedBy.DISK)):
        script = f"head -c {size * MIB} /dev/zero > /build/f; sleep 0.6"
        done = run(disk, replace(command_of(disk, script, 16 * MIB), has_priority=True))
        assert done.stopped_by is end
    assert len(counts) == 1


def test_a_directory_that_nobody_may_read_is_counted() -> None:
    with TemporaryDirectory() as place, ordinary_user(Path(place)):
        hidden = Path(place) / "build/hidden"
        hidden.mkdir(parents=True)
        (hidden / "f").write_bytes(bytes(2 * MIB))
        hidden.chmod(0o300)
        with DiskWatch(Path(place), command_of(Path(place), "", MIB)) as watched:
            assert watched.holds_too_much(lambda: None)


def test_a_program_beside_somebody_who_fills_the_disk_is_not_blamed(disk: Path) -> None:
    (disk / "others").mkdir()
    others = Mount(disk / "others", "/others", writable=True, is_bounded=True)
    with pytest.raises(Transient, match="disk is full"):
        run(disk, command_of(disk, MANY_FILES.replace("/build", "/others"), 16 * MIB, others))


def test_a_program_below_its_quota_goes_on(disk: Path) -> None:
    done = run(disk, command_of(disk, SLEEP.replace("30", "0.6"), 16 * MIB))

    assert done.is_success


def test_a_slow_count_ends_when_the_work_must(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_watch, "counting", lambda _: ("/bin/sleep", "60"))
    with DiskWatch(disk, command_of(disk, "", MIB)) as watched, pytest.raises(Cancelled):
        watched.holds_too_much(cancel)


def cancel() -> None:
    raise Cancelled
