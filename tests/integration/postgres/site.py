"""The site of the reading contracts, in a real database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from service.adapters.postgres.persisted import mappings_of_claims
from service.adapters.postgres.reading import PostgresReading
from service.domain.claims.values import Claim
from service.domain.runs.states import RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import BuildName, RunKind
from service.domain.verdict.inference.verdict import Verdict
from tests.contract.reading.claims import NOON
from tests.contract.reading.site import CHANGE, PARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.postgres import Database

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
RUN_KINDS = {RunKind.CHECK: 0, RunKind.POST_SUBMIT: 1, RunKind.CALIBRATION: 2, RunKind.ANCHOR: 3}


class PostgresSite:
    """Changes, builds and machines that a test puts into a real database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reading = PostgresReading(database.owner)
        self._builds = 0
        self._sessions = 0

    def add_change(
        self, number: int = CHANGE, *, minutes: int = 0, patch_sets: int = 1, instance: str = "gerrit"
    ) -> None:
        self.database.change(
            """INSERT INTO server (instance, first_contact, seen_until) VALUES (:instance, now(), now())
               ON CONFLICT DO NOTHING""",
            instance=instance,
        )
        self.database.change(
            "INSERT INTO public_branch VALUES (:instance, 'kv', 'master') ON CONFLICT DO NOTHING",
            instance=instance,
        )
        change: int = self.database.value(
            """INSERT INTO change (instance, number, project, branch, change_id, subject, owner, status,
                                   is_wip, is_private, is_public, updated_at)
               VALUES (:instance, :number, 'kv', 'master', 'I1', 'Make it faster', 'Dana', 'NEW',
                       false, false, true, :at)
               RETURNING id""",
            instance=instance,
            number=number,
            at=NOW + timedelta(minutes=minutes),
        )
        for patch_set in range(1, patch_sets + 1):
            self.database.change(
                """INSERT INTO patch_set (change_id, number, revision, ref, kind, author, subject, message)
                   VALUES (:change, :number, :revision, 'refs/changes/1', 'REWORK', 'Dana',
                           'Make it faster', 'body')""",
                change=change,
                number=patch_set,
                revision=f"{number}-{patch_set}",
            )

    def add_run(
        self,
        patch_set: int = 1,
        *,
        kind: RunKind = RunKind.CHECK,
        state: RunState = RunState.FINISHED,
        parent: str = PARENT,
        change: int = CHANGE,
    ) -> int:
        run: int = self.database.value(
            """INSERT INTO run (kind, state, patch_set_id, instance, project, branch, revision, subject,
                                author, parent)
               VALUES (:kind, :state, (SELECT id FROM patch_set WHERE revision = :revision), 'gerrit', 'kv',
                       'master', :revision, 'Make it faster', 'Dana', :parent) RETURNING id""",
            kind=kind,
            state=state,
            revision=f"{change}-{patch_set}",
            parent=parent,
        )
        return run

    def add_build(
        self,
        run: int,
        *causes: str,
        result: Result | None = Result.SUCCESS,
        benchmarks: Sequence[str] = (),
        verdict: Verdict = Verdict.SLOWER,
        pool: str = "perf",
    ) -> BuildName:
        self._builds += 1
        build: int = self.database.value(
            """INSERT INTO build (job, number, kind, pool, priority, state, is_voting, spec, result, causes,
                                  deadline_at, created_at)
               VALUES ('perf', :number, 'benchmark', :pool, 1, :state, true,
                       '{"config": {"kind": "benchmark", "suites": [{"name": "s", "program": "build/p"}],
                                 "policy": {"floor": "2%"}}}', :result,
                       to_jsonb(cast(:causes AS text[])), :at, :at) RETURNING id""",
            number=self._builds,
            pool=pool,
            state="finished" if result else "queued",
            result=result,
            causes=list(causes),
            at=NOW + timedelta(minutes=self._builds),
        )
        self.database.change(
            "INSERT INTO run_build (run_id, job, build_id, position) VALUES (:run, :job, :build, :number)",
            run=run,
            job=f"perf{self._builds}",
            build=build,
            number=self._builds,
        )
        for position, benchmark in enumerate(benchmarks):
            self._compare(build, self.add_series(benchmark), position, (run, verdict))
        return BuildName("perf", self._builds)

    def explain(self, build: BuildName, packed: bytes) -> None:
        self.database.change(
            """INSERT INTO explanation (build_id, packed)
               SELECT id, :packed FROM build WHERE job = :job AND number = :number""",
            packed=packed,
            job=build.job,
            number=build.number,
        )

    def claim(self, run: int, benchmark: str, minutes: int = 0) -> None:
        claims = mappings_of_claims([Claim(3, benchmark, "items_per_second", 100.0, 90.0, 0.9)])
        self.database.change(
            """INSERT INTO revision_claims (instance, project, revision, claims)
               SELECT instance, project, revision, cast(:claims AS jsonb) FROM run WHERE id = :run
               ON CONFLICT DO NOTHING""",
            run=run,
            claims=json.dumps(claims),
        )
        self.database.change(
            "UPDATE run SET finished_at = cast(:noon AS timestamptz) + make_interval(mins => :minutes)"
            " WHERE id = :run",
            run=run,
            noon=NOON,
            minutes=minutes,
        )

    def _compare(self, build: int, series: int, position: int, of: tuple[int, Verdict]) -> None:
        run, verdict = of
        self.database.change(
            """INSERT INTO comparison (measured_at, series_id, build_id, kind, position, pairs, verdict,
                                       ratio, low, high, base, patch)
               SELECT created_at, :series, :build, :kind, :position, 8, :verdict, 0.9, 0.88, 0.92, 10, 9
               FROM build WHERE id = :build""",
            build=build,
            series=series,
            position=position,
            verdict=verdict,
            kind=RUN_KINDS[self.reading.run(run).run.kind],
        )
        for side in (0, 1):
            self.database.change(
                """INSERT INTO result (measured_at, build_id, series_id, side, samples)
                   SELECT created_at, id, :series, :side, ARRAY[10 - :side, NULL, 11 - :side]
                   FROM build WHERE id = :build""",
                build=build,
                series=series,
                side=side,
            )

    def spend(self, build: BuildName, seconds: float) -> None:
        self.database.change(
            """WITH measured AS (
                   INSERT INTO sequence (digest, seed) VALUES ('of ' || cast(:number AS text), 1) RETURNING id
               ), placed AS (
                   UPDATE build SET sequence_id = measured.id FROM measured
                   WHERE job = :job AND number = :number RETURNING build.id, sequence_id
               )
               INSERT INTO launch (sequence_id, variant, pair, suite, side, build_id, artifact, facts)
               SELECT sequence_id, 0, 0, 'executor', side, id, '',
                      jsonb_build_object('seconds', cast(:seconds AS float8) / 2)
               FROM placed CROSS JOIN unnest(ARRAY['base', 'patch']) AS side""",
            job=build.job,
            number=build.number,
            seconds=seconds,
        )

    def fail_to_plan(self, run: int, attempts: int) -> None:
        self.database.change(
            "INSERT INTO setback VALUES ('plan', :run, :attempts, '2026-11-21 12:00+00', false, 'no route')",
            run=run,
            attempts=attempts,
        )

    def decide(self, run: int, vote: int | None) -> None:
        self.database.change(
            """INSERT INTO decision (run_id, patch_set_id, number, vote, header, message)
               SELECT :run, patch_set_id, (SELECT count(*) + 1 FROM decision), :vote, 'Build Failed', 'text'
               FROM run WHERE id = :run""",
            run=run,
            vote=vote,
        )

    def add_series(self, benchmark: str) -> int:
        series: int = self.database.value(
            """INSERT INTO series (digest, instance, project, branch, machine_class, job, suite, benchmark,
                                   metric, unit, better)
               VALUES (sha256(convert_to(:benchmark, 'UTF8')), 'gerrit', 'kv', 'master', 'perf', 'perf',
                       'executor', :benchmark, 'items_per_second', '1/s', 'higher')
               ON CONFLICT (digest) DO UPDATE SET unit = excluded.unit RETURNING id""",
            benchmark=benchmark,
        )
        return series

    def import_value(self, series: int, commit: str, minutes: int, value: float, position: int = 0) -> None:
        self.database.change(
            """INSERT INTO imported_value (series_id, commit, moment, position, value)
               VALUES (:series, :commit, :moment, :position, :value)""",
            series=series,
            commit=commit,
            moment=NOW + timedelta(minutes=minutes),
            position=position,
            value=value,
        )

    def rename(self, older: int, newer: int) -> None:
        self.database.change(
            "UPDATE series SET continues = :older WHERE id = :newer", older=older, newer=newer
        )

    def add_log(self, build: BuildName, chunks: Sequence[tuple[int, bytes]], end: tuple[int, bytes]) -> None:
        of_build = "SELECT id, 5, {} FROM build WHERE job = :job AND number = :name"
        name = {"job": build.job, "name": build.number}
        whole = b"".join(data for _, data in chunks)
        for number, (start, data) in enumerate(chunks):
            self.database.change(
                "INSERT INTO log_chunk (build_id, token, number, start, line, size, artifact)"
                + of_build.format(":number, :start, :line, :size, 'artifact'"),
                number=number,
                start=start,
                line=b"".join(data for _, data in chunks[:number]).count(b"\n"),
                size=len(data),
                **name,
            )
        # An earlier attempt of the build wrote a log too.
        self.database.change(
            "INSERT INTO log_chunk SELECT build_id, 4, number, start, line, size, artifact FROM log_chunk"
        )
        shared = chunks[-1][0] + len(chunks[-1][1]) - end[0]
        self.database.change(
            "INSERT INTO log_end (build_id, token, start, line, data)"
            + of_build.format(":start, :line, :data"),
            start=end[0],
            line=whole.count(b"\n") - end[1][:shared].count(b"\n"),
            data=end[1],
            **name,
        )

    def share(self, build: BuildName, run: int) -> None:
        self.database.change(
            """INSERT INTO run_build (run_id, job, build_id, position)
               SELECT :run, 'shared', id, 1 FROM build WHERE job = :job AND number = :number""",
            run=run,
            job=build.job,
            number=build.number,
        )

    def hide(self, number: int = CHANGE) -> None:
        self.database.change("UPDATE change SET is_public = false WHERE number = :number", number=number)

    def close(self) -> None:
        self.database.change("DELETE FROM public_branch")

    def add_machine(self, name: str, pool: str = "perf", *, holds: BuildName | None = None) -> None:
        self.database.change(
            "INSERT INTO machine (name, class, pool, host) VALUES (:name, 'epyc', :pool, :name)",
            name=name,
            pool=pool,
        )
        if holds:
            self.database.change(
                """INSERT INTO lease
                   SELECT id, :name, 1, now(), now() + interval '1 minute' FROM build
                   WHERE number = :number""",
                name=name,
                number=holds.number,
            )

    def add_session(self, machine: str, benchmark: str) -> None:
        self._sessions += 1
        series = self.add_series(benchmark)
        build: int = self.database.value(
            """INSERT INTO build (job, number, kind, pool, priority, state, is_voting, spec, deadline_at)
               VALUES ('calibration', :number, 'benchmark', 'perf', 9, 'finished', false, '{}', now())
               RETURNING id""",
            number=self._sessions,
        )
        self.database.change(
            """WITH session AS (INSERT INTO sequence (digest, seed) VALUES (:digest, 1) RETURNING id)
               INSERT INTO evidence (series_id, sequence_id, machine, build_id, logs, verdict)
               SELECT :series, session.id, :machine, :build, ARRAY[0.001, -0.001], 'same' FROM session""",
            digest=str(self._sessions),
            series=series,
            machine=machine,
            build=build,
        )
        self.database.change(
            """WITH held AS (
                   INSERT INTO run (kind, state, instance, project, branch, revision)
                   VALUES ('calibration', 'finished', 'gerrit', 'kv', 'master', 'c1') RETURNING id
               )
               INSERT INTO run_build (run_id, job, build_id, position)
               SELECT id, 'calibration', :build, 1 FROM held""",
            build=build,
        )
