"""A machine's work in a real database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from tests.support.memory.files import MemoryArtifacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from tests.support.postgres import Database

NASTY = "a\x00b\ud800c"
CLEANED = "a\ufffdb\ufffdc"


def worklist(
    database: Database,
    name: str = "perf-01",
    pool: str = "perf",
    *,
    host: str = "",
    artifacts: MemoryArtifacts | None = None,
    lease_seconds: float = 30.0,
) -> MachineWorklist:
    """The work of a machine that is known."""
    identity = MachineIdentity(name, "c6i.metal", pool, host)
    work = MachineWorklist(database.machine, identity, artifacts or MemoryArtifacts(), lease_seconds)
    work.register("fingerprint-" + name, {"cpu": "8488C"})
    return work


@contextmanager
def claimed(work: MachineWorklist) -> Iterator[ClaimedBuild]:
    """The next build of a machine, held for a while."""
    build = work.claim()
    assert build is not None
    try:
        yield build
    finally:
        build.close()
