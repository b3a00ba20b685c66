"""Renew a lease from a thread; this host's clock alone decides when the lease is over."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.postgres.engine import connect_apart
from service.adapters.postgres.faults import translated
from service.adapters.postgres.machines.calls import call_on
from service.adapters.system.priority import raised_priority
from service.domain.values.errors import Cancelled, LeaseLost, Overdue, Transient
from service.ports.machines import Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

RENEWALS_PER_LEASE: Final = 3  # one may fail and another be late
RETRY_SECONDS: Final = 0.5
CLOSE_WITHIN_SECONDS: Final = 5.0


class LeaseState(StrEnum):
    """The answers of a renewal."""

    HELD = "held"
    CANCELLED = "cancelled"  # still held, but the build is no longer wanted
    OVERDUE = "overdue"  # still held, but the build is past its deadline
    LOST = "lost"


class Renewal(Lease):
    """Renew one lease.

    Args:
        engine: connections of the machine's role.
        build: the leased one.
        token: the fencing token of the claim.
        seconds: how long the lease lasts from each renewal.
        claimed_at: this clock just before the claim was sent, so that this host never believes
            in a lease for longer than the database does.
        clock: seconds that pass also while the process is stopped.
    """

    def __init__(
        self,
        engine: Engine,
        build: int,
        token: int,
        *,
        seconds: float,
        claimed_at: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._build = build
        self._token = token
        self._seconds = seconds
        self._held_until = claimed_at + seconds
        self._clock = clock
        self._phase, self._progress = "", "claimed"
        self._state = LeaseState.HELD
        self._wake = threading.Event()
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_closed, name=f"lease-{build}", daemon=True)
        self._thread.start()

    @override
    def watch(self) -> None:
        if self._state is LeaseState.LOST:
            raise LeaseLost(f"build {self._build} is held by another worker now")
        if not self.is_held:
            raise LeaseLost(f"the lease on build {self._build} could not be renewed in time")
        if self._state is LeaseState.OVERDUE:
            raise Overdue(f"the deadline of build {self._build} passed")
        if self._state is LeaseState.CANCELLED:
            raise Cancelled(f"build {self._build} is not wanted any more")

    @property
    def is_held(self) -> bool:
        """Return whether the lease still lasts, by this host's clock."""
        is_over = self._state is LeaseState.LOST or self._is_closing.is_set()
        return not is_over and self._clock() < self._held_until

    @override
    def enter(self, phase: str) -> None:
        self._phase = self._progress = phase
        self._wake.set()

    @override
    def tell(self, progress: str) -> None:
        more = progress.removeprefix(self._phase).removeprefix(", ")
        self._progress = ", ".join(filter(None, (self._phase, more)))

    def wait(self, seconds: float) -> None:
        """Let time pass, but not once the renewing ends."""
        self._is_closing.wait(seconds)

    def close(self) -> None:
        """Stop renewing; the lease runs out by itself unless it was ended."""
        self._is_closing.set()
        self._wake.set()
        # A call that hangs ends with its time limits; this process need not wait for it.
        self._thread.join(CLOSE_WITHIN_SECONDS)

    def _renew_until_closed(self) -> None:
        with raised_priority():  # as measured programs, which otherwise keep it from its CPU
            self._renew_while_open()

    def _renew_while_open(self) -> None:
        connection: Connection | None = None
        while not self._is_closing.is_set() and self._state is not LeaseState.LOST:
            pause = self._seconds / RENEWALS_PER_LEASE
            try:
                with translated():
                    # Beside the pool, which may be empty just when the lease runs out.
                    connection = connection or connect_apart(self._engine)
                    self._renew(connection)
            except Transient:
                # Until the lease is over the database may come back, often at once.
                pause = min(pause, RETRY_SECONDS)
                _drop(connection)
                connection = None
            self._wake.wait(pause)
            self._wake.clear()
        _drop(connection)

    def _renew(self, connection: Connection) -> None:
        sent_at = self._clock()
        values = {"build": self._build, "token": self._token, "seconds": self._seconds}
        [row] = call_on(connection, "renew", phase=self._progress, **values)
        self._state = LeaseState(row[0])
        if self._state is not LeaseState.LOST:
            self._held_until = sent_at + self._seconds


def _drop(connection: Connection | None) -> None:
    if connection is not None:
        with suppress(Transient), translated():
            connection.close()
