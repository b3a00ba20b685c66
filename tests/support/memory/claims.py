"""Claims of commit messages in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from service.domain.claims.answers import MeasuredRow, with_new_names
from service.domain.claims.left_out import answering, left_out_in
from service.domain.claims.near import MOST_COMPARED
from service.domain.project.project_file import parse_job
from service.domain.values.errors import BadResults
from service.ports.claims import Claims
from tests.support.memory.state import InMemory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from service.domain.claims.values import Claim
    from service.domain.project.job import Job
    from service.ports.runs.builds import BuildRecord


class MemoryClaims(InMemory, Claims):
    def keep(self, instance: str, project: str, revision: str, claims: Sequence[Claim]) -> None:
        assert 0 < len(claims) <= 200
        self._m.claims.setdefault((instance, project, revision), tuple(claims))

    def of(self, instance: str, project: str, revision: str) -> Sequence[Claim]:
        return self._m.claims.get((instance, project, revision), ())

    def measured(self, run_id: int, benchmarks: Collection[str]) -> Sequence[MeasuredRow]:
        builds = self._builds(run_id)
        names = with_new_names(benchmarks, map(_job, builds))
        compared = [row for build in builds for row in self._rows(build) if row.benchmark in names]
        left_out = [row for build in builds for row in self._left_out(build)]
        return answering(compared, left_out, names)

    def compared(self, run_id: int) -> Sequence[str]:
        rows = (row for build in self._builds(run_id) for row in self._rows(build))
        return list(dict.fromkeys(row.benchmark for row in rows))[:MOST_COMPARED]

    def _builds(self, run_id: int) -> Sequence[BuildRecord]:
        of_run = [build for run, build in self._m.run_builds if run == run_id]
        placed = sorted(of_run, key=lambda build: (self._m.positions[run_id, build], build))
        return [self._m.builds[build - 1] for build in placed]

    def _left_out(self, build: BuildRecord) -> Sequence[MeasuredRow]:
        packed = self._m.explanations.get(build.id) if build.spec.get("claimed_names") else None
        with suppress(BadResults):
            rows, job = left_out_in(packed) if packed else (), _job(build)
            return [replace(row, job=build.job, **MeasuredRow.fields_of(job, row.suite)) for row in rows]
        return ()

    def _rows(self, build: BuildRecord) -> Iterator[MeasuredRow]:
        stored, job = self._m.results.get(build.id), _job(build)
        for each in sorted(stored.comparisons, key=lambda row: row.position) if stored else ():
            of_job = MeasuredRow.fields_of(job, each.series.suite)
            values: dict[str, Any] = {
                one.name: getattr(each, one.name, getattr(each.series, one.name, None))
                for one in fields(MeasuredRow)
                if one.name not in {"per", "is_same_program", "is_doubtful", "cpus", *of_job}
            }
            row = MeasuredRow(**values, **of_job)
            yield row.with_reasons(each.reasons)


def _job(build: BuildRecord) -> Job | None:
    config = build.spec.get("config")
    return parse_job(build.job, config) if config else None
