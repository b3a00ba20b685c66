"""Regressions in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import slowdowns_from
from service.adapters.postgres.rows import from_row
from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.trunk.regression import Checked, RegressionState, heaviest, weight_of
from service.domain.values.errors import NotFound
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.trunk import JUDGED, Regressions, SlowerResult, SlowerResults, change_details, given_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from service.domain.trunk.regression import GateSaid, Weight
    from service.ports.access import Audit, Author
    from service.ports.trunk import RegressionChange

    _Voting = frozenset[tuple[str, ...]] | None

_KINDS: Final = frozenset(map(str, ReasonKind))  # a later version may have stored others
# Each build's comparisons are looked up with its own moment, so that only their partition is opened.
_SLOWER: Final = text(f"""
WITH checked AS (
    SELECT c.id FROM run AS r
    JOIN patch_set AS merged ON merged.id = r.patch_set_id
    -- A rebase while it was merged, or another message, makes a patch set that needs no check of its own.
    JOIN patch_set AS p ON p.change_id = merged.change_id AND p.number BETWEEN (
        SELECT coalesce(max(number), 1) FROM patch_set
        WHERE change_id = merged.change_id AND number <= merged.number
          AND kind = '{PatchSetKind.OTHER_CODE}'
    ) AND merged.number
    JOIN run AS c ON c.patch_set_id = p.id AND c.kind = 'check' AND c.state = 'finished'
    WHERE r.id = :run_id ORDER BY c.id DESC LIMIT 1
)
SELECT k.series_id, b.id AS build_id, k.ratio, k.low, k.high, k.reasons, b.job,
       s.suite, s.benchmark, s.metric, checked.id AS check_id,
       before.verdict AS verdict_before, before.reasons AS reasons_before,
       b_before.id AS build_before, b_before.is_voting
FROM run_build AS rb
JOIN build AS b ON b.id = rb.build_id
JOIN LATERAL (
    SELECT * FROM comparison
    WHERE build_id = b.id AND measured_at = b.created_at AND verdict = '{Verdict.SLOWER}' OFFSET 0
) AS k ON true
JOIN series AS s ON s.id = k.series_id AND s.metric <> '{INSTRUCTIONS.name}'
LEFT JOIN checked ON true
LEFT JOIN run_build AS rb_before ON rb_before.run_id = checked.id AND rb_before.job = b.job
LEFT JOIN build AS b_before ON b_before.id = rb_before.build_id
LEFT JOIN LATERAL (
    SELECT * FROM comparison
    WHERE build_id = b_before.id AND measured_at = b_before.created_at AND series_id = k.series_id OFFSET 0
) AS before ON true
WHERE rb.run_id = :run_id
ORDER BY rb.position, k.position, k.series_id
""")  # noqa: S608 - put together from constants
_SLOWDOWNS: Final = text("SELECT id, slowdowns FROM build WHERE id = ANY(cast(:ids AS bigint[]))")
_RECORD: Final = text("""
INSERT INTO regression (run_id, state, weight) VALUES (:run_id, :state, :weight)
ON CONFLICT (run_id) DO NOTHING RETURNING id
""")
_RECORD_RESULT: Final = text("""
INSERT INTO regressed_result (regression_id, series_id, build_id, weight, gate_said, ratio, low, high)
VALUES (:regression_id, :series_id, :build_id, :weight, :gate_said, :ratio, :low, :high)
""")
# In order of the ids, so that two people who change the same ones wait for each other instead of deadlocking.
_LOCK: Final = text("""
SELECT id, state, assignee, bug, note FROM regression
WHERE id = ANY(cast(:ids AS bigint[])) ORDER BY id FOR UPDATE
""")
_CHANGE: Final = text("""
UPDATE regression SET changed_by = :person, changed_at = now(),
    state = :state, assignee = :assignee, bug = :bug, note = :note
WHERE id = :id
""")


class PostgresRegressions(Connected, Regressions):
    """Rows of the tables ``regression`` and ``regressed_result``.

    Args:
        connection: a connection in a transaction, which the store ends.
        audit: of the same transaction.
    """

    def __init__(self, connection: Connection, audit: Audit) -> None:
        super().__init__(connection)
        self._audit = audit

    @override
    def slower_results(self, run_id: int) -> SlowerResults:
        rows = self._execute(_SLOWER, {"run_id": run_id}).mappings().all()
        ids = {row[name] for row in rows for name in ("build_id", "build_before")} - {None}
        builds = self._execute(_SLOWDOWNS, {"ids": sorted(ids)})
        voting = {build.id: _voting(build.slowdowns) for build in builds}
        return SlowerResults(
            tuple(_slower(row, voting) for row in rows), next((row["check_id"] for row in rows), None)
        )

    @override
    def record(
        self, run_id: int, state: RegressionState, results: Sequence[tuple[SlowerResult, GateSaid]]
    ) -> None:
        weight = heaviest(each.weight for each, _ in results)
        made = self._execute(_RECORD, {"run_id": run_id, "state": state, "weight": weight}).scalar()
        if made is None:
            return
        rows = [
            {
                "regression_id": made,
                "series_id": each.series_id,
                "build_id": each.build_id,
                "weight": each.weight,
                "gate_said": said,
                "ratio": each.ratio,
                "low": each.low,
                "high": each.high,
            }
            for each, said in results
        ]
        self._execute(_RECORD_RESULT, rows)

    @override
    def change(self, ids: Sequence[int], change: RegressionChange, author: Author) -> None:
        wanted = sorted({*ids})
        stored = {row["id"]: row for row in self._execute(_LOCK, {"ids": wanted}).mappings()}
        for missing in (each for each in wanted if each not in stored):
            raise NotFound(f"there is no regression {missing}")
        for each in wanted:
            was = {name: stored[each][name] for name in JUDGED}
            values = was | given_in(change)
            if values == was:
                continue
            self._execute(_CHANGE, {**values, "id": each, "person": author.name})
            self._audit.record_act(
                AuditKind.REGRESSION_CHANGED,
                author.account,
                f"regression {each}",
                change_details(was, values, author),
            )


def _slower(row: RowMapping, voting: Mapping[int, _Voting]) -> SlowerResult:
    checked = None if row["check_id"] is None else Checked()
    if row["verdict_before"] is not None:
        checked = Checked(
            verdict=Verdict(row["verdict_before"]),
            weight=_weight(row, row["reasons_before"], voting[row["build_before"]]),
            is_voting=row["is_voting"],
            build_id=row["build_before"],
        )
    weight = _weight(row, row["reasons"], voting[row["build_id"]])
    return from_row(SlowerResult, row, weight=weight, checked=checked)


def _weight(row: RowMapping, reasons: Sequence[Mapping[str, Any]] | None, voting: _Voting) -> Weight:
    kinds = {ReasonKind(each["kind"]) for each in reasons or () if each["kind"] in _KINDS}
    return weight_of(kinds, votes=voting is None or not voting.isdisjoint(_keys(row)))


def _keys(row: RowMapping) -> Iterator[tuple[str, ...]]:
    """Yield the key of a row among slow-downs, and that which an earlier version stored."""
    yield tuple(row[name] for name in ("job", "suite", "benchmark", "metric"))
    yield ("", "", row["benchmark"], row["metric"])


def _voting(slowdowns: Sequence[Mapping[str, Any]] | None) -> _Voting:
    """Return the keys of a build's slow-downs that vote; None (all do) if an earlier version stored none."""
    stored = slowdowns_from(slowdowns)
    return None if stored is None else frozenset(each.key for each in stored)
