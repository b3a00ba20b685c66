"""Store contract: branches and what was measured of their merged commits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.regression import GateSaid, RegressionState
from service.domain.trunk.undecided import MOST_TRIES, UndecidedResult
from service.domain.values.identity import ChangeKey, RunKind
from service.domain.verdict.calibration.schedule import BranchKey
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.branches import MeasuredAnchors, SlowRanges
from tests.support.store_samples import change, check_run, named, post_submit_run, start
from tests.support.trunk import key, longer, measured, merge

if TYPE_CHECKING:
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite


class TestBranches:
    def test_the_measured_commits_of_a_branch_are_those_with_a_run_after_the_merge(
        self, store: Store
    ) -> None:
        with store.transaction() as tx:
            start(tx, post_submit_run("2" * 40))
            patch_set = tx.changes.upsert(change()).patch_set_id
            start(tx, check_run(patch_set, "3" * 40))
            here = ("review", "kv_engine", "master")
            assert tx.branches.measured(*here, ["2" * 40, "3" * 40]) == {"2" * 40}
            assert tx.branches.measured("review", "kv_engine", "other", ["2" * 40]) == frozenset()
            assert tx.branches.measured(*here, []) == frozenset()

    def test_a_change_that_a_merge_commit_brought_is_measured_by_that(self, store: Store) -> None:
        with store.transaction() as tx:
            run = tx.runs.add(post_submit_run())
            assert run is not None
            tx.runs.start(run, tree="t", parent="p", parent_tree="q", label="Verified", merged_as="m" * 40)
            here = ("review", "kv_engine", "master")
            assert tx.branches.measured(*here, ["2" * 40, "m" * 40]) == {"m" * 40}
            patch_set = tx.changes.upsert(change()).patch_set_id
            assert tx.runs.add(replace(post_submit_run(), patch_set_id=patch_set)) is None
            found = tx.history.newest_run(change().key, RunKind.POST_SUBMIT, "m" * 40)
            assert found is not None, "another CI reports the merge commit"
            assert found.id == run

    def test_branches_are_followed_for_a_month_after_their_last_run(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            for branch, revision in (("master", "2"), ("8.0", "2"), ("8.0", "3")):
                start(tx, replace(post_submit_run(revision * 40), branch=branch))
            assert tx.branches.followed("review") == [("kv_engine", "8.0"), ("kv_engine", "master")]
            assert tx.branches.followed("other") == []
        site.wait(31 * 86400)
        with site.store.transaction() as tx:
            assert tx.branches.followed("review") == []

    def test_a_change_gets_the_run_of_its_merged_commit_that_was_found_first(self, store: Store) -> None:
        with store.transaction() as tx:
            run = start(tx, post_submit_run())
            patch_set = tx.changes.upsert(change()).patch_set_id
            assert tx.branches.unfinished("review", "kv_engine", "master") == 1
            assert tx.runs.add(replace(post_submit_run(), patch_set_id=patch_set)) is None
            found = tx.runs.lock(run)
            assert (found.patch_set_id, found.change) == (patch_set, ChangeKey("review", 7, "kv_engine"))
            tx.runs.end(run, RunState.FINISHED)
            assert tx.branches.unfinished("review", "kv_engine", "master") == 0

    def test_the_anchors_of_a_branch_know_their_tries_and_whether_one_ended(self, site: StoreSite) -> None:
        perf = BranchKey("perf", "review", "kv_engine", "master")
        new = replace(post_submit_run(), kind=RunKind.ANCHOR, pool="perf", parent="1" * 40)
        for is_measured in (False, True):
            with site.store.transaction() as tx:
                assert tx.branches.anchors(replace(perf, pool="other")) == MeasuredAnchors({}, None)
                run = start(tx, new)
                assert tx.runs.add(replace(new, revision="9" * 40)) is None, "a pool measures one at a time"
                assert (tx.branches.is_measuring("perf"), tx.branches.is_measuring("other")) == (True, False)
                outcome = Outcome.PASSED if is_measured else Outcome.CANCELLED
                tx.builds.finish(tx.builds.add(run, 0, named("cv-perf", sequence="")), outcome, [])
                tx.runs.end(run, RunState.FINISHED)
                assert not tx.branches.is_measuring("perf")
                [found] = tx.branches.anchors(perf).tries.values()
                assert found.is_done is is_measured
        with site.store.transaction() as tx:
            anchors = tx.branches.anchors(perf)
        site.wait(60.0)
        with site.store.transaction() as tx:
            since = tx.branches.anchors(perf).since
        assert anchors.tries == {("p" * 40, "2" * 40): AnchorTries(2, is_done=True)}
        assert since == pytest.approx(60.0, abs=5.0)

    def test_undecided_results_that_look_slower_may_be_measured_longer(self, site: StoreSite) -> None:
        perf = BranchKey("perf", "review", "kv_engine", "master")
        more = (Verdict.UNDECIDED, (Reason(ReasonKind.MORE_PAIRS, (40.0, 300.0, 0.0, 0.0)),))
        relinks = (Verdict.UNDECIDED, (Reason(ReasonKind.LAYOUT_NOT_CHECKED),))
        noise = (Verdict.UNDECIDED, (Reason(ReasonKind.NO_NUMBER_OF_PAIRS),))
        rows = {
            key("BM_slow"): more,
            key("BM_fast", "items_per_second"): more,
            key("BM_small"): more,
            key("BM_relinks"): relinks,
            key("BM_noise"): noise,
            key("BM_same"): (Verdict.SAME, ()),
            key("BM_slow", "instructions"): more,
        }
        ratios = dict.fromkeys(rows, (1.04, 1.0, 1.08)) | {key("BM_small"): (1.01, 0.97, 1.05)}
        with site.store.transaction() as tx:
            run = merge(tx, None, rows, ratios=ratios)
            assert tx.branches.undecided(perf) == [], "it has not ended"
            tx.runs.end(run, RunState.FINISHED)
            assert tx.branches.undecided(perf) == [
                UndecidedResult(run, 1, "BM_relinks", 8, 0.0, 0.0),
                UndecidedResult(run, 1, "BM_slow", 8, 40.0, 300.0),
            ]
            assert tx.branches.undecided(replace(perf, pool="other")) == []
            longer(tx, run, {key("BM_slow"): more}, ratios=ratios)
            assert tx.branches.undecided(perf) == [UndecidedResult(run, 2, "BM_slow", 8, 40.0, 300.0, 1)]
            for _ in range(MOST_TRIES - 2):
                longer(tx, run, {})
            longer(tx, run, {}, outcome=Outcome.CANCELLED)
            [found] = tx.branches.undecided(perf)
            assert found.tries == MOST_TRIES - 1, "a build that ended early is no try"
            longer(tx, run, {})
            assert tx.branches.undecided(perf) == []
        site.wait(31 * 86400)
        with site.store.transaction() as tx:
            assert tx.branches.undecided(perf) == []

    def test_commits_of_private_changes_are_not_measured_longer(self, store: Store) -> None:
        perf = BranchKey("perf", "review", "kv_engine", "master")
        relinks = (Verdict.UNDECIDED, (Reason(ReasonKind.LAYOUT_NOT_CHECKED),))
        with store.transaction() as tx:
            record = tx.changes.upsert(change())
            ratios = {key("BM_a"): (1.04, 1.0, 1.08)}
            run = merge(tx, record.patch_set_id, {key("BM_a"): relinks}, ratios=ratios)
            tx.runs.end(run, RunState.FINISHED)
            assert len(tx.branches.undecided(perf)) == 1
            tx.visibility.hide_change(record.change_id)
            assert tx.branches.undecided(perf) == []

    def test_a_calibration_of_one_machine_leaves_the_others_to_measure_commits(self, store: Store) -> None:
        new = replace(post_submit_run(), kind=RunKind.CALIBRATION, pool="perf")
        for machine, is_measuring in (("perf-01", False), ("", True)):
            with store.transaction() as tx:
                start(tx, replace(new, machine=machine))
                assert tx.branches.is_measuring("perf") is is_measuring

    def test_a_pool_measures_one_commit_at_a_time(self, store: Store) -> None:
        new = replace(post_submit_run(), kind=RunKind.LONGER, pool="perf", parent="1" * 40)
        with store.transaction() as tx:
            run = start(tx, replace(new, previous_id=start(tx, post_submit_run())))
            assert tx.branches.is_measuring("perf")
            assert tx.runs.add(new) is None
            tx.runs.end(run, RunState.FINISHED)
            assert tx.runs.add(new) is not None

    def test_slower_anchors_come_with_what_may_explain_them(self, site: StoreSite) -> None:
        perf = BranchKey("perf", "review", "kv_engine", "master")
        up, down = (1.05, 1.04, 1.06), (0.95, 0.94, 0.96)
        time, rate = key("BM_a"), key("BM_b", "items_per_second")
        slower, faster = (Verdict.SLOWER, ()), (Verdict.FASTER, ())
        commits = [f"{number}" * 40 for number in (1, 2, 3)]
        rows = [{time: slower}, {time: faster, rate: slower}, {time: (Verdict.UNDECIDED, ())}]
        ratios = [{time: up}, {time: down, rate: down}, {}]
        for commit, row, ratio in zip(commits, rows, ratios, strict=True):
            with site.store.transaction() as tx:
                run = merge(tx, None, row, commit, ratios=ratio)
                tx.runs.end(run, RunState.FINISHED)
            site.wait(60.0)
        with site.store.transaction() as tx:
            assert tx.branches.slow_ranges(perf) == SlowRanges()
            longer(tx, run, {time: slower}, ratios={time: (1.03, 1.02, 1.04)})
            new = replace(post_submit_run(commits[2]), kind=RunKind.ANCHOR, pool="perf", parent=commits[0])
            anchor = tx.runs.add(new)
            assert anchor is not None
            tx.runs.start(anchor, tree="t", parent=commits[0], parent_tree="q", label="Verified")
            instructions = key("BM_a", "instructions")
            found = {time: slower, rate: slower, instructions: slower}
            measured(tx, anchor, found, ratios={time: up, rate: down})
            tx.runs.end(anchor, RunState.FINISHED)
            ranges = tx.branches.slow_ranges(perf)
            assert tx.branches.slow_ranges(replace(perf, pool="other")) == SlowRanges()
        of_time, of_rate = ranges.anchors
        assert (of_time.run_id, of_time.tries) == (anchor, 0)
        assert [of_time.worsening, of_time.low] == pytest.approx([math.log(1.05), math.log(1.04)])
        assert [of_rate.worsening, of_rate.low] == pytest.approx([-math.log(0.95), -math.log(0.96)])
        assert (of_time.begin, of_time.end) == (1, 3), "the first runs on its commits"
        steps = sorted(round(math.expm1(each.worsening), 2) for each in ranges.known)
        assert steps == [-0.05, 0.03, 0.05, 0.05]
        assert all(each.begin == each.end for each in ranges.known)
        with site.store.transaction() as tx:
            for ended_early in range(1, 6):
                longer(tx, anchor, {}, outcome=Outcome.CANCELLED)
                tries = {each.tries for each in tx.branches.slow_ranges(perf).anchors}
                assert tries == {0 if ended_early < 5 else 5}
            again = longer(tx, anchor, {time: slower}, ratios={time: up})
            results = tx.regressions.slower_results(again).results
            said = [(each, GateSaid.SPREAD) for each in results]
            assert tx.regressions.record(again, RegressionState.UNTRIAGED, said) is not None
            ranges = tx.branches.slow_ranges(perf)
        assert [each.tries for each in ranges.anchors] == [6, 6]
        [listed] = (each for each in ranges.known if each.begin != each.end)
        assert (listed.begin, listed.end) == (of_time.begin, of_time.end)
