"""Store contract: failures that the parent has, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.evidence import ParentBuild
from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.vote import Outcome
from service.domain.values.identity import BuildName
from service.ports.failures.storing import BuildFailures
from tests.contract.store.test_failures import CRASH, FLAKY, FORMAT, checked, finished
from tests.support.store_samples import post_submit_run

if TYPE_CHECKING:
    from service.ports.store import Store, Transaction


def planned(tx: Transaction, revision: str, branch: str, tree: str) -> int:
    """Plan the run of a merged commit."""
    run = tx.runs.add(replace(post_submit_run(revision), branch=branch))
    assert run is not None
    tx.runs.start(run, tree=tree, parent="o" * 40, parent_tree="q" * 40, label="Verified")
    return run


class TestOnParent:
    def test_a_shared_failure_is_found_in_the_parents_newest_build(self, store: Store) -> None:
        vague = Failure(FailureKind.COMMAND, "make", "Error 2")
        with store.transaction() as tx:
            for revision in ("p" * 40, "y" * 40):
                merged = planned(tx, revision, "master", tree="q" * 40)
                finished(tx, merged, Outcome.FAILED, CRASH, FLAKY, vague)
                finished(tx, merged, Outcome.FAILED, FORMAT, job="mac", position=1)
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FORMAT, FLAKY, vague, CRASH)
            mac = finished(tx, run, Outcome.FAILED, FLAKY, job="mac", position=1)
            found = tx.failures.on_parent(run, [build, mac])
        assert found == {build: (ParentBuild(BuildName("linux", 2), ("ep.expiry", "ep.eviction")),)}

    @pytest.mark.parametrize(
        ("revision", "tree", "branch", "is_parent"),
        [
            ("p" * 40, "z" * 40, "master", True),
            ("z" * 40, "q" * 40, "master", True),
            ("z" * 40, "z" * 40, "master", False),
            ("p" * 40, "q" * 40, "other", False),
        ],
    )
    def test_the_parent_is_its_commit_or_an_equal_tree(
        self, store: Store, revision: str, tree: str, branch: str, *, is_parent: bool
    ) -> None:
        with store.transaction() as tx:
            finished(tx, planned(tx, revision, branch, tree), Outcome.FAILED, FLAKY)
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            assert (build in tx.failures.on_parent(run, [build])) is is_parent

    def test_a_build_is_not_its_own_parent(self, store: Store) -> None:
        with store.transaction() as tx:
            run = planned(tx, "1" * 40, "master", tree="q" * 40)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            assert tx.failures.on_parent(run, [build]) == {}

    def test_an_equal_tree_of_the_parent_with_the_failure_is_noticed(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, planned(tx, "z" * 40, "master", tree="q" * 40), Outcome.FAILED, FLAKY)
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
        with store.transaction() as tx:
            [found] = tx.known.unknown_signatures()
        assert [each.fails_on_parent for each in found.sightings] == [True, True]

    def test_failures_cleared_by_a_retry_are_left_out(self, store: Store) -> None:
        with store.transaction() as tx:
            merged = planned(tx, "p" * 40, "master", tree="q" * 40)
            build = finished(tx, merged, Outcome.FAILED, CRASH)
            tx.failures.store_failures(build, BuildFailures((CRASH,)), [FLAKY])
            run = checked(tx)
            both = finished(tx, run, Outcome.FAILED, FLAKY, CRASH)
            assert tx.failures.on_parent(run, [both]) == {
                both: (ParentBuild(BuildName("linux", 1), ("ep.eviction",)),)
            }
