"""A lack of memory is a program's own at its limit, the host's within the limit, and never a neighbour's."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.host_faults import HostFaults
from service.adapters.building.sandbox.limits import UNIFIED, find_hierarchies
from service.domain.building.sandbox_command import Command, Limits, StoppedBy
from service.domain.values.errors import Transient
from tests.integration.adapters.building.sandbox.sandboxed import PYTHON, QUICK, run, writable
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.adapters.building.sandbox.limits import Hierarchy

pytestmark = pytest.mark.integration

HUNGRY = (PYTHON, "-c", "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))")
SMALL = Limits(wall_seconds=60, memory_bytes=64 << 20)
WAITING = "touch /build/begun; until test -e /build/end; do sleep 0.05; done; exit 3"


@pytest.fixture
def hierarchies() -> tuple[Hierarchy, ...]:
    found = find_hierarchies()
    if not found:
        pytest.skip("this host lets no process divide its control groups")
    return found


@contextmanager
def _below_limit(hierarchy: Hierarchy, limit: int) -> Iterator[Hierarchy]:
    """Limit the memory of all groups of a hierarchy together, as a container does."""
    above = hierarchy.parent / f"test-{os.getpid()}"
    above.mkdir()
    try:
        if hierarchy.version == UNIFIED:
            (above / "cgroup.subtree_control").write_text("+memory +pids")
            limits = {"memory.max": limit, "memory.swap.max": 0}
        else:
            limits = {"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit}
        for name, value in limits.items():
            if (above / name).exists():  # those of swap are missing on some kernels
                (above / name).write_text(str(value))
        yield replace(hierarchy, parent=above, controllers=hierarchy.controllers & {"memory", "pids"})
    finally:
        above.rmdir()


def _killed_on_host() -> int:
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["oom_kill"])


def test_a_neighbour_at_its_memory_limit_is_no_fault_of_the_host(
    hierarchies: tuple[Hierarchy, ...], tmp_path: Path
) -> None:
    one, other = (HostFaults(BubblewrapSandbox(hierarchies=hierarchies), tmp_path) for _ in range(2))
    waiting = Command(("sh", "-c", WAITING), mounts=(writable(tmp_path),), limits=QUICK)
    with ThreadPoolExecutor(1) as beside:
        failing = beside.submit(one.run, waiting, log=None, watch=lambda: None)
        try:
            assert eventually((tmp_path / "begun").exists)
            before = _killed_on_host()
            hungry, _ = run(other, *HUNGRY, limits=SMALL)
            assert _killed_on_host() > before
        finally:
            (tmp_path / "end").touch()

    assert hungry.stopped_by is StoppedBy.MEMORY
    assert (failing.result().exit_code, failing.result().stopped_by) == (3, None)


def test_a_kill_within_the_programs_limit_is_the_hosts_fault(
    hierarchies: tuple[Hierarchy, ...], tmp_path: Path
) -> None:
    place = next(place for place, each in enumerate(hierarchies) if "memory" in each.controllers)
    with _below_limit(hierarchies[place], 64 << 20) as below:
        divided = (*hierarchies[:place], below, *hierarchies[place + 1 :])
        sandbox = HostFaults(BubblewrapSandbox(hierarchies=divided), tmp_path)

        with pytest.raises(Transient, match="out of memory"):
            run(sandbox, *HUNGRY)
        assert run(sandbox, "sh", "-c", "exit 3")[0].exit_code == 3
