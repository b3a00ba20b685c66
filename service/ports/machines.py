"""A machine's work: the worklist, the lease and the recorded pairs; and machines as pages show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Any, Final, Protocol

from service.domain.machines.closures import Closing, Closure
from service.domain.machines.disk import CachedDirectory, Disk
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord
from service.domain.runs.health import SILENT_AFTER
from service.domain.values.identity import BuildName
from service.ports.building import Binaries

GONE_DAYS: Final = 7  # nobody waits for a machine that was switched off so long ago


class Lease(Protocol):
    """A build that this worker holds. Every method raises LeaseLost once another worker holds it."""

    def watch(self) -> None:
        """Raise Cancelled, Overdue or LeaseLost if the work must end. Cheap: it asks this process only."""

    def enter(self, phase: str) -> None:
        """Report the phase of the work, which the pages show."""

    def tell(self, progress: str) -> None:
        """Report how far the phase is, with the next renewal: it may change many times in a second."""


class Asked(Protocol):
    """A build that somebody waits for."""

    def asked_by(self) -> Mapping[str, Any]:
        """Return the newest ``run`` that waits for the build, its ``change`` and ``patch_set``, for logs.

        The last two are None for a merged commit. Empty on a developer's machine, and if no run waits.

        Raises:
            LeaseLost: the machine no longer holds the build.
        """


class BuildOutput(Protocol):
    """The output of a build so far.

    A place is an offset in bytes; bytes that were left out since count. The beginning is kept, and the
    newest bytes until others need their room.
    """

    def mark(self) -> int:
        """Return the place of the next byte."""

    def stable_end(self) -> int:
        """Return the place before which every byte is kept to the end."""

    def read(self, place: int, at_most: int) -> tuple[int, bytes]:
        """Return the first kept bytes from a place on, up to the next gap, and their place."""

    def lines_before(self, place: int) -> int:
        """Return the number of line ends before a place after which all bytes are kept."""

    def kept(self) -> bytes:
        """Return the beginning and the end; a line between them counts the bytes left out."""


class PairLog(Protocol):
    """The pairs measured so far, which survive the worker."""

    def fix_listings(self, listings: Sequence[Listing]) -> Sequence[Listing]:
        """Store what will be measured, and return the listings that were stored first.

        Without any, it only returns those.
        """

    def pairs(self) -> Sequence[PairRecord]:
        """Return every complete pair in order of variant and number, whichever build measured it."""

    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        """Store a complete pair. A pair that was stored under its numbers earlier stays.

        Args:
            pair: its numbers and its whole record.
            launches: ``suite``, ``side`` and ``facts`` of each launch; at least one.
        """


class Upcoming(StrEnum):
    """The build that a machine could claim at this moment."""

    NOTHING = auto()
    WAIT = auto()  # nothing, while builds run on the machine's host
    ORDINARY = auto()
    EXCLUSIVE = auto()  # it compares two sides, and gets the host to itself


class Worklist(Protocol):
    """The source of a machine's builds."""

    def register(self, fingerprint: str, facts: Mapping[str, Any]) -> None:
        """Make this machine known with its environment."""

    def peek(self) -> Upcoming:
        """Return what :meth:`claim` would claim now, and send a heartbeat."""

    def claim(self, *, may_measure: bool = True) -> Claimed | None:
        """Claim the next build of this machine's pool, if there is one.

        There is none for a machine that is not registered or holds a build already. An exclusive build waits
        until the host is free, and ordinary builds wait while it runs; both also wait for earlier ones of the
        other class. ``may_measure`` False claims no exclusive build.
        """

    def heartbeat(self, obstacle: str | None = None) -> None:
        """Send a heartbeat. ``obstacle`` keeps the machine from taking work; None: as reported before."""


class Caches(Protocol):
    """Directories of one home that can be fetched again: mirrors, dependencies and caches of compilers."""

    def disk(self) -> Disk:
        """Return the room of the disk that has them."""

    def cached(self) -> Iterable[CachedDirectory]:
        """List them."""

    def evict(self, each: CachedDirectory) -> bool:
        """Remove one unless it is in use or was used meanwhile; return whether it is gone."""


class Explaining(Protocol):
    """Work on a build that goes on after its report, which the vote does not wait for."""

    def report(self, execution: Mapping[str, Any], watch: Callable[[], None]) -> None:
        """Report the end as ``complete`` does, but keep the lease, and the host busy, to explain the result.

        Pairs and kept programs can still be read. The lease is lost five minutes later at most.

        ``explain`` or ``release`` ends the lease. Until then ``watch`` may end any wait for the artifacts.
        """

    def explain(self, packed: bytes) -> None:
        """Store the explanations of a reported build, as ``pack`` makes them; the lease ends with it.

        Again, it changes nothing.
        """


class Claimed(Lease, Asked, PairLog, Binaries, Explaining, Protocol):
    """A claimed build, with everything that its machine may do to it."""

    @property
    def name(self) -> str:
        """Job and number, for logs."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """The specification, frozen when the build was planned."""

    @property
    def seed(self) -> str:
        """The seed of every random choice of the measuring."""

    def publish(self, log: BuildOutput, watch: Callable[[], None]) -> AbstractContextManager[None]:
        """Publish the build's log, readable while it grows, until the end of the block.

        A build has one log; complete, report and release store all of it, if they are called in the block
        and the artifacts take it: release tries once. In the block, ``watch`` may end any wait for the
        artifacts.
        """

    def complete(self, execution: Mapping[str, Any]) -> None:
        """Report the end of the machine's work; the lease ends with it. Raises Drained like ``watch``."""

    def release(self, delay: float = 0.0) -> None:
        """Hand the build back; another machine may claim it after ``delay`` seconds.

        A build that is handed back without a delay loses no attempt. One that was reported only loses its
        lease.
        """

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""

    def close(self) -> None:
        """Stop renewing; always called. The lease runs out by itself if the build was not completed."""


class Closures(Protocol):
    """Closures of hosts by operators. A machine of a closed host claims no build."""

    def close(self, host: str, closing: Closing) -> None:
        """Close a host: no claim that ends after the unit of work gets a build of it.

        Units of work that close several hosts close them in the order of their names. Raises NotFound if no
        machine of the host ever registered.
        """

    def reopen(self, host: str) -> bool:
        """End the closures that are current, or else the next one; return False without any.

        Raises NotFound if no machine of the host ever registered.
        """

    def hosts(self, pool: str) -> Sequence[str]:
        """List the hosts that have machines of a pool, by name."""


class MachineState(StrEnum):
    """State of a machine: free, or what keeps it from builds; the lowest that applies counts."""

    FREE = auto()
    HINDERED = auto()  # by an obstacle, such as other work; it may take builds that compare nothing
    BUSY = auto()  # a build runs on its host
    SILENT = auto()
    DRAINED = auto()  # its host is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine and the build that it holds now; machines of one ``host`` share its CPUs."""

    name: str
    machine_class: str
    pool: str
    host: str
    first_seen_at: datetime
    last_seen_at: datetime
    environment_id: int | None
    environment: Mapping[str, Any]
    build: BuildName | None
    obstacle: str  # why it takes no benchmarks, or no build at all; empty if it does
    version: str = ""  # of its worker, if it is known
    closure: Closure | None = None  # of its host: the current one that lasts longest, or else the next
    is_busy: bool = field(
        default=False, metadata={"exclude": True}
    )  # builds run on its host, perhaps hidden ones

    def closed_by(self, now: datetime) -> str:
        """Name the operator who closed its host; empty if it takes builds now."""
        return self.closure.closed_by if self.closure and self.closure.is_current(now) else ""

    def state(self, now: datetime) -> MachineState:
        """Return its state at a moment of the database's clock."""
        if self.closed_by(now):
            return MachineState.DRAINED
        if now - self.last_seen_at > SILENT_AFTER:
            return MachineState.SILENT
        if self.build or self.is_busy:
            return MachineState.BUSY
        return MachineState.HINDERED if self.obstacle else MachineState.FREE

    def is_gone(self, now: datetime) -> bool:
        """Return whether it was probably switched off: it has not reported in :data:`GONE_DAYS`."""
        return now - self.last_seen_at > timedelta(days=GONE_DAYS)
