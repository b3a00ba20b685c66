"""Claim a machine's builds in PostgreSQL, with the rights of the machines' role only."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from service.adapters.postgres.machines.calls import call
from service.adapters.postgres.machines.lease_renewal import RETRY_SECONDS, Renewal
from service.adapters.postgres.machines.log_shipping import LogChunks, LogShipping
from service.adapters.postgres.persisted import listings_from, mappings_of_listings
from service.domain.measuring.pair_record import PairRecord
from service.domain.values.errors import Cancelled, Overdue, Transient
from service.ports.machines import Claimed, Upcoming, Worklist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Engine, Row

    from service.domain.building.spec import BinaryKey
    from service.domain.measuring.listing import Listing
    from service.ports.building import Artifacts
    from service.ports.machines import BuildOutput

# A dead machine is noticed within this time; a restart of the database does not end a lease.
LEASE_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """The machine of a worker.

    Args:
        name: its own name.
        machine_class: the machines it may be compared with.
        pool: it takes this pool's builds.
        host: the host that it shares with other machines; empty: one of its own, with its name.
        builds_beside: how many ordinary builds may run on the host at once.
        install: the ID of this installation of the host; empty: not known.
        version: of this program.
    """

    name: str
    machine_class: str
    pool: str
    host: str = ""
    builds_beside: int = 1
    install: str = ""
    version: str = ""


class MachineWorklist(Worklist):
    """Builds of a pool, claimed one at a time.

    Args:
        engine: connections of the machines' role.
        machine: the machine of this worker.
        artifacts: raw results and logs are stored there.
        lease_seconds: how long a build waits for a machine that fell silent.
        clock: seconds that pass also while the process is stopped.
    """

    def __init__(
        self,
        engine: Engine,
        machine: MachineIdentity,
        artifacts: Artifacts,
        lease_seconds: float = LEASE_SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._machine = machine
        self._artifacts = artifacts
        self._lease_seconds = lease_seconds
        self._clock = clock

    @override
    def register(self, fingerprint: str, facts: Mapping[str, Any]) -> None:
        machine = {**asdict(self._machine), "host": self._machine.host or self._machine.name}
        about = {"install": machine.pop("install") or None, "version": machine.pop("version")}
        call(self._engine, "introduce", **machine, fingerprint=fingerprint, facts=facts, about=about)

    @override
    def peek(self) -> Upcoming:
        [row] = call(self._engine, "peek", name=self._machine.name)
        return Upcoming(row.peek)

    @override
    def claim(self, *, may_measure: bool = True) -> ClaimedBuild | None:
        claimed_at = self._clock()
        name, seconds = self._machine.name, self._lease_seconds
        rows = call(self._engine, "claim", name=name, seconds=seconds, may_measure=may_measure)
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

    @override
    def heartbeat(self, obstacle: str | None = None) -> None:
        call(self._engine, "see", name=self._machine.name, obstacle=obstacle)


class ClaimedBuild(Claimed):
    """A build under a lease.

    Args:
        engine: connections of the machines' role.
        artifacts: raw results and logs are stored there.
        row: of the claim.
        renewal: of the lease; closed with this.
    """

    def __init__(self, engine: Engine, artifacts: Artifacts, row: Row[Any], renewal: Renewal) -> None:
        self._engine = engine
        self._store = artifacts
        self._artifacts = artifacts.watched(renewal.watch)
        self._row = row
        self._renewal = renewal
        self._watch = renewal.watch
        self._shipping: LogShipping | None = None

    @property
    @override
    def name(self) -> str:
        return f"{self._row.job}/{self._row.number}"

    @property
    @override
    def spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self._row.spec
        return spec

    @property
    @override
    def seed(self) -> str:
        return str(self._row.seed or "")

    @override
    def asked_by(self) -> Mapping[str, Any]:
        rows = self._call("asked_by")
        return rows[0]._asdict() if rows else {}

    @property
    @override
    def attempt(self) -> int:
        return int(self._row.attempt)

    @override
    def watch(self) -> None:
        self._renewal.watch()

    @override
    def enter(self, phase: str) -> None:
        self._renewal.watch()
        self._renewal.enter(phase)

    @override
    def tell(self, progress: str) -> None:
        self._renewal.tell(progress)

    @override
    def find(self, key: BinaryKey) -> str | None:
        rows = self._call("find_binary", digest=key.digest)
        return rows[0].artifact if rows else None

    @override
    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        self._call("keep_binary", digest=key.digest, artifact=artifact, manifest=manifest)

    @override
    def fix_listings(self, listings: Sequence[Listing]) -> Sequence[Listing]:
        return listings_from(self._call("fix_listing", listing=mappings_of_listings(listings))[0][0])

    @override
    def pairs(self) -> Sequence[PairRecord]:
        return [
            PairRecord(row.pair, self._artifacts.get(row.artifact), row.variant)
            for row in self._call("read_pairs")
        ]

    @override
    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        artifact = self._artifacts.put(pair.raw)
        self._call("record_pair", variant=pair.variant, pair=pair.pair, artifact=artifact, launches=launches)

    @override
    @contextmanager
    def publish(self, log: BuildOutput, watch: Callable[[], None]) -> Iterator[None]:
        lease = self._row.build_id, self._row.token
        self._watch, self._artifacts = watch, self._store.watched(watch)
        self._shipping = LogShipping(self._engine, lease, LogChunks(log, self._store))
        try:
            yield
        finally:
            self._end_shipping()

    def _end_shipping(self) -> None:
        if self._shipping is not None:
            self._shipping.close()
            self._shipping = None

    @override
    def complete(self, execution: Mapping[str, Any]) -> None:
        self._finish_log()
        self._call("execute", execution=execution, log=None)

    @override
    def report(self, execution: Mapping[str, Any], watch: Callable[[], None]) -> None:
        self._finish_log()
        self._end_shipping()
        self._call("report", execution=execution, log=None)
        self._watch, self._artifacts = watch, self._store.watched(watch)

    def _finish_log(self) -> None:
        if self._shipping is not None:
            with suppress(Cancelled, Overdue):  # nobody waits for the rest of the log
                self._shipping.finish(self._call, self._watch)

    @override
    def explain(self, packed: bytes) -> None:
        self._call("explain", packed=packed)

    @override
    def release(self, delay: float = 0.0) -> None:
        if self._shipping is not None:
            with suppress(Transient):  # perhaps the reason for the release
                self._shipping.finish(self._call, _try_once)
        self._call("release", delay=delay)

    @override
    def close(self) -> None:
        self._renewal.close()

    def _call(self, function: str, /, **values: object) -> Sequence[Row[Any]]:
        """Call a function with the fencing token; retry while the lease lasts, because calls are idempotent.

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


def _try_once() -> None:
    """End a wait at its beginning."""
    raise Transient("the build is being handed back")
