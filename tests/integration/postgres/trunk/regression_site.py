"""A branch with measured merges, and the pages of regressions over it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.trunk.shown_regressions import PostgresRegressionReading
from service.domain.access.caller import Role
from service.domain.review.change import Account
from service.domain.runs.states import RunState
from service.domain.values.identity import RunKind
from service.domain.values.search import Words
from service.domain.verdict.explanation.explanation import pack
from service.domain.verdict.inference.verdict import Verdict
from service.ports.access import Author
from service.steps.access.override_rights import OverrideRights
from service.steps.runs.record_regression import record_regression
from service.web.trunk.regressions import PageRegressions
from tests.support.access.callers import Callers
from tests.support.fakes import FakeReviewServer
from tests.support.reading.explained import EXPLAINED
from tests.support.store_samples import NOON, post_submit_run, start
from tests.support.trunk import SLOWER, check, key, longer, measured, merge
from tests.support.web import build_regressions, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from service.domain.trunk.regression import RegressionState
    from service.domain.values.identity import SeriesKey
    from service.ports.trunk import NarrowedRange, RegressedResult
    from tests.support.postgres import Database
    from tests.support.trunk import Row

PEOPLE: Final = {"al@example.com": Account("1000003", "Al Ray"), "eve@example.com": Account("6", "Eve")}
AL: Final = Author(account="1000003", name="Al Ray")
UNDECIDED: Final = (Verdict.UNDECIDED, ())
FASTER: Final = (Verdict.FASTER, ())
SAME: Final = (Verdict.SAME, ())
ANY: Final = Words()


@dataclass
class Site:
    """A branch with measured merges, and pages over it; Al is in the group that may judge."""

    database: Database
    callers: Callers = field(default_factory=Callers)
    merged: int = 0

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.database.owner)
        self.reading = PostgresRegressionReading(self.database.owner)
        accounts = FakeReviewServer(accounts=dict(PEOPLE), members={("1000003", "reviewers")})
        rights = OverrideRights(RecentAnswers({"review": accounts}))
        self.page = PageRegressions(self.store, rights, lambda _: self.reading)
        self.app = build_regressions(self.callers.access(), self.page)
        self.people = {
            name: self.callers.as_person(role, name)
            for name, role in (("al", Role.REVIEWER), ("eve", Role.REVIEWER), ("ro", Role.READER))
        }

    def merge(
        self,
        rows: Mapping[SeriesKey, Row],
        before: Mapping[SeriesKey, Row] | None = None,
        *,
        votes: bool = True,
    ) -> int:
        """Merge a change after a check with results; None: without a change. Return the run."""
        self.merged += 1
        with self.store.transaction() as tx:
            patch_set = None if before is None else check(tx, before, number=10 + self.merged)
            run = merge(tx, patch_set, rows, f"{self.merged:040x}", votes=votes)
        self._end(run)
        return run

    def measure_longer(self, run: int, rows: Mapping[SeriesKey, Row]) -> None:
        """Measure a merged commit longer, with these results."""
        with self.store.transaction() as tx:
            again = longer(tx, run, rows)
        self._end(again)

    def compare_distant(self, first: int, last: int, rows: Mapping[SeriesKey, Row]) -> None:
        """Measure an anchor between merged commits, and then its pair again, with these results."""
        base, patch = f"{first:040x}", f"{last:040x}"
        ratios = dict.fromkeys(rows, (1.05, 1.04, 1.06))
        with self.store.transaction() as tx:
            new = replace(post_submit_run(patch), kind=RunKind.ANCHOR, pool="perf", parent=base)
            anchor = tx.runs.add(new)
            assert anchor is not None
            tx.runs.start(anchor, tree="t", parent=base, parent_tree="q", label="Verified")
            measured(tx, anchor, rows, ratios=ratios)
            tx.runs.end(anchor, RunState.FINISHED)
        with self.store.transaction() as tx:
            again = longer(tx, anchor, rows, ratios=ratios)
        self._end(again)

    def narrow(self, anchor: int, first: int, last: int) -> int:
        """Compare commits of an anchor's range, and narrow the range to them; return the run."""
        base, patch = f"{first:040x}", f"{last:040x}"
        new = replace(post_submit_run(patch), kind=RunKind.ANCHOR, pool="perf", parent=base)
        with self.store.transaction() as tx:
            link = tx.runs.add(replace(new, previous_id=anchor, requested_by="Benchgate"))
            assert link is not None
            tx.runs.start(link, tree="t", parent=base, parent_tree="q", label="Verified")
            measured(tx, link, {key("BM_a"): SLOWER})
            tx.runs.end(link, RunState.FINISHED)
            series = self.reading.regression(1).regression.worst.series_id
            tx.regressions.narrow(1, series, link, last - first)
        return link

    def explain(self, of: RegressedResult | NarrowedRange) -> None:
        """Let the machine of a result's build explain it, after another benchmark."""
        found = replace(EXPLAINED, suite=of.suite, benchmark=of.benchmark)
        build = PostgresReading(self.database.owner).build(of.job, of.number).build.id
        insert = "INSERT INTO explanation (build_id, packed) VALUES (:build, :packed)"
        packed = pack([replace(found, benchmark="BM_other"), found])
        self.database.change(insert, build=build, packed=packed)

    def compare_again(self, run: int, rows: Mapping[SeriesKey, Row], ratio: float) -> None:
        """Compare the commits of a run again, with relinked programs."""
        with self.store.transaction() as tx:
            again = longer(tx, run, rows, ratios=dict.fromkeys(rows, (ratio, ratio - 0.001, ratio + 0.001)))
        self._end(again)

    def backfill(self, rows: Mapping[SeriesKey, Row]) -> None:
        """Measure an old commit for a backfill, and then again, with these results."""
        new = replace(post_submit_run("b" * 40), kind=RunKind.ANCHOR, pool="perf", parent="a" * 40)
        new = replace(new, subject="Make it old", author="Olga", requested_by="ann", committed_at=NOON)
        with self.store.transaction() as tx:
            link = start(tx, new)
            measured(tx, link, rows)
            tx.runs.end(link, RunState.FINISHED)
            again = longer(tx, link, rows)
        self._end(again)

    def _end(self, run: int) -> None:
        with self.store.transaction() as tx:
            record = tx.runs.lock(run)
            record_regression(tx, record, tx.builds.of_run(run))
            tx.runs.end(run, RunState.FINISHED)
        self.database.change(
            "UPDATE build SET spec = jsonb_set(spec, '{groups}', cast(:groups AS jsonb))",
            groups='{"override": "reviewers"}',
        )

    def read(self, path: str, person: str = "al") -> str:
        answer = call(self.app, "GET", path, headers=self.people[person])
        assert answer.status_code == 200, answer.text
        return answer.text

    def save(self, *chosen: int, person: str = "al", ticket: str = "", **fields: str) -> httpx.Response:
        """Send the form of a list, or of a regression if ``fields`` has no list."""
        page = f"/regressions?list={fields['list']}" if "list" in fields else f"/regressions/{chosen[0]}"
        shown = dict(
            re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)"', self.read(page, person))
        )
        form = shown | fields | {f"regression-{each}": "yes" for each in chosen}
        form["ticket"] = ticket or form["ticket"]
        headers = {"Content-Type": "application/x-www-form-urlencoded", **self.people[person]}
        return call(self.app, "POST", "/regressions", content=urlencode(form), headers=headers)

    def states(self) -> Mapping[int, RegressionState]:
        return {each.id: each.state for each in self.reading.regressions(None, ANY, 100)}
