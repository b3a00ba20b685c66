"""Compare every order of the queue in SQL with the rule for turns."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from alembic import command

from bench.plans import scans_of
from service.adapters.postgres.migrate import configured, migrate
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.upkeep import PostgresUpkeep
from service.domain.review.change import Person
from service.domain.runs.turn import UNKNOWN_SECONDS, turn_ahead
from service.domain.values.identity import RunKind
from tests.integration.postgres.samples import claimed, worklist
from tests.support.store_samples import change, check_run, named, start

if TYPE_CHECKING:
    from service.ports.runs.builds import NewBuild
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

USUAL = {"lint": 20.0, "perf": 900.0}  # seconds; nothing is known of a third job
BUILDS = 20  # as many as a claim looks at


@dataclass(frozen=True, slots=True)
class Drawn:
    owner: str
    job: str
    is_merged: bool


def build_of(job: str, kind: RunKind) -> NewBuild:
    config = {"kind": "benchmark", "suites": [{"name": "s", "program": "s"}]}
    spec = {"kind": kind.value, "branch": "master", "config": config}
    return named(job, sequence="", priority=0, is_exclusive=False, spec=spec)


def finish_three(database: Database) -> None:
    """Three builds of each known job and kind that have ended."""
    for job, seconds in USUAL.items():
        database.change(
            """INSERT INTO build (job, number, kind, pool, priority, state, result, is_voting, spec,
                                  deadline_at, started_at, finished_at)
               SELECT :job, -n, 'benchmark', 'perf', 0, 'finished', 'SUCCESS', true,
                      jsonb_build_object('kind', (ARRAY['check', 'post-submit'])[1 + n % 2]), now(),
                      now() - make_interval(secs => :seconds), now()
               FROM generate_series(1, 6) AS n""",
            job=job,
            seconds=seconds,
        )


def add(store: PostgresStore, number: int, drawn: Drawn) -> int:
    kind = RunKind.POST_SUBMIT if drawn.is_merged else RunKind.CHECK
    with store.transaction() as tx:
        pushed = replace(change(number), owner=Person(drawn.owner, account=drawn.owner))
        new = replace(check_run(tx.changes.upsert(pushed).patch_set_id, f"{number:040x}"), kind=kind)
        return tx.builds.add(start(tx, new), 0, build_of(drawn.job, kind))


def test_machines_pages_and_hints_take_builds_in_the_order_of_their_turns(database: Database) -> None:
    store, draw = PostgresStore(database.owner), random.Random(7)  # noqa: S311 - an order to repeat
    finish_three(database)
    work: defaultdict[tuple[str, bool], float] = defaultdict(float)
    turns, owners = [], {}
    for number in range(1, BUILDS + 1):
        drawn = Drawn(draw.choice("aaab"), draw.choice(["lint", "perf", "other"]), draw.random() < 0.2)
        build, usual, own = add(store, number, drawn), USUAL.get(drawn.job), (drawn.owner, drawn.is_merged)
        came = database.value("SELECT created_at FROM build WHERE id = :build", build=build)
        ahead = turn_ahead(work[own], usual, is_merged=drawn.is_merged)
        turns.append((came + timedelta(seconds=ahead), build))
        owners[build] = own
        work[own] += UNKNOWN_SECONDS if usual is None else usual
    order = [build for _, build in sorted(turns)]
    assert order != sorted(order)

    machine = worklist(database)
    assert [build for (build,) in database.rows("SELECT build_id FROM machine.eligible('perf-01')")] == order
    shown = PostgresReading(database.owner).unfinished_builds(BUILDS)
    assert [(each.id, each.place) for each in shown] == [(build, at) for at, build in enumerate(order, 1)]
    for at, each in enumerate(shown):
        before = [owners[build] for build in order[:at]].count(owners[each.id])
        assert (f", after {before} of its owner" in each.waits) is bool(before)
    database.change("UPDATE build SET created_at = created_at - interval '1 hour' WHERE state = 'queued'")
    assert PostgresUpkeep(database.owner).idle_pools(30.0) == [("perf", order[0])]
    with claimed(machine):
        assert database.value("SELECT id FROM build WHERE state = 'running'") == order[0]


def test_a_recheck_of_a_build_of_the_version_before_is_work_of_its_changes_owner(database: Database) -> None:
    store = PostgresStore(database.owner)
    builds = [add(store, number, Drawn(f"{number}", "other", is_merged=False)) for number in range(1, 5)]
    database.change("UPDATE build SET queued_for = '', usual = NULL")
    database.change("UPDATE build SET state = 'finished' WHERE id = ANY(:ids)", ids=builds[:2])
    database.change("DELETE FROM run_build WHERE build_id = :build", build=builds[1])
    with store.transaction() as tx:
        again = [tx.builds.repeat(tx.builds.lock(build), None, 3600.0) for build in builds[:2]]
    found = database.rows(
        "SELECT queued_for, extract(epoch FROM turn - created_at) FROM build WHERE id = ANY(:ids)"
        " ORDER BY id",
        ids=again,
    )
    assert found == [("review~1", UNKNOWN_SECONDS / 4), ("", UNKNOWN_SECONDS / 4)]


def test_merged_commits_of_the_version_before_and_their_rechecks_come_after_checks_of_half_an_hour_only(
    database: Database,
) -> None:
    store = PostgresStore(database.owner)
    former, old = (add(store, number, Drawn("1", "other", is_merged=True)) for number in (1, 2))
    command.downgrade(configured(database.owner_url), "20261128_1610")
    database.change("UPDATE build SET priority = 1")
    database.change("UPDATE build SET state = 'finished' WHERE id = :build", build=former)
    migrate(database.owner_url)
    queued = "SELECT priority, turn > now() + interval '29 minutes' FROM build WHERE id = :build"
    assert database.rows(queued, build=old) == [(0, True)]
    with store.transaction() as tx:
        again = tx.builds.repeat(tx.builds.lock(former), None, 3600.0)
    assert database.rows(queued, build=again) == [(0, True)]


def test_a_claim_looks_up_one_first_build_of_each_class(database: Database) -> None:
    worklist(database)
    database.change(
        """INSERT INTO build (job, number, kind, pool, priority, state, is_voting, is_exclusive, spec,
                              deadline_at)
           SELECT 'perf', n, 'benchmark', 'perf', 0, 'queued', true, n % 2 = 0, '{}', now() + interval '1 day'
           FROM generate_series(1, 2000) AS n"""
    )
    database.change("ANALYZE")
    body = database.value("SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure('machine.eligible(text)')")
    query = body.replace("p_machine", "'perf-01'").strip()
    scans = scans_of(database.owner, lambda: database.rows(query), "build")
    assert min(each.rows for each in scans if each.was_run) == 2
