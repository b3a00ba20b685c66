"""Read regressions as a viewer sees them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, number_key
from service.adapters.postgres.access.sight import (
    OF_BRANCHES,
    Sighted,
    measured_in_sight,
    merged_in_sight,
)
from service.adapters.postgres.failures.failures_in_scope import groups_of_scope
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.adapters.postgres.trunk.regressions import HEAVIEST_FIRST, OPEN
from service.domain.failures.known import Scope
from service.domain.trunk.notice import Channel, NoticeState, Recipient
from service.domain.trunk.regression import RegressionList, RegressionState, Weight, list_of
from service.domain.trunk.week import DAYS, Week
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.verdict import Verdict
from service.ports.trunk import (
    LEDGER_DAYS,
    MOST_WORST,
    Judges,
    Ledger,
    LedgerRow,
    NarrowedRange,
    Notice,
    RegressedResult,
    Regression,
    RegressionDetail,
    RegressionReading,
    ToldIn,
    WeekReport,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import RowMapping

    from service.domain.values.search import Words

_RESULT: Final = """
x.series_id, b.job, coalesce(b.external_number, b.number) AS number, s.suite, s.benchmark, s.metric, s.unit,
s.better, x.ratio, x.low, x.high, x.weight, x.gate_said
"""
_MOST_LATER: Final = 500  # merged commits
_RECENT: Final = f"now() - interval '{LEDGER_DAYS} days'"


_IS_RANGE: Final = f"(r.kind = '{RunKind.ANCHOR}' AND r.committed_at IS NULL)"


def _regressions(chosen: str) -> str:
    return f"""
SELECT g.id, g.state, g.weight AS heaviest, r.instance, r.project, r.branch,
       coalesce(nullif(r.merged_as, ''), r.revision) AS revision, r.parent,
       CASE WHEN {_IS_RANGE} THEN '' ELSE coalesce(nullif(r.subject, ''), p.subject, '') END AS subject,
       CASE WHEN {_IS_RANGE} THEN '' ELSE coalesce(nullif(r.author, ''), p.author, '') END AS author,
       c.number AS change, CASE WHEN c.id IS NULL THEN NULL ELSE {ADDRESS} END AS change_address,
       p.number AS patch_set, g.run_id, r.committed_at,
       {_IS_RANGE} AS is_range, g.found_at, g.assignee, g.bug, g.note, g.changed_by, g.changed_at,
       (SELECT count(*) FROM regressed_result AS x WHERE x.regression_id = g.id) AS results, worst.*
FROM regression AS g
JOIN run AS r ON r.id = g.run_id
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
JOIN LATERAL (
    SELECT {_RESULT}, NULL AS faster_since FROM regressed_result AS x
    JOIN series AS s ON s.id = x.series_id JOIN build AS b ON b.id = x.build_id
    WHERE x.regression_id = g.id ORDER BY {HEAVIEST_FIRST} LIMIT 1
) AS worst ON true
WHERE {chosen} AND {merged_in_sight("r")}
"""  # noqa: S608 - put together from constants


_IN_LIST: Final = """
g.id < :before AND (g.state, g.weight) IN (
    SELECT * FROM unnest(cast(:states AS text[]), cast(:weights AS text[]))
)
"""
# strpos finds the words as they are written: nothing in them is a pattern.
_LIST: Final = text(f"""
{_regressions(_IN_LIST)}
  AND NOT EXISTS (
    SELECT FROM (
        SELECT lower(concat_ws(' ', r.project, r.branch, r.subject, r.author, r.revision, r.merged_as,
            p.subject, p.author, g.assignee, g.bug, string_agg(its.benchmark, ' '))) AS words
        FROM regressed_result AS x JOIN series AS its ON its.id = x.series_id WHERE x.regression_id = g.id
    ) AS searched
    WHERE EXISTS (SELECT FROM unnest(cast(:wanted AS text[])) AS word WHERE strpos(words, word) = 0)
       OR EXISTS (SELECT FROM unnest(cast(:unwanted AS text[])) AS word WHERE strpos(words, word) > 0)
  )
ORDER BY g.id DESC LIMIT :limit
""")  # noqa: S608 - put together from constants
_ONE: Final = text(_regressions("g.id = :regression_id"))
# The newest commit since that a viewer sees to be faster, perhaps under the benchmark's next name. A closed
# regression needs none.
_RESULTS: Final = text(f"""
SELECT {_RESULT}, later.ratio AS faster_since
FROM regression AS g JOIN run AS r ON r.id = g.run_id
JOIN LATERAL (
    SELECT CASE WHEN r.committed_at IS NOT NULL THEN r.committed_at WHEN r.kind = '{RunKind.ANCHOR}' THEN (
        SELECT min(m.created_at) FROM run AS m
        WHERE m.kind = '{RunKind.POST_SUBMIT}'
          AND (m.instance, m.project, m.branch) = (r.instance, r.project, r.branch)
          AND coalesce(nullif(m.merged_as, ''), m.revision) = r.revision
    ) ELSE r.created_at END AS at
) AS landed ON true
JOIN regressed_result AS x ON x.regression_id = g.id
JOIN series AS s ON s.id = x.series_id JOIN build AS b ON b.id = x.build_id
LEFT JOIN LATERAL (
    SELECT k.ratio FROM (
        SELECT * FROM comparison
        WHERE series_id = ANY(ARRAY[x.series_id, (SELECT id FROM series WHERE continues = x.series_id)])
          AND kind = 1 AND measured_at > landed.at
        ORDER BY measured_at DESC LIMIT {_MOST_LATER}
    ) AS k
    WHERE k.verdict = '{Verdict.FASTER}' AND {measured_in_sight("k.build_id")}
    ORDER BY k.measured_at DESC LIMIT 1
) AS later ON g.state = ANY(cast(:open AS text[]))
WHERE g.id = :regression_id ORDER BY {HEAVIEST_FIRST}
""")  # noqa: S608 - put together from constants
_TOLD: Final = text("""
SELECT channel, address, state FROM notice WHERE regression_id = :regression_id ORDER BY channel, address
""")
# Relinked programs confirm it if they have most of the slow-down, too.
_NARROWED: Final = text(f"""
SELECT s.suite, s.benchmark, g.narrowed_commits AS commits, coalesce(link.parent, '') AS parent,
       coalesce(link.revision, '') AS revision, coalesce(direct.job, '') AS job,
       coalesce(direct.number, 0) AS number, EXISTS (
           SELECT FROM run AS again JOIN run_build AS rb ON rb.run_id = again.id
           JOIN build AS b ON b.id = rb.build_id
           JOIN LATERAL (
               SELECT verdict, ratio FROM comparison
               WHERE build_id = b.id AND measured_at = b.created_at AND series_id = s.id OFFSET 0
           ) AS k ON k.verdict = '{Verdict.SLOWER}' AND k.ratio > 0
           WHERE again.kind = '{RunKind.LONGER}' AND again.previous_id = link.id
             AND abs(ln(k.ratio)) >= abs(ln(nullif(x.ratio, 0))) / 2
       ) AS is_confirmed
FROM regression AS g JOIN series AS s ON s.id = g.narrowed_series_id
JOIN regressed_result AS x ON x.regression_id = g.id AND x.series_id = s.id
LEFT JOIN run AS link ON link.id = g.narrowed_run_id
LEFT JOIN LATERAL (
    SELECT b.job, b.number FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
    WHERE rb.run_id = link.id AND b.job = s.job
) AS direct ON true
WHERE g.id = :regression_id
""")  # noqa: S608 - put together from constants
_CHOSEN: Final = text(f"""
SELECT g.id, r.instance, r.project, r.branch FROM regression AS g JOIN run AS r ON r.id = g.run_id
WHERE g.id = ANY(cast(:ids AS bigint[])) AND {merged_in_sight("r")} ORDER BY g.id
""")  # noqa: S608 - put together from constants
# Without builds on the branch lately, the groups of the regressions' own builds.
_GROUPS_THEN: Final = text("""
SELECT DISTINCT coalesce(b.spec -> 'groups' ->> 'override', '') AS named
FROM regression AS g JOIN run_build AS rb ON rb.run_id = g.run_id JOIN build AS b ON b.id = rb.build_id
WHERE g.id = ANY(cast(:ids AS bigint[])) ORDER BY named
""")
_COUNTS: Final = text(f"""
SELECT g.state, g.weight, count(*) AS regressions FROM regression AS g JOIN run AS r ON r.id = g.run_id
WHERE {merged_in_sight("r")} GROUP BY 1, 2
""")  # noqa: S608 - put together from constants


def _has_result(condition: str = "true") -> str:
    """Return the condition that a run r has a result k of this kind; one is looked up for each build."""
    return f"""EXISTS (
    SELECT FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
    JOIN LATERAL (
        SELECT FROM comparison AS k
        WHERE k.build_id = b.id AND k.measured_at = b.created_at AND {condition} LIMIT 1
    ) AS k ON true
    WHERE rb.run_id = r.id
)"""  # noqa: S608 - put together from constants


_MEASURED: Final = text(f"""
SELECT count(*) AS measured, count(g.id) AS regressed
FROM run AS r LEFT JOIN regression AS g ON g.run_id = r.id AND g.weight = '{Weight.COUNTS}'
WHERE r.kind = '{RunKind.POST_SUBMIT}' AND r.created_at > {_RECENT} AND {merged_in_sight("r")}
  AND {_has_result()}
""")  # noqa: S608 - put together from constants
_OPEN_NOW: Final = f"""
(g.state = '{RegressionState.CONFIRMED}'
    OR (g.state = '{RegressionState.UNTRIAGED}' AND g.weight = '{Weight.COUNTS}'))
"""
_IN_PROJECT: Final = """
(:project = '' OR ((r.instance, r.project) = (:instance, :project) AND NOT EXISTS (
    SELECT FROM patch_set AS of_run JOIN change AS its ON its.id = of_run.change_id
    WHERE of_run.id = r.patch_set_id AND its.is_private
)))
"""
_TOLD_TO: Final = f"""
{_IN_PROJECT} AND (:address = '' OR EXISTS (
    SELECT FROM notice AS n
    WHERE n.regression_id = g.id AND n.channel = '{Channel.MAIL}' AND n.address = :address
      AND n.state = '{NoticeState.SENT}'
))
"""
_IN_WEEK: Final = """
({0} > cast(:ends AS timestamptz) - make_interval(days => :days) AND {0} <= cast(:ends AS timestamptz))
"""
_IS_FASTER: Final = f"""
k.verdict = '{Verdict.FASTER}' AND (SELECT metric FROM series WHERE id = k.series_id) <> '{INSTRUCTIONS.name}'
"""  # noqa: S608 - put together from constants
# A commit that is merged to several branches counts once.
_COMMITS_OF_WEEK: Final = text(f"""
SELECT count(DISTINCT commit) AS measured, count(DISTINCT commit) FILTER (WHERE is_faster) AS faster
FROM (
    SELECT (r.instance, r.project, coalesce(nullif(r.merged_as, ''), r.revision)) AS commit,
           {_has_result(_IS_FASTER)} AS is_faster
    FROM run AS r
    WHERE r.kind = '{RunKind.POST_SUBMIT}' AND {_IN_WEEK.format("r.finished_at")}
      AND {_IN_PROJECT} AND {merged_in_sight("r")} AND {_has_result()}
) AS measured
""")  # noqa: S608 - put together from constants
_REGRESSIONS_OF_WEEK: Final = text(f"""
SELECT count(*) FILTER (WHERE {_OPEN_NOW}) AS open,
       count(*) FILTER (WHERE {_OPEN_NOW} AND g.state = '{RegressionState.UNTRIAGED}') AS untriaged,
       count(*) FILTER (
           WHERE g.state = '{RegressionState.FIXED}' AND {_IN_WEEK.format("g.fixed_at")}
       ) AS fixed,
       count(*) FILTER (
           WHERE {_IN_WEEK.format("g.found_at")}
             AND ({_OPEN_NOW} OR (g.state = '{RegressionState.FIXED}' AND g.weight = '{Weight.COUNTS}'))
       ) AS found
FROM regression AS g JOIN run AS r ON r.id = g.run_id
WHERE ({_OPEN_NOW} OR (g.state = '{RegressionState.FIXED}' AND (
    {_IN_WEEK.format("g.fixed_at")} OR {_IN_WEEK.format("g.found_at")}
))) AND {_TOLD_TO} AND {merged_in_sight("r")}
""")  # noqa: S608 - put together from constants
_WORST: Final = text(f"""
{_regressions(f"{_OPEN_NOW} AND {_TOLD_TO}")}
ORDER BY abs(ln(nullif(worst.ratio, 0))) DESC NULLS LAST, g.id DESC LIMIT {MOST_WORST}
""")
_LEDGER: Final = text(f"""
SELECT x.gate_said, count(*) AS results, count(DISTINCT g.id) AS commits
FROM regression AS g JOIN run AS r ON r.id = g.run_id JOIN regressed_result AS x ON x.regression_id = g.id
WHERE r.kind = '{RunKind.POST_SUBMIT}' AND r.created_at > {_RECENT} AND x.weight = '{Weight.COUNTS}'
  AND {merged_in_sight("r")}
GROUP BY 1 ORDER BY results DESC, 1
""")  # noqa: S608 - put together from constants


class PostgresRegressionReading(Sighted, RegressionReading):
    """Regressions in the database."""

    @override
    def regressions(
        self, of: RegressionList | None, words: Words, limit: int, before: int | None = None
    ) -> Sequence[Regression]:
        chosen = [
            (state.value, weight.value)
            for state in RegressionState
            for weight in Weight
            if of in {None, list_of(state, weight)}
        ]
        states, weights = zip(*chosen, strict=True)
        keys: dict[str, Any] = {
            "before": LARGEST_BIGINT if before is None else min(before, LARGEST_BIGINT),
            "states": list(states),
            "weights": list(weights),
            "wanted": list(words.wanted),
            "unwanted": list(words.unwanted),
            "limit": limit,
        }
        keys |= self._sight(OF_BRANCHES)
        with self._begin() as connection:
            return [_regression(row) for row in connection.execute(_LIST, keys).mappings()]

    @override
    def regression(self, regression_id: int) -> RegressionDetail:
        keys: dict[str, Any] = {"regression_id": number_key(regression_id, LARGEST_BIGINT), "open": OPEN}
        keys |= self._sight(OF_BRANCHES)
        with self._begin() as connection:
            row = connection.execute(_ONE, keys).mappings().first()
            if row is None:
                raise NotFound(f"there is no regression {regression_id}")
            found = _regression(row)
            results = connection.execute(_RESULTS, keys).mappings()
            told = connection.execute(_TOLD, keys)
            narrowed = connection.execute(_NARROWED, keys).mappings().first()
            return RegressionDetail(
                found,
                tuple(from_row(RegressedResult, each) for each in results),
                tuple(
                    self._notice(found, each.state, Recipient(Channel(each.channel), each.address))
                    for each in told
                ),
                None if narrowed is None else from_row(NarrowedRange, narrowed),
            )

    def _notice(self, of: Regression, state: str, to: Recipient) -> Notice:
        is_signed_in = self._sees_all or self._viewer is not None
        recipient = {
            Channel.MAIL: to.address if is_signed_in else "",
            Channel.CHAT: of.project,
            Channel.CHANGE: of.change_address or "",
        }[to.channel]
        return Notice(to.channel, recipient, NoticeState(state))

    @override
    def judges_of(self, ids: Sequence[int]) -> Judges:
        keys = {"ids": [number_key(each, LARGEST_BIGINT) for each in ids], **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            rows = connection.execute(_CHOSEN, keys).all()
            for missing in (each for each in ids if each not in {row.id for row in rows}):
                raise NotFound(f"there is no regression {missing}")
            branches = {(row.instance, row.project, row.branch) for row in rows}
            groups: set[str] = set()
            for instance, project, branch in sorted(branches):
                scope = Scope(instance=instance, project=project, branch=branch)
                own = [row.id for row in rows if (row.project, row.branch) == (project, branch)]
                lately = groups_of_scope(connection, scope, keys)
                groups |= {*(lately or connection.execute(_GROUPS_THEN, {"ids": own}).scalars())}
        return Judges(tuple(sorted({each for each, *_ in branches})), tuple(sorted(groups)))

    @override
    def counts(self) -> Mapping[RegressionList, int]:
        sight = self._sight(OF_BRANCHES)
        counts: dict[RegressionList, int] = {}
        with self._begin() as connection:
            for row in connection.execute(_COUNTS, sight):
                of = list_of(RegressionState(row.state), Weight(row.weight))
                counts[of] = counts.get(of, 0) + row.regressions
        return counts

    @override
    def ledger(self) -> Ledger:
        sight = self._sight(OF_BRANCHES)
        with self._begin() as connection:
            counted = connection.execute(_MEASURED, sight).one()
            rows = connection.execute(_LEDGER, sight).mappings()
            return Ledger(
                measured=counted.measured,
                regressed=counted.regressed,
                rows=tuple(from_row(LedgerRow, row) for row in rows),
            )

    @override
    def week(self, ends: datetime, told: ToldIn | None = None) -> WeekReport:
        keys = {"ends": ends, "days": DAYS, **asdict(told or ToldIn("", "")), **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            commits = connection.execute(_COMMITS_OF_WEEK, keys).mappings().one()
            regressions = connection.execute(_REGRESSIONS_OF_WEEK, keys).mappings().one()
            worst = connection.execute(_WORST, keys).mappings() if regressions["open"] else ()
            return WeekReport(Week(**commits, **regressions), tuple(map(_regression, worst)))


def _regression(row: RowMapping) -> Regression:
    state, weight = RegressionState(row["state"]), Weight(row["heaviest"])
    return from_row(
        Regression, row, list=list_of(state, weight), weight=weight, worst=from_row(RegressedResult, row)
    )
