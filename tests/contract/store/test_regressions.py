"""Store contract: regressions, with what the check before the merge had said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.trunk.regression import Checked, GateSaid, RegressionState, Weight
from service.domain.values.errors import NotFound
from service.domain.verdict.inference.verdict import Verdict
from service.ports.access import Author
from service.ports.trunk import RegressionChange
from tests.support.store_samples import change, check_run, start
from tests.support.trunk import SLOWER, WITHHELD, check, key, longer, measured, merge

if TYPE_CHECKING:
    from service.ports.access import AuditLog
    from service.ports.store import Store, Transaction
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
        assert (found.ratio, found.low, found.high) == (1.0, 0.99, 1.01)

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
