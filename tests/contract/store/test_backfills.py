"""Store contract: backfills, and what was measured of their links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.backfill import Backfill, LinkTries
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey
from service.domain.verdict.inference.verdict import Verdict
from service.ports.branches import MeasuredAnchors, SlowRanges
from tests.support.store_samples import NOON, named, post_submit_run, start
from tests.support.trunk import SLOWER, key, longer, measured, merge

if TYPE_CHECKING:
    from service.ports.runs.runs import NewRun
    from service.ports.store import Store

PERF = BranchKey("perf", "review", "kv_engine", "master")
ASKED = Backfill("review", "kv_engine", "master", 40)


def link(base: str, patch: str, hours: int = 0) -> NewRun:
    run = replace(post_submit_run(patch * 40), kind=RunKind.ANCHOR, pool="perf", parent=base * 40)
    made = NOON.replace(hour=hours)
    return replace(run, requested_by="ann on perf-01", committed_at=made)


class TestBackfills:
    def test_a_request_waits_until_nothing_is_left(self, store: Store) -> None:
        with store.transaction() as tx:
            first = tx.backfills.add(ASKED, "ann on perf-01")
            second = tx.backfills.add(replace(ASKED, commits=1), "ben on perf-01")
            assert [each.id for each in tx.backfills.waiting()] == [first, second]
            tx.backfills.note(first, links=10, left=7, failed=1)
        with store.transaction() as tx:
            found = tx.backfills.waiting()[0]
            assert (found.backfill, found.requested_by, found.ended_at) == (ASKED, "ann on perf-01", None)
            assert (found.links, found.left, found.failed) == (10, 7, 1)
            tx.backfills.note(first, links=10, left=0, failed=1)
            tx.backfills.note(first, links=99, left=99, failed=0)
        with store.transaction() as tx:
            assert [each.id for each in tx.backfills.waiting()] == [second]
            last = tx.backfills.list()[-1]
            assert (last.id, last.links, last.left) == (first, 10, 0)
            assert last.ended_at is not None

    def test_a_request_can_be_ended_once(self, store: Store) -> None:
        with store.transaction() as tx:
            number = tx.backfills.add(ASKED, "ann")
            assert [tx.backfills.cancel(number), tx.backfills.cancel(number)] == [True, False]
            assert tx.backfills.waiting() == []
            for unknown in (number + 1, 1 << 70):
                with pytest.raises(NotFound, match="no backfill"):
                    tx.backfills.cancel(unknown)

    def test_a_commit_is_measured_in_a_pool_by_each_of_its_jobs(self, store: Store) -> None:
        names = [name * 40 for name in "23456"]
        with store.transaction() as tx:
            whole = merge(tx, None, {key("BM_a"): SLOWER}, names[0])
            tx.runs.end(whole, RunState.FINISHED)
            assert tx.backfills.measured_in(PERF, ["cv-perf"], names) == {names[0]}
            assert tx.backfills.measured_in(PERF, ["cv-perf", "new-job"], names) == frozenset()
            assert tx.backfills.measured_in(replace(PERF, branch="8.0"), ["cv-perf"], names) == frozenset()
            broken = start(tx, post_submit_run(names[1]))
            tx.builds.finish(tx.builds.add(broken, 0, named("cv-perf", sequence="")), Outcome.BROKEN, [])
            assert names[1] in tx.backfills.measured_in(PERF, ["cv-perf"], names), "it has not ended"
            tx.runs.end(broken, RunState.FINISHED)
            assert names[1] not in tx.backfills.measured_in(PERF, ["cv-perf"], names)
            untouched = start(tx, post_submit_run(names[2]))
            tx.builds.add(untouched, 0, named("cv-perf", sequence="", outcome=Outcome.NOT_BUILT))
            tx.runs.end(untouched, RunState.FINISHED)
            assert names[2] in tx.backfills.measured_in(PERF, ["cv-perf"], names)

    def test_a_link_knows_its_tries(self, store: Store) -> None:
        with store.transaction() as tx:
            for outcome in (Outcome.CANCELLED, Outcome.BROKEN, Outcome.PASSED):
                run = start(tx, replace(link("1", "2"), parent="p" * 40))
                tx.builds.finish(tx.builds.add(run, 0, named("cv-perf", sequence="")), outcome, [])
                tx.runs.end(run, RunState.FINISHED)
            refused = tx.runs.add(link("3", "4"))
            assert refused is not None
            tx.runs.end(refused, RunState.REFUSED, "the branch was set back")
            assert tx.backfills.tries(PERF) == {
                ("p" * 40, "2" * 40): LinkTries(3, 1, is_measured=True),
                ("3" * 40, "4" * 40): LinkTries(1, 1, is_measured=False),
            }
            assert tx.backfills.tries(replace(PERF, pool="other")) == {}
            assert tx.branches.anchors(PERF) == MeasuredAnchors({}, None), "they are no anchors of a schedule"

    def test_links_that_are_clearly_slower_are_measured_again_once(self, store: Store) -> None:
        sizes = {
            "BM_slow": (1.05, 1.03, 1.07),
            "BM_small": (1.015, 1.012, 1.018),
            "BM_wide": (1.05, 1.005, 1.1),
        }
        ratios = {key(name): size for name, size in sizes.items()}
        same = {key("BM_slow"): (Verdict.SAME, ())}
        with store.transaction() as tx:
            ends = []
            for hour, names in enumerate((["BM_slow", "BM_small"], ["BM_wide"], ["BM_slow"])):
                run = start(tx, link("1", f"{hour + 2}", hour))
                build = measured(tx, run, dict.fromkeys(map(key, names), SLOWER), ratios=ratios)
                assert (run, build) not in tx.backfills.slower(PERF), "it has not ended"
                tx.runs.end(run, RunState.FINISHED)
                ends.append((run, build))
            assert tx.backfills.slower(PERF) == [ends[2], ends[0]], "the newest commit first"
            assert tx.backfills.slower(replace(PERF, pool="other")) == []
            assert tx.branches.slow_ranges(PERF) == SlowRanges()
            longer(tx, ends[2][0], same)
            longer(tx, ends[0][0], {}, outcome=Outcome.CANCELLED)
            assert tx.backfills.slower(PERF) == [ends[0]]
