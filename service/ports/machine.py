"""A machine's view of its work: the worklist, the lease and the pairs recorded so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from service.ports.building import Binaries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.pair_record import PairRecord


class Lease(Protocol):
    """A build held by this worker. Every method raises LeaseLost once another holds it."""

    def watch(self) -> None:
        """Raise Cancelled, Overdue or LeaseLost when the work should end; cheap enough to call always."""

    def enter(self, phase: str) -> None:
        """Say what is being done; shown on the pages."""


class PairLog(Protocol):
    """The pairs measured so far, which survive the worker."""

    def fix_listing(self, listing: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Store what will be measured; the listing that was stored first is returned."""

    def pairs(self) -> Sequence[PairRecord]:
        """Every complete pair, in order of variant and number."""

    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        """Store a complete pair, with the facts of its launches."""


class Worklist(Protocol):
    """Where a machine gets builds and reports them."""

    def register(self, fingerprint: str, facts: Mapping[str, Any]) -> None:
        """Make this machine known with its environment."""

    def claim(self) -> Claimed | None:
        """The next build of this machine's pool; None when there is nothing to do."""

    def heartbeat(self, obstacle: str | None = None) -> None:
        """Leave a sign of life; ``obstacle`` says what keeps it from taking work, None: as it said before."""


class Claimed(Lease, PairLog, Binaries, Protocol):
    """A claimed build with all that its machine may do to it."""

    @property
    def name(self) -> str:
        """Job and number, for logs."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """What to do, frozen when it was planned."""

    @property
    def seed(self) -> str:
        """The seed of every random choice of the measuring."""

    def complete(self, execution: Mapping[str, Any], log: bytes) -> None:
        """Report the end of the machine's work; the lease ends with it."""

    def release(self, delay: float = 0.0) -> None:
        """Hand the build back: unharmed without a delay, else as an attempt that met a passing fault."""

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""

    def close(self) -> None:
        """Stop renewing; always called."""
