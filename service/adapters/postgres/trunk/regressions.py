"""Regressions in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import slowdowns_from
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.trunk.branches import CUT_SHORT, WORSENING
from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.narrowing import MOST_CUT_SHORT
from service.domain.trunk.regression import (
    Checked,
    RegressionState,
    Weight,
    heaviest,
    is_news,
    state_with,
    weight_of,
)
from service.domain.trunk.spread import WITHIN_DAYS
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.trunk import (
    JUDGED,
    OpenRange,
    RangeLink,
    Regressions,
    SlowerResult,
    SlowerResults,
    change_details,
    given_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from service.domain.trunk.notice import Recipient
    from service.domain.trunk.regression import GateSaid
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.access import Audit, Author
    from service.ports.trunk import RegressionChange

    _Voting = frozenset[tuple[str, ...]] | None

_RANK: Final = f"array_position(ARRAY[{', '.join(repr(str(each)) for each in Weight)}], {{}}.weight)"
HEAVIEST_FIRST: Final = f"{_RANK.format('x')}, abs(ln(nullif(x.ratio, 0))) DESC NULLS LAST, x.series_id"
OPEN: Final = [RegressionState.UNTRIAGED.value, RegressionState.CONFIRMED.value]
_KINDS: Final = frozenset(map(str, ReasonKind))  # a later version may have stored others
# A run of kind longer follows the run that has the regression: of the merged commit, or the anchor.
_MERGED: Final = f"""
coalesce((SELECT previous_id FROM run WHERE id = :run_id AND kind = '{RunKind.LONGER}'), :run_id)
"""  # noqa: S608 - put together from constants
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
    WHERE r.id = {_MERGED} ORDER BY c.id DESC LIMIT 1
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
WHERE rb.run_id = :run_id AND NOT EXISTS (
    SELECT FROM run AS link JOIN run AS narrowed USING (parent, revision)
    JOIN regression AS g ON g.narrowed_run_id = narrowed.id AND g.narrowed_commits = 1
    WHERE link.id = {_MERGED} AND link.committed_at IS NOT NULL AND g.narrowed_series_id = k.series_id
)
ORDER BY rb.position, k.position, k.series_id
""")  # noqa: S608 - put together from constants
_SLOWDOWNS: Final = text("SELECT id, slowdowns FROM build WHERE id = ANY(cast(:ids AS bigint[]))")
_OF_COMMIT: Final = text(f"SELECT id, state FROM regression WHERE run_id = {_MERGED} FOR UPDATE")  # noqa: S608 - from above
_WEIGHTS: Final = text("SELECT series_id, weight FROM regressed_result WHERE regression_id = :regression_id")
_RECORD: Final = text(f"""
INSERT INTO regression (run_id, state, weight) VALUES ({_MERGED}, :state, :weight) RETURNING id
""")  # noqa: S608 - from above
_UPDATE: Final = text("""
UPDATE regression SET state = :state, weight = :weight,
    found_at = CASE WHEN :is_news THEN now() ELSE found_at END
WHERE id = :regression_id
""")
_RECORD_RESULT: Final = text("""
INSERT INTO regressed_result (regression_id, series_id, build_id, weight, gate_said, ratio, low, high)
VALUES (:regression_id, :series_id, :build_id, :weight, :gate_said, :ratio, :low, :high)
ON CONFLICT (regression_id, series_id) DO UPDATE SET
    build_id = excluded.build_id, weight = excluded.weight,
    ratio = excluded.ratio, low = excluded.low, high = excluded.high
""")
# The benchmark that changed most, of those that count most, tells which commit did it.
_RANGES: Final = text(f"""
SELECT g.id AS regression_id, a.id AS run_id, a.parent AS base, a.revision AS patch, worst.series_id, (
    SELECT cast(coalesce(sum(extract(epoch FROM coalesce(b.finished_at, now()) - b.started_at)), 0) AS float8)
    FROM run AS n JOIN run_build AS rb ON rb.run_id = n.id JOIN build AS b ON b.id = rb.build_id
    WHERE n.kind = '{RunKind.ANCHOR}' AND n.pool = :pool AND n.previous_id IS NOT NULL
      AND n.created_at > now() - interval '1 day'
) AS spent
FROM run AS a JOIN regression AS g ON g.run_id = a.id
JOIN LATERAL (
    SELECT x.series_id FROM regressed_result AS x
    WHERE x.regression_id = g.id ORDER BY {HEAVIEST_FIRST} LIMIT 1
) AS worst ON true
WHERE a.kind = '{RunKind.ANCHOR}' AND a.committed_at IS NULL AND a.parent IS NOT NULL
  AND a.created_at > now() - interval '{WITHIN_DAYS} days'
  AND (a.pool, a.instance, a.project, a.branch) = (:pool, :instance, :project, :branch)
  AND g.state = ANY(cast(:open AS text[])) AND g.narrowed_series_id IS NULL
  AND (
      SELECT count(*) FROM run
      WHERE kind = '{RunKind.ANCHOR}' AND previous_id = a.id AND EXISTS ({CUT_SHORT})
  ) < {MOST_CUT_SHORT}
ORDER BY g.id DESC
""")  # noqa: S608 - put together from constants
_LINKS: Final = text(f"""
SELECT DISTINCT ON (run.parent, run.revision) run.id AS run_id, run.parent AS base, run.revision AS patch,
       k.worsening, coalesce(k.error, 0) AS error, coalesce(k.pairs, 0) AS pairs
FROM run
LEFT JOIN LATERAL (
    SELECT CASE WHEN is_equal THEN 0 ELSE {WORSENING % ("k.ratio", "k.ratio")} END AS worsening,
           CASE WHEN is_equal THEN 0 ELSE k.error END AS error, k.pairs
    FROM series AS s
    JOIN run_build AS rb ON rb.run_id = run.id
    JOIN build AS b ON b.id = rb.build_id AND b.job = s.job
    LEFT JOIN LATERAL (
        SELECT * FROM comparison
        WHERE build_id = b.id AND measured_at = b.created_at AND series_id = s.id OFFSET 0
    ) AS k ON true
    CROSS JOIN LATERAL (
        SELECT b.outcome = '{Outcome.NOT_BUILT}'
            OR coalesce(k.reasons @> '[{{"kind": "{ReasonKind.SAME_PROGRAM}"}}]', false) AS is_equal
    ) AS programs
    WHERE s.id = :series_id AND (is_equal OR (k.ratio > 0 AND k.error IS NOT NULL))
) AS k ON true
WHERE run.kind = '{RunKind.ANCHOR}' AND (run.id = :run_id OR run.previous_id = :run_id)
  AND (run.pool, run.instance, run.project, run.branch) = (:pool, :instance, :project, :branch)
  AND (run.state = '{RunState.REFUSED}' OR run.state = '{RunState.FINISHED}' AND NOT EXISTS ({CUT_SHORT}))
ORDER BY run.parent, run.revision, run.id DESC
""")  # noqa: S608 - put together from constants
_NARROW: Final = text("""
UPDATE regression SET narrowed_series_id = :series_id, narrowed_run_id = :run_id, narrowed_commits = :commits
WHERE id = :regression_id
""")
_TELL: Final = text("""
INSERT INTO notice (regression_id, channel, address) VALUES (:regression_id, :channel, :address)
ON CONFLICT (regression_id, channel, address) DO UPDATE
SET state = 'waiting', next_at = now(), changed_at = now() WHERE notice.state = 'dropped'
""")
# In order of the ids, so that two people who change the same ones wait for each other instead of deadlocking.
_LOCK: Final = text("""
SELECT id, state, assignee, bug, note FROM regression
WHERE id = ANY(cast(:ids AS bigint[])) ORDER BY id FOR UPDATE
""")
_CHANGE: Final = text(f"""
UPDATE regression SET changed_by = :person, changed_at = now(), fixed_at = CASE
        WHEN :state <> '{RegressionState.FIXED}' THEN NULL WHEN state = :state THEN fixed_at ELSE now() END,
    state = :state, assignee = :assignee, bug = :bug, note = :note
WHERE id = :id
""")  # noqa: S608 - put together from constants


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
    ) -> int | None:
        stored = self._execute(_OF_COMMIT, {"run_id": run_id}).first()
        known = {} if stored is None else self._weights(stored.id)
        news = is_news(known, ((each.series_id, each.weight) for each, _ in results))
        # A slow-down that counted once does so until a person judges it.
        weights = known | {
            each.series_id: heaviest([each.weight, known.get(each.series_id, each.weight)])
            for each, _ in results
        }
        judged = {"weight": heaviest(weights.values())}
        if stored is None:
            keys = {"run_id": run_id, "state": state, **judged}
            regression_id = self._execute(_RECORD, keys).scalar_one()
        else:
            regression_id = stored.id
            after = state_with(RegressionState(stored.state), state, is_news=news)
            self._execute(
                _UPDATE, {"regression_id": regression_id, "state": after, "is_news": news, **judged}
            )
        rows = [
            {
                "regression_id": regression_id,
                "series_id": each.series_id,
                "build_id": each.build_id,
                "weight": weights[each.series_id],
                "gate_said": said,
                "ratio": each.ratio,
                "low": each.low,
                "high": each.high,
            }
            for each, said in results
        ]
        self._execute(_RECORD_RESULT, rows)
        return int(regression_id) if news else None

    @override
    def tell(self, regression_id: int, recipients: Sequence[Recipient]) -> None:
        rows = [
            {"regression_id": regression_id, "channel": each.channel, "address": each.address}
            for each in recipients
        ]
        if rows:
            self._execute(_TELL, rows)

    @override
    def open_ranges(self, key: BranchKey) -> Sequence[OpenRange]:
        rows = self._execute(_RANGES, {**asdict(key), "open": OPEN}).mappings().all()
        return [
            from_row(
                OpenRange,
                row,
                links=tuple(
                    from_row(RangeLink, each)
                    for each in self._execute(_LINKS, {**asdict(key), **row}).mappings()
                ),
            )
            for row in rows
        ]

    @override
    def narrow(self, regression_id: int, series_id: int, run_id: int | None, commits: int = 0) -> None:
        found = {"series_id": series_id, "run_id": run_id, "commits": commits}
        self._execute(_NARROW, {"regression_id": regression_id, **found})

    def _weights(self, regression_id: int) -> dict[int, Weight]:
        rows = self._execute(_WEIGHTS, {"regression_id": regression_id})
        return {row.series_id: Weight(row.weight) for row in rows}

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
