"""Store contract: regressions, with what the check before the merge had said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.regression import Checked, GateSaid, RegressionState, Weight
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.access import Author
from service.ports.trunk import OpenRange, RangeLink, RegressionChange
from tests.support.store_samples import NOON, change, check_run, named, post_submit_run, start
from tests.support.trunk import ERROR, SLOWER, WITHHELD, check, key, longer, measured, merge

if TYPE_CHECKING:
    from service.domain.values.identity import SeriesKey
    from service.ports.access import AuditLog
    from service.ports.store import Store, Transaction
    from tests.contract.store.sites import StoreSite
    from tests.support.trunk import Row

AL: Final = Author(account="1000003", name="Al Ray", signed_in_as="al")


def _record(tx: Transaction, run: int, said: GateSaid) -> int | None:
    results = [(each, said) for each in tx.regressions.slower_results(run).results]
    return tx.regressions.record(run, RegressionState.UNTRIAGED, results)


class TestSlowerResults:
    def test_a_commit_without_a_change_was_checked_by_nobody(self, store: Store) -> None:
        with store.transaction() as tx:
            run = merge(tx, None, {key("BM_a"): SLOWER, key("BM_b"): (Verdict.SAME, ())})
            [found] = tx.regressions.slower_results(run).results
        assert (found.weight, found.checked) == (Weight.COUNTS, None)
        assert (found.ratio, found.low, found.high) == (1.1, 1.09, 1.11)

    def test_results_that_may_not_vote_and_small_ones_weigh_less(self, store: Store) -> None:
        with store.transaction() as tx:
            rows = {key("BM_withheld"): WITHHELD, key("BM_small"): SLOWER}
            found = tx.regressions.slower_results(merge(tx, None, rows, votes=False)).results
        assert [each.weight for each in found] == [Weight.NOT_COUNTED, Weight.BELOW_LIMIT]

    def test_counted_instructions_are_no_slow_down(self, store: Store) -> None:
        with store.transaction() as tx:
            run = merge(tx, None, {key("BM_a", "instructions"): SLOWER})
            assert tx.regressions.slower_results(run).results == ()

    @pytest.mark.parametrize(
        ("row", "is_voting", "checked"),
        [
            (SLOWER, True, Checked(Verdict.SLOWER, Weight.COUNTS)),
            (SLOWER, False, Checked(Verdict.SLOWER, Weight.COUNTS, is_voting=False)),
            (WITHHELD, True, Checked(Verdict.SLOWER, Weight.NOT_COUNTED)),
            ((Verdict.UNDECIDED, ()), True, Checked(Verdict.UNDECIDED, Weight.BELOW_LIMIT)),
        ],
    )
    def test_the_check_of_the_patch_set_has_its_verdict_on_the_series(
        self, store: Store, row: Row, *, is_voting: bool, checked: Checked
    ) -> None:
        with store.transaction() as tx:
            patch_set = check(tx, {key("BM_a"): row}, is_voting=is_voting)
            [found] = tx.regressions.slower_results(merge(tx, patch_set, {key("BM_a"): SLOWER})).results
        assert found.checked == replace(checked, build_id=1)

    def test_a_check_that_did_not_measure_the_series_has_no_verdict(self, store: Store) -> None:
        with store.transaction() as tx:
            patch_set = check(tx, {key("BM_b"): SLOWER})
            [found] = tx.regressions.slower_results(merge(tx, patch_set, {key("BM_a"): SLOWER})).results
        assert found.checked == Checked()

    def test_the_check_before_a_rebase_counts_until_other_code_comes(self, store: Store) -> None:
        with store.transaction() as tx:
            check(tx, {key("BM_a"): (Verdict.SAME, ())})
            made = change(7, 2, minutes=2)
            rebased = replace(made, current=replace(made.current, kind=PatchSetKind.REBASED))
            second = tx.changes.upsert(rebased).patch_set_id
            run = merge(tx, second, {key("BM_a"): SLOWER})
            [found] = tx.regressions.slower_results(run).results
            assert found.checked is not None
            assert found.checked.verdict is Verdict.SAME
            third = tx.changes.upsert(change(7, 3, minutes=3)).patch_set_id
            other = merge(tx, third, {key("BM_a"): SLOWER}, "3" * 40)
            [found] = tx.regressions.slower_results(other).results
            assert found.checked is None

    def test_a_check_that_did_not_end_said_nothing(self, store: Store) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            measured(tx, start(tx, check_run(patch_set)), {key("BM_a"): SLOWER})
            [found] = tx.regressions.slower_results(merge(tx, patch_set, {key("BM_a"): SLOWER})).results
        assert found.checked is None


class TestRegressions:
    def test_a_commit_that_is_measured_longer_has_one_regression(
        self, store: Store, audit_log: AuditLog
    ) -> None:
        small, large = key("BM_small"), key("BM_large")
        with store.transaction() as tx:
            run = merge(tx, None, {small: SLOWER}, votes=False)
            assert not _record(tx, run, GateSaid.SAME), "it is below the limit"
            tx.regressions.change([1], RegressionChange(state=RegressionState.INVALID), AL)
            again = longer(tx, run, {small: SLOWER, large: SLOWER})
            assert _record(tx, again, GateSaid.UNDECIDED)
            assert not _record(tx, again, GateSaid.UNDECIDED), "it is known"
            with pytest.raises(NotFound, match="no regression 2"):
                tx.regressions.change([1, 2], RegressionChange(bug="MB-1"), AL)
            # Its state tells that it is new again.
            tx.regressions.change([1], RegressionChange(state=RegressionState.FIXED), AL)
        states = [each.details["state"] for each in audit_log.entries(0, 10)]
        assert states == ["untriaged → invalid", "untriaged → fixed"]

    def test_each_change_is_in_the_audit_log(self, store: Store, audit_log: AuditLog) -> None:
        with store.transaction() as tx:
            for revision in ("2" * 40, "3" * 40):
                _record(tx, merge(tx, None, {key("BM_a"): SLOWER}, revision), GateSaid.NO_CHECK)
        with store.transaction() as tx:
            both = RegressionChange(state=RegressionState.CONFIRMED, bug="MB-7", note="")
            tx.regressions.change([2, 1, 2], both, AL)
        entries = audit_log.entries(0, 10)
        assert [(each.kind, each.actor, each.subject) for each in entries] == [
            (AuditKind.REGRESSION_CHANGED, "1000003", "regression 1"),
            (AuditKind.REGRESSION_CHANGED, "1000003", "regression 2"),
        ]
        assert entries[0].details == {
            "state": "untriaged → confirmed",
            "bug": " → MB-7",
            "person": "Al Ray",
            "signed in as": "al",
        }


PERF: Final = BranchKey("perf", "review", "kv_engine", "master")
SLOW: Final = key("BM_a")
OTHER: Final = key("BM_b")


def _commit(number: int) -> str:
    return f"{number:x}" * 40


def _compared(tx: Transaction, base: int, patch: int, *, of: int | None = None) -> int:
    """A running anchor; ``of`` is the range that it narrows."""
    run = replace(post_submit_run(_commit(patch)), kind=RunKind.ANCHOR, pool="perf", parent=_commit(base))
    made = tx.runs.add(replace(run, previous_id=of, requested_by="" if of is None else "Benchgate"))
    assert made is not None
    tx.runs.start(made, tree="t", parent=_commit(base), parent_tree="q", label="Verified")
    return made


def _listed(tx: Transaction) -> tuple[int, int]:
    """A range of the commits 2 to 9: BM_b is 2 % slower, BM_a 5 %; return its run and its id."""
    ratios = {OTHER: (1.02, 1.01, 1.03), SLOW: (1.05, 1.04, 1.06)}
    anchor = _compared(tx, 1, 9)
    measured(tx, anchor, dict.fromkeys(ratios, SLOWER), ratios=ratios)
    tx.runs.end(anchor, RunState.FINISHED)
    again = longer(tx, anchor, dict.fromkeys(ratios, SLOWER), ratios=ratios)
    regression = _record(tx, again, GateSaid.SPREAD)
    assert regression is not None
    return anchor, regression


def _backfilled(tx: Transaction, number: int) -> int:
    """A finished run of a backfill on a commit."""
    run = replace(post_submit_run(_commit(number)), kind=RunKind.ANCHOR, pool="perf")
    made = tx.runs.add(replace(run, parent=_commit(number - 1), requested_by="ann", committed_at=NOON))
    assert made is not None
    tx.runs.end(made, RunState.FINISHED)
    return made


def _merged(tx: Transaction, number: int) -> int:
    """A finished run on a merged commit, with its parent."""
    made = tx.runs.add(post_submit_run(_commit(number)))
    assert made is not None
    tx.runs.start(made, tree="t", parent=_commit(number - 1), parent_tree="q", label="Verified")
    tx.runs.end(made, RunState.FINISHED)
    return made


class TestNarrowedRanges:
    def test_an_open_range_has_what_was_compared_in_the_benchmark_that_changed_most(
        self, store: Store
    ) -> None:
        same = (Verdict.SAME, (Reason(ReasonKind.SAME_PROGRAM),))
        with store.transaction() as tx:
            anchor, regression = _listed(tx)
            rows: list[tuple[int, int, dict[SeriesKey, Row], Outcome]] = [
                (1, 5, {SLOW: (Verdict.SAME, ())}, Outcome.PASSED),
                (5, 9, {SLOW: same}, Outcome.PASSED),
                (5, 7, {OTHER: (Verdict.SAME, ())}, Outcome.PARENT_BROKEN),
                (7, 9, {}, Outcome.CANCELLED),
            ]
            for base, patch, row, outcome in rows:
                run = _compared(tx, base, patch, of=anchor)
                measured(tx, run, row, ratios=dict.fromkeys(row, (1.01, 1.0, 1.02)), outcome=outcome)
                tx.runs.end(run, RunState.FINISHED)
            untouched = _compared(tx, 2, 3, of=anchor)
            tx.builds.add(untouched, 0, named("cv-perf", sequence="", outcome=Outcome.NOT_BUILT))
            tx.runs.end(untouched, RunState.FINISHED)
            refused = _compared(tx, 3, 4, of=anchor)
            tx.runs.end(refused, RunState.REFUSED)
            _compared(tx, 4, 5, of=anchor)
        with store.transaction() as tx:
            [found] = tx.regressions.open_ranges(PERF)
            assert tx.regressions.open_ranges(replace(PERF, branch="8.0")) == []
        ends, series = (_commit(1), _commit(9)), found.series_id
        assert found == OpenRange(regression, anchor, *ends, series, found.spent, found.links)
        links = sorted(found.links, key=lambda each: (each.base, each.patch))
        assert [each.worsening for each in links[:2]] == pytest.approx([math.log(1.01), math.log(1.05)])
        assert [(each.run_id == anchor, each.worsening is None) for each in links] == [
            (False, False),
            (True, False),
            (False, False),
            (False, True),
            (False, True),
            (False, False),
        ]
        assert [replace(each, run_id=0) for each in links] == [
            RangeLink(0, _commit(1), _commit(5), links[0].worsening, ERROR, 8),
            RangeLink(0, _commit(1), _commit(9), links[1].worsening, ERROR, 8),
            RangeLink(0, _commit(2), _commit(3), 0.0, 0.0, 0),
            RangeLink(0, _commit(3), _commit(4), None, 0.0, 0),
            RangeLink(0, _commit(5), _commit(7), None, 0.0, 0),
            RangeLink(0, _commit(5), _commit(9), 0.0, 0.0, 8),
        ]
        with store.transaction() as tx:
            slowest = {
                each.series_id: each.ratio or 0.0 for each in tx.regressions.slower_results(anchor).results
            }
        assert slowest[series] == max(slowest.values())

    def test_the_time_of_a_day_is_that_of_all_ranges_of_the_pool(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            anchor, _ = _listed(tx)
            run = _compared(tx, 1, 5, of=anchor)
            build = tx.builds.add(run, 0, named("cv-perf", sequence=""))
        assert site.claim() == build
        site.wait(20.0)
        site.complete(build)
        with site.store.transaction() as tx:
            tx.builds.finish(build, Outcome.PASSED, [])
            tx.runs.end(run, RunState.FINISHED)
        spent = []
        for _ in range(2):
            with site.store.transaction() as tx:
                [found] = tx.regressions.open_ranges(PERF)
            spent.append(found.spent)
            site.wait(86400.0)
        assert spent == [pytest.approx(20.0, abs=5.0), 0.0]

    def test_a_narrowed_range_stays_what_it_is(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (1, 9):
                tx.runs.end(merge(tx, None, {}, _commit(number)), RunState.FINISHED)
            anchor, regression = _listed(tx)
            link = _compared(tx, 5, 6, of=anchor)
            tx.runs.end(link, RunState.FINISHED)
            [found] = tx.regressions.open_ranges(PERF)
            known = tx.branches.slow_ranges(PERF).known
            tx.regressions.narrow(regression, found.series_id, link, 1)
            assert tx.regressions.open_ranges(PERF) == []
            assert tx.branches.slow_ranges(PERF).known == known, "later anchors are explained as before"
            again = _record(tx, longer(tx, anchor, {key("BM_c"): SLOWER}), GateSaid.SPREAD)
        assert again == regression, "what the range's run finds later joins it"

    def test_a_range_that_nobody_can_narrow_is_left_alone(self, store: Store) -> None:
        with store.transaction() as tx:
            _, regression = _listed(tx)
            tx.regressions.narrow(regression, 1, None)
            assert tx.regressions.open_ranges(PERF) == []

    def test_a_range_is_left_alone_after_five_comparisons_that_other_builds_ended(self, store: Store) -> None:
        with store.transaction() as tx:
            anchor, _ = _listed(tx)
            for number in range(2, 7):
                assert len(tx.regressions.open_ranges(PERF)) == 1
                run = _compared(tx, 1, number, of=anchor)
                measured(tx, run, {}, outcome=Outcome.CANCELLED)
                tx.runs.end(run, RunState.FINISHED)
            assert tx.regressions.open_ranges(PERF) == []

    def test_a_narrowed_commit_is_compared_again_once_if_it_was_slower(self, store: Store) -> None:
        sizes = {SLOW: (1.05, 1.03, 1.07)}
        with store.transaction() as tx:
            anchor, regression = _listed(tx)
            [found] = tx.regressions.open_ranges(PERF)
            ends = []
            for base, patch in ((5, 6), (2, 8)):
                run = _compared(tx, base, patch, of=anchor)
                ends.append((run, measured(tx, run, {SLOW: SLOWER}, ratios=sizes)))
                tx.runs.end(run, RunState.FINISHED)
            assert tx.backfills.slower(PERF) == [], "comparisons inside a range are no results"
            tx.regressions.narrow(regression, found.series_id, ends[1][0], 6)
            assert tx.backfills.slower(PERF) == [], "it is not one commit"
            tx.regressions.narrow(regression, found.series_id, ends[0][0], 1)
            assert tx.backfills.slower(PERF) == [ends[0]]
            longer(tx, ends[0][0], {SLOW: (Verdict.SAME, ())})
            assert tx.backfills.slower(PERF) == []

    def test_a_backfill_leaves_out_a_benchmark_that_was_narrowed_to_its_commit(self, store: Store) -> None:
        with store.transaction() as tx:
            anchor, regression = _listed(tx)
            [found] = tx.regressions.open_ranges(PERF)
            link = _compared(tx, 5, 6, of=anchor)
            tx.runs.end(link, RunState.FINISHED)
            tx.regressions.narrow(regression, found.series_id, link, 1)
            seen = []
            for number in (6, 7):
                old = _backfilled(tx, number)
                again = longer(tx, old, {SLOW: SLOWER, OTHER: SLOWER})
                seen.append([each.benchmark for each in tx.regressions.slower_results(again).results])
            merged = merge(tx, None, {SLOW: SLOWER}, _commit(6))
            seen.append([each.benchmark for each in tx.regressions.slower_results(merged).results])
        assert seen == [["BM_b"], ["BM_a", "BM_b"], ["BM_a"]]

    @pytest.mark.parametrize(("number", "place"), [(4, 1), (5, 1), (8, 2), (7, None)])
    def test_a_backfilled_regression_is_known_at_the_first_run_that_has_it(
        self, store: Store, number: int, place: int | None
    ) -> None:
        """Commits 1, 6 and 9 have runs; nobody knows what was merged on commit 7."""
        with store.transaction() as tx:
            runs = [_merged(tx, each) for each in (1, 6, 9)]
            for other in {4, 5} - {number}:
                _backfilled(tx, other)
            again = longer(tx, _backfilled(tx, number), {SLOW: SLOWER}, ratios={SLOW: (1.03, 1.02, 1.04)})
            assert _record(tx, again, GateSaid.NO_CHECK) is not None
            anchor = _compared(tx, 1, 9)
            measured(tx, anchor, {SLOW: SLOWER}, ratios={SLOW: (1.05, 1.04, 1.06)})
            tx.runs.end(anchor, RunState.FINISHED)
            known = tx.branches.slow_ranges(PERF).known
        steps = [(each.begin, each.end) for each in known]
        assert steps == ([] if place is None else [(runs[place], runs[place])])
        assert [each.worsening for each in known] == pytest.approx([math.log(1.03)] * len(known))

    def test_a_closed_range_is_not_narrowed(self, store: Store) -> None:
        with store.transaction() as tx:
            _, regression = _listed(tx)
            tx.regressions.change([regression], RegressionChange(state=RegressionState.ACCEPTED), AL)
            assert tx.regressions.open_ranges(PERF) == []
