"""A machine that explains a build after its report keeps its host, and the vote does not wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from service.domain.runs.machine_report import BuildEnd, MachineReport
from service.domain.runs.states import MAX_ATTEMPTS, BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Cancelled, LeaseLost, Overdue
from service.domain.verdict.explanation.explanation import MOST_PACKED
from service.ports.machines import Upcoming
from service.steps.runs.analyse import finish
from tests.integration.postgres.machines.test_lease import EXPIRE, KEY, STATE, WRITES, is_stopped_by, until
from tests.integration.postgres.samples import claimed, worklist
from tests.support.store_samples import BUILD, named, queue

if TYPE_CHECKING:
    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

REPORT = MachineReport(Outcome.SLOWER, ("it is slower",)).to_mapping()


def report(build: ClaimedBuild) -> None:
    build.report(REPORT, lambda: None)


def decide(store: PostgresStore, build_id: int) -> None:
    with store.transaction() as tx:
        finish(tx, tx.builds.lock(build_id), BuildEnd(Outcome.SLOWER))


def test_a_reported_build_is_decided_at_once_while_its_host_stays_busy(
    store: PostgresStore, database: Database
) -> None:
    build_id, _ = queue(store, BUILD, named("other", sequence=""))
    other = worklist(database, "other-01", host="perf-01")
    with claimed(worklist(database)) as build:
        report(build)
        decide(store, build_id)
        assert database.rows("SELECT payload ->> 'task' FROM outbox ORDER BY id DESC LIMIT 2") == [
            ("vote",),
            ("analyse",),
        ]
        assert (other.peek(), other.claim()) == (Upcoming.WAIT, None)

        build.explain(b"packed")
    assert database.rows("SELECT build_id, packed FROM explanation") == [(build_id, b"packed")]
    assert database.value("SELECT payload ->> 'task' FROM outbox ORDER BY id DESC LIMIT 1") == "analyse"
    with claimed(other) as later:
        assert later.name == "other/1"


@pytest.mark.parametrize("is_decided", [False, True])
def test_a_machine_that_dies_while_it_explains_frees_its_host_and_nothing_is_repeated(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database, *, is_decided: bool
) -> None:
    [build_id] = queue(store)
    with claimed(worklist(database)) as build:
        report(build)
    database.change(EXPIRE)
    if is_decided:
        decide(store, build_id)
    assert upkeep.requeue_lost_builds(MAX_ATTEMPTS) == []
    assert database.rows("SELECT state, attempt, (SELECT count(*) FROM lease) FROM build") == [
        (BuildState.FINISHED if is_decided else BuildState.EXECUTED, 1, 0)
    ]


def test_a_build_that_is_explained_shows_no_phase(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    with claimed(worklist(database, lease_seconds=0.9)) as build:
        report(build)
        decide(store, build_id)
        reported = database.value("SELECT expires_at FROM lease")
        build.tell("explaining: 1 of 2")
        until(lambda: database.value("SELECT expires_at > :at FROM lease", at=reported))
        until(lambda: database.value("SELECT clock_timestamp() > :at", at=reported))
    assert database.value("SELECT phase FROM build") == ""


@pytest.mark.parametrize(
    ("change", "error"), [("cancel_requested = true", Cancelled), ("deadline_at = now()", Overdue)]
)
def test_explaining_ends_if_nobody_waits_for_it(
    store: PostgresStore, database: Database, change: str, error: type[Exception]
) -> None:
    queue(store)
    with claimed(worklist(database, lease_seconds=0.9)) as build:
        report(build)
        database.change(f"UPDATE build SET {change}")  # noqa: S608 - one of two
        until(lambda: is_stopped_by(build, error))


@pytest.mark.parametrize(("is_reported", "size"), [(False, 1), (True, MOST_PACKED + 1)])
def test_only_a_reported_build_is_explained_and_at_limited_length(
    store: PostgresStore, database: Database, *, is_reported: bool, size: int
) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        if is_reported:
            report(build)
        with pytest.raises(IntegrityError, match=r"was not reported|explanation_packed_check"):
            build.explain(bytes(size))
        build.watch()
    assert database.rows("SELECT (SELECT count(*) FROM lease), (SELECT count(*) FROM explanation)") == [
        (1, 0)
    ]


@pytest.mark.parametrize("write", sorted(WRITES.keys() - {"find", "pairs", "release"}))
def test_a_reported_build_takes_no_more_results(store: PostgresStore, database: Database, write: str) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        report(build)
        before = database.rows(STATE)
        with pytest.raises(LeaseLost):
            WRITES[write](build)
        assert database.rows(STATE) == before
        assert (build.find(KEY), build.pairs()) == (None, [])


def test_nobody_keeps_a_host_with_a_reported_build(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database, lease_seconds=0.9)) as build:
        report(build)
        build.enter("explaining")
        database.change("UPDATE build SET executed_at = now() - interval '6 minutes'")
        until(lambda: is_stopped_by(build, LeaseLost))


def test_an_explanation_is_sent_again_if_the_answer_was_lost(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        report(build)
        for packed in (b"packed", b"again"):
            build.explain(packed)
    assert database.rows("SELECT packed FROM explanation") == [(b"packed",)]
    assert database.value("SELECT count(*) FROM outbox WHERE payload ->> 'task' = 'analyse'") == 2
