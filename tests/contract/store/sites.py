"""Sites for the store's contract: a memory, and PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlalchemy import update

from service.adapters.postgres import schema as t
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.persisted import mappings_of_listings
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.trunk.notices import PostgresNotices
from service.adapters.postgres.upkeep import PostgresUpkeep
from service.domain.runs.vote import Outcome
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.ports.access import NewToken
from tests.integration.postgres.samples import worklist
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.state import Lease
from tests.support.memory.store import MemoryStore
from tests.support.memory.tokens import MemoryTokens
from tests.support.memory.trunk import MemoryNotices
from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from service.domain.measuring.listing import Listing
    from service.ports.access import AuditLog
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from service.ports.trunk import DueNotices
    from service.ports.verdict import StoredPair
    from tests.support.postgres import Database

CONFIG: Final[Mapping[str, Any]] = {"kind": "benchmark"}
IDLE_JOB: Final = IdleJob(
    BranchKey("perf", "review", "kv_engine", "master"),
    "cv-perf",
    CONFIG,
    since=None,
    pairs=0,
    sessions=0,
    machine="perf-01",
)
_TOKEN: Final = NewToken(
    name="ci", scopes=frozenset(), lifetime=timedelta(days=30), created_by="alice on perf-01"
)
_MOMENTS: Final[Mapping[str, Sequence[str]]] = {
    "event": ("received_at",),
    "heard": ("created_at",),
    "run": ("created_at", "finished_at"),
    "build": ("created_at", "started_at", "executed_at", "finished_at", "deadline_at", "turn"),
    "outbox": ("next_at", "missing_since"),
    "setback": ("next_at",),
    "machine": ("last_seen_at",),
    "lease": ("expires_at",),
    "explanation": ("created_at",),
    "known_failure": ("created_at", "expires_at"),
    "notice": ("next_at", "changed_at"),
}


class StoreSite(Protocol):
    """A store with machines, and time that a test lets pass."""

    @property
    def store(self) -> Store: ...

    @property
    def upkeep(self) -> Upkeep: ...

    @property
    def notices(self) -> DueNotices: ...

    @property
    def audit_log(self) -> AuditLog: ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""

    def register(self, machine: str, pool: str = "perf", obstacle: str = "", host: str = "") -> None:
        """Show a machine, alone on its host unless one is named, and what keeps it from taking work."""

    def claim(self, machine: str = "perf-01") -> int:
        """Give a machine of pool perf its next build, under a lease of 30 seconds."""

    def complete(self, build_id: int) -> None:
        """Report the end of a machine's work on the build that it holds."""

    def record_pair(self, build_id: int, pair: StoredPair, *, is_disturbed: bool = False) -> None:
        """Store a pair of a build's sequence."""

    def fix_listings(self, build_id: int, listings: Sequence[Listing]) -> None:
        """Fix the listings of a build's sequence."""

    def hold_ended(self, build_id: int, machine: str = "perf-01") -> None:
        """Let a machine keep an ended build, to explain it, under a lease of 30 seconds."""

    def explain(self, build_id: int, packed: bytes) -> None:
        """Store what a machine found out about a build."""

    def finish_check(self) -> None:
        """Finish a branch's check in a pool with nothing else to do: ``IDLE_JOB`` is asked for."""

    def beats(self) -> Mapping[str, str]:
        """The note of each part's last sign of life."""

    def add_token(self) -> int:
        """Create an API token; return its id."""


class MemorySite:
    def __init__(self) -> None:
        self.store = self.upkeep = MemoryStore()
        self.notices = MemoryNotices(self.store.memory)
        self.audit_log = MemoryAuditLog(self.store.memory)
        self.wait, self.register = self.store.wait, self.store.register
        self.claim, self.complete = self.store.claim, self.store.complete
        self._tokens = MemoryTokens()

    def record_pair(self, build_id: int, pair: StoredPair, *, is_disturbed: bool = False) -> None:
        memory, sequence = self.store.memory, self._sequence(build_id)
        memory.pairs[sequence] = [*memory.pairs.get(sequence, ()), pair]
        if is_disturbed:
            memory.disturbed.add((sequence, pair.pair))

    def fix_listings(self, build_id: int, listings: Sequence[Listing]) -> None:
        self.store.memory.listings[self._sequence(build_id)] = listings

    def _sequence(self, build_id: int) -> int:
        sequence = self.store.memory.builds[build_id - 1].sequence_id
        assert sequence is not None
        return sequence

    def hold_ended(self, build_id: int, machine: str = "perf-01") -> None:
        self.register(machine)
        self.store.memory.leases[build_id] = Lease(machine, self.store.memory.clock + 30.0)

    def explain(self, build_id: int, packed: bytes) -> None:
        memory = self.store.memory
        memory.explanations[build_id], memory.explained_at[build_id] = packed, memory.clock

    def finish_check(self) -> None:
        self.store.memory.idle_jobs = [IDLE_JOB]

    def beats(self) -> Mapping[str, str]:
        return self.store.memory.beats

    def add_token(self) -> int:
        return self._tokens.add(_TOKEN)[0].id


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.store = PostgresStore(database.owner)
        self.upkeep = PostgresUpkeep(database.owner)
        self.notices = PostgresNotices(database.owner)
        self.audit_log = PostgresAuditLog(database.owner)
        self._database = database
        self._claimed: dict[int, ClaimedBuild] = {}

    def wait(self, seconds: float) -> None:
        for table, columns in _MOMENTS.items():
            earlier = ", ".join(f"{name} = {name} - make_interval(secs => :seconds)" for name in columns)
            self._database.change(f"UPDATE {table} SET {earlier}", seconds=seconds)  # noqa: S608 - names from above

    def register(self, machine: str, pool: str = "perf", obstacle: str = "", host: str = "") -> None:
        worklist(self._database, machine, pool, host=host).heartbeat(obstacle)

    def claim(self, machine: str = "perf-01") -> int:
        build = worklist(self._database, machine).claim()
        assert build is not None
        build.close()
        build_id = int(self._database.value("SELECT max(build_id) FROM lease WHERE machine = :m", m=machine))
        self._claimed[build_id] = build
        return build_id

    def complete(self, build_id: int) -> None:
        self._claimed[build_id].complete({})

    def record_pair(self, build_id: int, pair: StoredPair, *, is_disturbed: bool = False) -> None:
        for side in ("base", "patch"):
            self._database.change(
                "INSERT INTO launch (sequence_id, pair, variant, suite, side, build_id, artifact, facts)"
                " SELECT sequence_id, :pair, :variant, 'executor', :side, id, :artifact,"
                " jsonb_build_object('disturbed', cast(:is_disturbed AS boolean))"
                " FROM build WHERE id = :build",
                build=build_id,
                pair=pair.pair,
                variant=pair.variant,
                side=side,
                artifact=pair.artifact,
                is_disturbed=is_disturbed,
            )

    def fix_listings(self, build_id: int, listings: Sequence[Listing]) -> None:
        with self._database.owner.begin() as connection:
            connection.execute(
                update(t.sequence)
                .where(t.sequence.c.id == t.build.c.sequence_id, t.build.c.id == build_id)
                .values(listing=mappings_of_listings(listings))
            )

    def hold_ended(self, build_id: int, machine: str = "perf-01") -> None:
        self.register(machine)
        self._database.change(
            "INSERT INTO lease (build_id, machine, token, renewed_at, expires_at)"
            " VALUES (:id, :machine, 1, now(), now() + interval '30 s')",
            id=build_id,
            machine=machine,
        )

    def explain(self, build_id: int, packed: bytes) -> None:
        self._database.change("INSERT INTO explanation VALUES (:id, :packed)", id=build_id, packed=packed)

    def finish_check(self) -> None:
        self.register("perf-01")
        [build] = queue(self.store, named("cv-perf", spec={"kind": "check", "config": CONFIG}))
        with self.store.transaction() as tx:
            tx.builds.finish(build, Outcome.PASSED, [])

    def beats(self) -> Mapping[str, str]:
        return dict(self._database.rows("SELECT part, note FROM pulse"))

    def add_token(self) -> int:
        return PostgresTokens(self._database.owner).add(_TOKEN)[0].id
