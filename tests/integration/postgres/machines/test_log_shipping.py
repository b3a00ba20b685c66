"""Ship a build's growing log to the database; what was stored is always readable."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from service.adapters.postgres.machines.calls import call
from service.adapters.postgres.machines.log_shipping import LogChunks
from service.adapters.postgres.reading import PostgresReading
from service.domain.building.logs.stored_log import pieces
from service.domain.values.errors import Cancelled, Drained, LeaseLost, Stopped, Transient
from service.steps.building.build_log import BuildLog
from tests.integration.postgres.samples import claimed, worklist
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from service.adapters.postgres.store import PostgresStore
    from service.domain.building.logs.stored_log import StoredLog
    from service.ports.building import Artifacts
    from service.ports.machines import BuildOutput
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

MIB: Final = 1 << 20
NOISE: Final = random.Random(5904)  # noqa: S311 - repeatable on purpose
LINES: Final = b"".join(b"%08d %s\n" % (n, NOISE.randbytes(40).hex().encode()) for n in range(60_000))


class Killed(BaseException):
    """The end of a worker."""


def shown(database: Database) -> StoredLog:
    [(job, number)] = database.rows("SELECT job, number FROM build")
    return PostgresReading(database.owner).log(job, number)


def text_of(log: StoredLog, artifacts: MemoryArtifacts) -> list[tuple[int, int, bytes]]:
    """The places, line numbers and bytes of a log, each up to the next gap."""
    found: list[tuple[int, int, bytes]] = []
    for piece in pieces(log, 0, artifacts.stream):
        if found and piece.start == found[-1][0] + len(found[-1][2]):
            start, line, data = found.pop()
            found.append((start, line, data + piece.data))
        else:
            found.append((piece.start, piece.line, piece.data))
    return found


def eventually(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline, "it did not come"
        threading.Event().wait(0.02)


def test_the_log_of_a_running_build_is_readable_and_then_complete(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    artifacts, log = MemoryArtifacts(), BuildLog()
    with claimed(worklist(database, artifacts=artifacts)) as build, build.publish(log, build.watch):
        log.write(b"== compile: make\nunfinished \xc3")
        eventually(lambda: shown(database).size > 0)
        assert text_of(shown(database), artifacts) == [(0, 0, b"== compile: make\nunfinished ")]
        assert shown(database).is_growing
        log.write(b"\xbc\n" + LINES)
        eventually(lambda: shown(database).size == log.mark())
        build.complete({})
    assert text_of(shown(database), artifacts) == [
        (0, 0, "== compile: make\nunfinished ü\n".encode() + LINES)
    ]
    assert not shown(database).is_growing
    assert database.value("SELECT data FROM log_end") == b""


def test_an_overlong_log_keeps_its_beginning_and_its_end(store: PostgresStore, database: Database) -> None:
    queue(store)
    artifacts, log = MemoryArtifacts(), BuildLog(limit=MIB)
    with claimed(worklist(database, artifacts=artifacts)) as build, build.publish(log, build.watch):
        log.write(LINES)
        log.write(b"newest")
        eventually(lambda: shown(database).size == log.mark())
        head, newest = text_of(shown(database), artifacts)
        assert head == (0, 0, LINES[: MIB // 4])
        assert (newest[0] + len(newest[2]), newest[2][-6:]) == (log.mark(), b"newest")
        assert newest[1] == LINES[: newest[0]].count(b"\n")
        build.complete({})
    start = len(LINES) + 6 - 3 * MIB // 4
    assert text_of(shown(database), artifacts) == [
        (0, 0, LINES[: MIB // 4]),
        (start, LINES[:start].count(b"\n"), LINES[start:] + b"newest"),
    ]


def test_a_released_build_keeps_its_log_until_the_next_attempt_writes_one(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    artifacts, work = MemoryArtifacts(), worklist(database)
    for text in (b"first attempt\n", b"second\n"):
        log = BuildLog()
        with claimed(worklist(database, artifacts=artifacts)) as build, build.publish(log, build.watch):
            log.write(text)
            build.release()
        assert text_of(shown(database), artifacts) == [(0, 0, text)]
    with claimed(work) as build, build.publish(BuildLog(), build.watch):
        eventually(lambda: not shown(database).parts)


class Worker:
    """A worker that is killed before or after its n-th write of a log."""

    def __init__(self, build: ClaimedBuild, kill_at: int, *, is_after: bool) -> None:
        self._build = build
        self._left = kill_at
        self._is_after = is_after

    def __call__(self, function: str, /, **values: object) -> object:
        self._left -= 1
        if self._left == 0 and not self._is_after:
            raise Killed
        answer = self._build._call(function, **values)  # noqa: SLF001 - as the thread does
        if self._left == 0:
            raise Killed
        return answer


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("kill_at", range(1, 14))
def test_a_worker_killed_at_any_write_leaves_a_readable_beginning(
    store: PostgresStore, database: Database, kill_at: int, *, is_after: bool
) -> None:
    queue(store)
    artifacts, log = MemoryArtifacts(), BuildLog()
    whole = LINES[: 5 * MIB // 2]
    with claimed(worklist(database, artifacts=artifacts)) as build:
        worker, chunks = Worker(build, kill_at, is_after=is_after), LogChunks(log, artifacts)
        written = 0
        with suppress(Killed):
            while written < len(whole):
                log.write(whole[written : written + 200_001])
                written = log.mark()
                chunks.ship(worker)
            chunks.finish(worker)
        texts = text_of(shown(database), artifacts)
    assert texts in ([], [(0, 0, whole[: shown(database).size])])
    # A write that came through ends at most one round behind the log.
    assert shown(database).size >= written - 200_001 - is_after

    database.change("UPDATE lease SET expires_at = clock_timestamp()")
    database.change("UPDATE build SET state = 'queued'")
    with claimed(worklist(database, "perf-02", artifacts=artifacts)) as build:
        log = BuildLog()
        log.write(b"second attempt\n")
        LogChunks(log, artifacts).finish(Worker(build, 0, is_after=False))
    assert text_of(shown(database), artifacts) == [(0, 0, b"second attempt\n")]


def test_a_call_can_be_repeated_after_a_lost_answer(store: PostgresStore, database: Database) -> None:
    queue(store)
    artifacts, log = MemoryArtifacts(), BuildLog()
    log.write(LINES)
    with claimed(worklist(database, artifacts=artifacts)) as build:
        chunks, lost = LogChunks(log, artifacts), [True, False] * 20

        def unreliable(function: str, /, **values: object) -> object:
            build._call(function, **values)  # noqa: SLF001 - as the thread does
            if lost.pop(0):
                raise Transient("no answer")
            return None

        for _ in range(40):
            with suppress(Transient, IndexError):
                chunks.finish(unreliable)
                break
    assert text_of(shown(database), artifacts) == [(0, 0, LINES)]


def test_after_a_lost_answer_the_same_chunk_is_sent_though_the_log_grew(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    artifacts, log = MemoryArtifacts(), BuildLog()
    with claimed(worklist(database, artifacts=artifacts)) as build:
        chunks, lost = LogChunks(log, artifacts), [True]

        def unreliable(function: str, /, **values: object) -> object:
            build._call(function, **values)  # noqa: SLF001 - as the thread does
            if lost and lost.pop():
                raise Transient("no answer")
            return None

        log.write(LINES[: MIB // 2])
        with pytest.raises(Transient):
            chunks.ship(unreliable)
        log.write(LINES[MIB // 2 :])
        chunks.ship(unreliable)
        chunks.finish(unreliable)
    assert text_of(shown(database), artifacts) == [(0, 0, LINES)]


@dataclass
class Away(MemoryArtifacts):
    """Artifacts that nobody answers for: a wait lasts until its watch ends it."""

    watch: Callable[[], None] = lambda: None
    waits: list[str] = field(default_factory=list)

    def watched(self, watch: Callable[[], None]) -> Artifacts:
        return replace(self, watch=watch)

    def put(self, data: bytes) -> str:
        self.waits.append(threading.current_thread().name)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            self.watch()
            threading.Event().wait(0.02)
        raise AssertionError("nothing ended this wait")


def wait_in_the_thread(log: BuildOutput, away: Away) -> None:
    assert isinstance(log, BuildLog)
    log.write(LINES)
    eventually(lambda: bool(away.waits))


def test_a_build_is_handed_back_at_once_while_the_artifacts_are_away(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    away, log = Away(), BuildLog()
    with claimed(worklist(database, artifacts=away)) as build, build.publish(log, build.watch):
        wait_in_the_thread(log, away)
        build.release()
    assert [name.startswith("log-") for name in away.waits] == [True, False]
    assert database.value("SELECT count(*) FROM lease") == 0


@pytest.mark.parametrize("reason", [Drained("the worker must stop"), LeaseLost("it has another machine")])
def test_the_end_of_a_build_does_not_wait_for_the_artifacts_if_the_work_must_end(
    store: PostgresStore, database: Database, reason: Stopped
) -> None:
    queue(store)
    away, log = Away(), BuildLog()

    def watch() -> None:
        raise reason

    with claimed(worklist(database, artifacts=away)) as build, build.publish(log, watch):
        wait_in_the_thread(log, away)
        with pytest.raises(type(reason)):
            build.complete({})


def test_shipping_ends_quietly_if_the_artifacts_say_that_the_lease_is_lost(
    store: PostgresStore, database: Database
) -> None:
    class Lost(MemoryArtifacts):
        def put(self, data: bytes) -> str:
            raise LeaseLost("this machine has no build now")

    queue(store)
    log = BuildLog()
    with (
        capture_logs() as lines,
        claimed(worklist(database, artifacts=Lost())) as build,
        build.publish(log, build.watch),
    ):
        log.write(LINES)
        eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith("log-")])
        with pytest.raises(LeaseLost):
            build.complete({})
    assert lines == []


def test_a_cancelled_build_ends_without_the_rest_of_its_log(store: PostgresStore, database: Database) -> None:
    queue(store)
    away, log = Away(), BuildLog()

    def watch() -> None:
        raise Cancelled("nobody wants it")

    with claimed(worklist(database, artifacts=away)) as build, build.publish(log, watch):
        wait_in_the_thread(log, away)
        build.complete({})
    assert database.value("SELECT count(*) FROM lease") == 0


def test_a_worker_stops_shipping_once_its_lease_is_lost(store: PostgresStore, database: Database) -> None:
    queue(store)
    log = BuildLog()
    with claimed(worklist(database)) as build, build.publish(log, build.watch):
        database.change("DELETE FROM lease")
        log.write(b"stale")
        with pytest.raises(LeaseLost):
            build.complete({})
    assert shown(database).parts == ()


CHUNK: Final = {"number": 0, "start": 0, "line": 0, "size": 5, "artifact": "a" * 64}


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 1},
        {"number": -1},
        {"start": -1},
        {"line": -1},
        {"size": 0},
        {"size": MIB + 1},
        {"artifact": "../../etc/passwd"},
    ],
)
def test_a_chunk_out_of_order_is_refused(
    store: PostgresStore, database: Database, wrong: dict[str, object]
) -> None:
    queue(store)
    with claimed(worklist(database)) as build, pytest.raises(DBAPIError, match="CheckViolation"):
        build._call("add_log_chunk", **{**CHUNK, **wrong})  # noqa: SLF001 - a machine may call anything
    assert database.value("SELECT count(*) FROM log_chunk") == 0


def test_chunks_never_overlap_and_a_log_has_at_most_a_gibibyte(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        build._call("add_log_chunk", **CHUNK)  # noqa: SLF001 - a machine may call anything
        for wrong in ({"start": 4}, {"start": 5, "size": MIB}):
            database.change(
                "INSERT INTO log_chunk SELECT build_id, token, n, 5, 0, 1048576, artifact"
                " FROM log_chunk, generate_series(1, :count) AS n WHERE number = 0",
                count=0 if wrong["start"] == 4 else 1023,
            )
            number = database.value("SELECT count(*) FROM log_chunk")
            with pytest.raises(DBAPIError, match="not the next chunk"):
                build._call("add_log_chunk", **{**CHUNK, "number": number, **wrong})  # noqa: SLF001


def test_an_overlong_end_of_a_log_is_refused(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build, pytest.raises(DBAPIError, match="check"):
        build._call("show_log_end", start=0, line=0, data=b"x" * ((256 << 10) + 1))  # noqa: SLF001


def test_only_the_holder_of_the_lease_writes_a_log(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    with claimed(worklist(database)), pytest.raises(LeaseLost):
        call(database.machine, "show_log_end", build=build_id, token=0, start=0, line=0, data=b"")
