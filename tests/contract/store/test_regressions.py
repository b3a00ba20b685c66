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
from tests.support.store_samples import change, check_run, named, post_submit_run, start
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
    made = tx.runs.add(replace(run, previous_id=of, commits=None if of is None else patch - base))
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
        assert found == OpenRange(regression, anchor, _commit(1), _commit(9), found.spent, found.links)
        links = sorted(found.links, key=lambda each: (each.base, each.patch))
        assert [each.worsening for each in links[:2]] == pytest.approx([math.log(1.01), math.log(1.05)])
        assert links == [
            RangeLink(_commit(1), _commit(5), links[0].worsening, ERROR, 8),
            RangeLink(_commit(1), _commit(9), links[1].worsening, ERROR, 8),
            RangeLink(_commit(2), _commit(3), 0.0, 0.0, 0),
            RangeLink(_commit(3), _commit(4), None, 0.0, 0),
            RangeLink(_commit(5), _commit(7), None, 0.0, 0),
            RangeLink(_commit(5), _commit(9), 0.0, 0.0, 8),
        ]

    def test_the_time_of_a_day_is_that_of_all_ranges_of_the_pool(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            anchor, _ = _listed(tx)
            run = _compared(tx, 1, 5, of=anchor)
        site.wait(600.0)
        with site.store.transaction() as tx:
            tx.runs.end(run, RunState.FINISHED)
        spent = []
        for _ in range(2):
            with site.store.transaction() as tx:
                [found] = tx.regressions.open_ranges(PERF)
            spent.append(found.spent)
            site.wait(86400.0)
        assert spent == [pytest.approx(600.0, abs=5.0), 0.0]

    @pytest.mark.parametrize("is_merged", [True, False])
    def test_a_range_becomes_that_of_its_commit_and_is_still_known_as_a_range(
        self, store: Store, *, is_merged: bool
    ) -> None:
        with store.transaction() as tx:
            for number in (1, 9):
                tx.runs.end(merge(tx, None, {}, _commit(number)), RunState.FINISHED)
            own = merge(tx, None, {}, _commit(6)) if is_merged else None
            anchor, regression = _listed(tx)
            link = _compared(tx, 5, 6, of=anchor)
            tx.runs.end(link, RunState.FINISHED)
            known = tx.branches.slow_ranges(PERF).known
            tx.regressions.narrow(regression, [_commit(5), _commit(6)])
            assert tx.regressions.open_ranges(PERF) == []
            assert tx.branches.slow_ranges(PERF).known == known, "later anchors are explained as before"
            again = _record(tx, longer(tx, own or link, {SLOW: SLOWER, key("BM_c"): SLOWER}), GateSaid.SAME)
        assert again == regression, "what the commit's run finds later joins it"

    def test_a_range_that_cannot_be_narrowed_stays(self, store: Store) -> None:
        with store.transaction() as tx:
            anchor, regression = _listed(tx)
            tx.regressions.narrow(regression, [])
            assert tx.regressions.open_ranges(PERF) == []
            tx.regressions.narrow(regression, [_commit(5), _commit(6)])
            assert _record(tx, longer(tx, anchor, {key("BM_c"): SLOWER}), GateSaid.SPREAD) == regression

    def test_a_closed_range_is_not_narrowed(self, store: Store) -> None:
        with store.transaction() as tx:
            _, regression = _listed(tx)
            tx.regressions.change([regression], RegressionChange(state=RegressionState.ACCEPTED), AL)
            assert tx.regressions.open_ranges(PERF) == []
