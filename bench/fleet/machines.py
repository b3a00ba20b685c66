"""Simulate machines: threads that work on builds as a machine worker does, with made-up pairs."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

import redis

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.runs.queue import pool_queue
from service.domain.building.spec import BuildSpec
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord, RawLaunch, encode
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import LeaseLost, Stopped, Transient
from service.domain.values.identity import Side
from service.ports.machines import Upcoming
from service.ports.runs.queue import Task
from service.steps.building.build_log import BuildLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.ports.machines import Claimed

BENCHMARKS: Final = tuple(f"BM_Schedule/{1 << k}/real_time" for k in range(12))
PAIRS: Final = 16
_PHASES: Final = ("fetch", "build base", "build patch")
_LOG: Final = "".join(f"[{k}/900] Building CXX object engine/file_{k}.cpp.o\n" for k in range(900)).encode()
_HINT_SECONDS: Final = 1
_STEP_SECONDS: Final = 0.5  # between two looks at the lease


@dataclass(slots=True)
class Seen:
    """Counts of all machines, from all threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    claims: list[float] = field(default_factory=list)  # seconds of peek and claim of a build
    idle: list[float] = field(default_factory=list)  # seconds of those that found none
    completed: list[str] = field(default_factory=list)
    pairs: int = 0
    lost: list[str] = field(default_factory=list)
    away: int = 0  # calls that the database did not answer


class Pool:
    """The hints of a pool: an idle machine waits for one, as a worker of Celery with one task at a time."""

    def __init__(self, name: str, broker: Path) -> None:
        self.name = name
        self._client = redis.Redis(unix_socket_path=str(broker))
        self._lock = threading.Lock()

    def hint(self) -> Task | None:
        """Take the next hint; None after a second without one."""
        with self._lock:
            found = self._client.brpop([pool_queue(self.name)], timeout=_HINT_SECONDS)
        if found is None:
            return None
        name = json.loads(found[1])["headers"]["task"]
        return next(task for task in Task if task.celery_name == name)


class Machine:
    """A machine of a pool with a thread and connections of its own.

    Args:
        name: its name, which is also its host's.
        pool: its hints.
        database_url: with the machines' role.
        artifacts: the directory that it shares with the control plane.
        seconds: the mean duration of a build.
        seen: counts for all machines.
    """

    def __init__(
        self, name: str, pool: Pool, database_url: str, artifacts: Path, seconds: float, seen: Seen
    ) -> None:
        self._pool = pool
        self._seconds = seconds
        self._seen = seen
        self._random = Random(name)  # noqa: S311 - repeatable on purpose
        self._stop = threading.Event()
        identity = MachineIdentity(name, pool.name, pool.name)
        self._worklist = MachineWorklist(
            make_engine(database_url, pool_size=1), identity, DirectoryArtifacts(artifacts)
        )
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Register the machine, and begin to wait for hints."""
        self._worklist.register("fleet", {"cpu": "simulated", "kernel": "6.1"})
        self._thread.start()

    def stop(self) -> None:
        """Take no further build."""
        self._stop.set()

    def join(self) -> None:
        """Wait until it has stopped."""
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                task = self._pool.hint()
                if task is Task.HEARTBEAT:
                    self._worklist.heartbeat()
                elif task is Task.EXECUTE:
                    self._take()
            except Transient:
                with self._seen.lock:
                    self._seen.away += 1

    def _take(self) -> None:
        begun = time.perf_counter()
        upcoming = self._worklist.peek()
        self._worklist.heartbeat("")
        claimed = self._worklist.claim(may_measure=upcoming is Upcoming.EXCLUSIVE)
        seconds = time.perf_counter() - begun
        with self._seen.lock:
            (self._seen.idle if claimed is None else self._seen.claims).append(seconds)
        if claimed is None:
            return
        try:
            self._execute(claimed)
        except LeaseLost:
            with self._seen.lock:
                self._seen.lost.append(claimed.name)
        finally:
            claimed.close()

    def _execute(self, claimed: Claimed) -> None:
        spec = BuildSpec.from_mapping(claimed.spec)
        seconds = self._seconds * self._random.uniform(0.5, 1.5)
        log = BuildLog()
        with claimed.publish(log, claimed.watch):
            try:
                for phase in _PHASES:
                    claimed.enter(phase)
                    self._pass(claimed, seconds / 2 / len(_PHASES))
                    log.write(_LOG)
                if spec.job.compares:
                    report = self._measure(claimed, seconds / 2)
                else:
                    claimed.enter("test")
                    self._pass(claimed, seconds / 2)
                    report = MachineReport(Outcome.PASSED, seconds={"test": seconds / 2})
            except LeaseLost:
                raise
            except Stopped:
                report = MachineReport(Outcome.CANCELLED)
            claimed.complete(report.to_mapping())
        with self._seen.lock:
            self._seen.completed.append(claimed.name)
            self._seen.pairs += report.pairs

    def _measure(self, claimed: Claimed, seconds: float) -> MachineReport:
        [listing] = claimed.fix_listings([Listing("executor", BENCHMARKS, BENCHMARKS)])
        stored = {each.pair for each in claimed.pairs()}
        claimed.enter("measure")
        for pair in range(PAIRS):
            claimed.tell(f"pair {pair + 1} of at most {PAIRS}")
            self._pass(claimed, seconds / PAIRS)
            if pair not in stored:
                claimed.record(PairRecord(pair, self._pair(listing.patch)), _LAUNCHES)
        return MachineReport(pairs=PAIRS, seconds={"build base": seconds / 3, "measure": seconds})

    def _pair(self, names: Sequence[str]) -> bytes:
        launches = [RawLaunch("executor", side, self._output(names), {"seconds": 0.5}) for side in Side]
        return encode(launches)

    def _output(self, names: Sequence[str]) -> bytes:
        rows = [
            {
                "name": name,
                "run_name": name,
                "run_type": "iteration",
                "repetitions": 1,
                "repetition_index": 0,
                "threads": 1,
                "iterations": 1000,
                "real_time": self._random.gauss(100.0, 0.3),
                "cpu_time": self._random.gauss(100.0, 0.3),
                "time_unit": "ns",
            }
            for name in names
        ]
        return json.dumps({"context": {"library_build_type": "release"}, "benchmarks": rows}).encode()

    def _pass(self, claimed: Claimed, seconds: float) -> None:
        """Let time pass, as a program would that is stopped when the build must end."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            claimed.watch()
            time.sleep(min(left, _STEP_SECONDS))
        claimed.watch()


_LAUNCHES: Final = [{"suite": "executor", "side": str(side), "facts": {"seconds": 0.5}} for side in Side]
