"""Where a machine gets builds and reports them, with the rights of the machines' role only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from service.adapters.postgres.machine.calls import call
from service.adapters.postgres.machine.renewal import RETRY_SECONDS, Renewal
from service.domain.errors import Transient
from service.domain.measuring.pair_record import PairRecord
from service.ports.machine import Claimed, Worklist

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Engine, Row

    from service.domain.building.binary_key import BinaryKey
    from service.ports.building import Artifacts

LEASE_SECONDS: Final = (
    15.0  # a machine that died is noticed within this; a restart of the database is survived
)


class MachineWorklist(Worklist):
    """Builds of a pool, claimed one at a time.

    Args:
        engine: connections of the machines' role.
        name: this machine's own name.
        machine_class: the machines it may be compared with.
        pool: whose builds it takes.
        artifacts: where raw results and logs go.
        lease_seconds: how long a build waits for a machine that fell silent.
        clock: seconds that pass also while the process is stopped.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        machine_class: str,
        pool: str,
        artifacts: Artifacts,
        lease_seconds: float = LEASE_SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._name = name
        self._machine_class = machine_class
        self._pool = pool
        self._artifacts = artifacts
        self._lease_seconds = lease_seconds
        self._clock = clock

    def register(self, fingerprint: str, facts: Mapping[str, Any]) -> None:
        """Make this machine known with its environment."""
        call(
            self._engine,
            "introduce",
            name=self._name,
            machine_class=self._machine_class,
            pool=self._pool,
            fingerprint=fingerprint,
            facts=facts,
        )

    def claim(self) -> ClaimedBuild | None:
        """The next build of this machine's pool; None when there is nothing to do.

        There is nothing to do either for a machine that was not introduced or holds a build already.
        """
        claimed_at = self._clock()
        rows = call(self._engine, "claim", name=self._name, seconds=self._lease_seconds)
        if not rows:
            return None
        row = rows[0]
        renewal = Renewal(
            self._engine,
            row.build_id,
            row.token,
            seconds=self._lease_seconds,
            claimed_at=claimed_at,
            clock=self._clock,
        )
        return ClaimedBuild(self._engine, self._artifacts, row, renewal)

    def heartbeat(self, obstacle: str | None = None) -> None:
        """Leave a sign of life; what keeps this machine from taking work, where that is known now."""
        call(self._engine, "see", name=self._name, obstacle=obstacle)


class ClaimedBuild(Claimed):
    """A build under a lease.

    Args:
        engine: connections of the machines' role.
        artifacts: where raw results and logs go.
        row: what the claim gave.
        renewal: what keeps the lease; closed with this.
    """

    def __init__(self, engine: Engine, artifacts: Artifacts, row: Row[Any], renewal: Renewal) -> None:
        self._engine = engine
        self._artifacts = artifacts
        self._row = row
        self._renewal = renewal

    @property
    def name(self) -> str:
        """Job and number, for logs."""
        return f"{self._row.job}/{self._row.number}"

    @property
    def spec(self) -> Mapping[str, Any]:
        """What to do, frozen when it was planned."""
        spec: Mapping[str, Any] = self._row.spec
        return spec

    @property
    def seed(self) -> str:
        """The seed of every random choice of the measuring."""
        return str(self._row.seed or "")

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return int(self._row.attempt)

    def watch(self) -> None:
        """Raise Cancelled or LeaseLost when the work should end; asks this process only."""
        self._renewal.watch()

    def enter(self, phase: str) -> None:
        """Say what is being done; shown on the pages."""
        self._renewal.watch()
        self._renewal.enter(phase)

    def find(self, key: BinaryKey) -> str | None:
        """The artifact of a binary built earlier."""
        rows = self._call("find_binary", digest=key.digest)
        return rows[0].artifact if rows else None

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        """Remember a binary; the first one kept under a key stays."""
        self._call("keep_binary", digest=key.digest, artifact=artifact, manifest=manifest)

    def fix_listing(self, listing: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Store what will be measured; the listing that was stored first is returned."""
        fixed: Sequence[Mapping[str, Any]] = self._call("fix_listing", listing=listing)[0][0]
        return fixed

    def pairs(self) -> Sequence[PairRecord]:
        """Every complete pair in order of variant and number, whichever build measured it."""
        return [
            PairRecord(row.pair, self._artifacts.get(row.artifact), row.variant)
            for row in self._call("read_pairs")
        ]

    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        """Store a complete pair; one that was stored under this variant and number earlier stays.

        Args:
            pair: its numbers and its whole record.
            launches: ``suite``, ``side`` and ``facts`` of each launch; at least one.
        """
        artifact = self._artifacts.put(pair.raw)
        self._call("record_pair", variant=pair.variant, pair=pair.pair, artifact=artifact, launches=launches)

    def complete(self, execution: Mapping[str, Any], log: bytes) -> None:
        """Report the end of the machine's work; the lease ends with it."""
        self._call("execute", execution=execution, log=self._artifacts.put(log))

    def release(self, delay: float = 0.0) -> None:
        """Hand the build back: unharmed without a delay, else as an attempt that met a passing fault.

        Args:
            delay: seconds before it may be claimed again.
        """
        self._call("release", delay=delay)

    def close(self) -> None:
        """Stop renewing; always called. A build that was neither executed nor released is lost soon."""
        self._renewal.close()

    def _call(self, function: str, **values: object) -> Sequence[Row[Any]]:
        """A function with the fencing token, tried again while the lease lasts: a repetition does no harm.

        Raises:
            LeaseLost: another worker holds the build.
            Transient: the database was away for the rest of the lease.
        """
        while True:
            try:
                return call(self._engine, function, build=self._row.build_id, token=self._row.token, **values)
            except Transient:
                if not self._renewal.is_held:
                    raise
                self._renewal.wait(RETRY_SECONDS)
