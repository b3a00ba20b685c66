"""Builds and decisions that ended some time ago."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from service.domain.runs.states import RunState
from service.ports.runs.decisions import review_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.postgres.site import PostgresSite


def end_build(
    site: PostgresSite,
    outcome: str = "passed",
    ago: str = "1 minute",
    *,
    kind: str = "check",
    causes: Sequence[str] = (),
    seconds: object = None,
) -> int:
    """Add a build that waited 10 s, ran for 100 s, and was analysed for 2 s; return its id."""
    site.database.change("INSERT INTO job_number VALUES ('perf', 1) ON CONFLICT DO NOTHING")
    build: int = site.database.value(
        """INSERT INTO build (job, number, kind, pool, priority, state, is_voting, spec, outcome, causes,
               machine, execution, deadline_at, created_at, started_at, executed_at, finished_at)
           SELECT 'perf', (SELECT count(*) FROM build) + 1, 'benchmark', 'perf', 1, 'finished', true,
               jsonb_build_object('kind', cast(:kind AS text)), :outcome, cast(:causes AS jsonb), 'perf-01',
               cast(:execution AS jsonb), now(), at - interval '112 s', at - interval '102 s',
               at - interval '2 s', at
           FROM (SELECT now() - cast(:ago AS interval) AS at) AS ended RETURNING id""",
        outcome=outcome,
        ago=ago,
        kind=kind,
        causes=json.dumps(causes),
        execution=json.dumps({"seconds": seconds or {}}),
    )
    return build


def decide_and_post(site: PostgresSite, vote: int | None, *, asked: str | None = None) -> int:
    """Decide a run that began 100 s ago, and post its review 10 s ago; its event came ``asked`` ago."""
    run = site.add_run(state=RunState.FINISHED)
    site.database.change("UPDATE run SET created_at = now() - interval '100 s' WHERE id = :run", run=run)
    site.decide(run, vote)
    number = site.database.value("SELECT max(number) FROM decision WHERE run_id = :run", run=run)
    site.database.change(
        """INSERT INTO outbox (kind, dedup_key, payload, state, sent_at)
           VALUES ('review', :key, '{}', 'sent', now() - interval '10 s')""",
        key=review_key(run, number),
    )
    if asked:
        site.database.change(
            """INSERT INTO event (instance, digest, type, body, change, received_at)
               VALUES ('gerrit', '1', 'patchset-created', '{}', 7, now() - cast(:asked AS interval))""",
            asked=asked,
        )
    return run
