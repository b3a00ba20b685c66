"""Claims of commit messages in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from service.domain.claims.answers import Measured
from service.domain.claims.left_out import answering, left_out_in
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

    def measured(self, run_id: int, benchmarks: Collection[str]) -> Sequence[Measured]:
        of_run = [build for run, build in self._m.run_builds if run == run_id]
        placed = sorted(of_run, key=lambda build: (self._m.positions[run_id, build], build))
        rows = [row for build in placed for row in self._rows(self._m.builds[build - 1])]
        compared = [row for row in rows if row.benchmark in benchmarks]
        left_out = [row for build in placed for row in self._left_out(self._m.builds[build - 1])]
        return answering(compared, left_out, benchmarks)

    def _left_out(self, build: BuildRecord) -> Sequence[Measured]:
        packed, job = self._m.explanations.get(build.id) if build.spec.get("claimed") else None, _job(build)
        with suppress(BadResults):
            rows = left_out_in(packed) if packed else ()
            return [replace(row, job=build.job, **Measured.facts_of(job, row.suite)) for row in rows]
        return ()

    def _rows(self, build: BuildRecord) -> Iterator[Measured]:
        stored, job = self._m.results.get(build.id), _job(build)
        for each in sorted(stored.comparisons, key=lambda row: row.position) if stored else ():
            values: dict[str, Any] = {
                one.name: getattr(each, one.name, getattr(each.series, one.name, None))
                for one in fields(Measured)
                if one.name
                not in {"per", "is_same_program", "is_doubtful", "same_within", "names_metrics", "cpus"}
            }
            row = Measured(**values, **Measured.facts_of(job, each.series.suite))
            yield row.with_reasons(each.reasons)


def _job(build: BuildRecord) -> Job | None:
    config = build.spec.get("config")
    return parse_job(build.job, config) if config else None
