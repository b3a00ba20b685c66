"""Store contract: the stored tests of a patch set's base."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.project_file import parse_job
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind
from tests.contract.store.test_failures import checked
from tests.contract.store.test_parent_failures import planned
from tests.support.store_samples import named

if TYPE_CHECKING:
    from service.ports.store import Store, Transaction

BASE = Revision("p" * 40, "q" * 40, "refs/heads/master", "reviewed")
PATCH = Revision("1" * 40, "t" * 40, "refs/changes/07/7/1", "unreviewed")


def spec(base: Revision | None = BASE, job: str = "linux") -> BuildSpec:
    return BuildSpec(
        RunKind.CHECK, "review", "kv_engine", "master", base, PATCH, parse_job(job, {"kind": "ctest"})
    )


def ended(tx: Transaction, run: int, tests: str, outcome: Outcome = Outcome.PASSED) -> None:
    build = tx.builds.add(run, 0, named("linux", sequence=""))
    tx.external.store_execution(build, MachineReport(outcome, tests=tests).to_mapping())
    tx.builds.finish(build, outcome, [])


def on_base(store: Store, wanted: BuildSpec) -> str:
    with store.transaction() as tx:
        return tx.history.tests_on_base(wanted)


def test_the_newest_build_with_results_is_the_bases(store: Store) -> None:
    with store.transaction() as tx:
        for revision, tests in (("p", "old"), ("x", "new")):
            ended(tx, planned(tx, revision * 40, "master", tree="q" * 40), tests, Outcome.FAILED)
        for revision, outcome in (("y", Outcome.PASSED), ("z", Outcome.INFRASTRUCTURE)):
            tests = "" if outcome is Outcome.PASSED else "lost"
            ended(tx, planned(tx, revision * 40, "master", tree="q" * 40), tests, outcome)
    assert on_base(store, spec()) == "new"
    assert on_base(store, spec(job="mac")) == ""
    assert on_base(store, spec(base=None)) == ""


@pytest.mark.parametrize(
    ("tree", "branch", "is_base"), [("q", "master", True), ("z", "master", False), ("q", "other", False)]
)
def test_a_commit_with_the_bases_tree_on_its_branch_counts(
    store: Store, tree: str, branch: str, *, is_base: bool
) -> None:
    with store.transaction() as tx:
        ended(tx, planned(tx, "x" * 40, branch, tree * 40), "stored")
    assert on_base(store, spec()) == ("stored" if is_base else "")


def test_a_check_of_the_parent_change_counts(store: Store) -> None:
    with store.transaction() as tx:
        ended(tx, checked(tx), "stored")
    base = Revision("z" * 40, "t" * 40, "ref", "unreviewed")
    assert on_base(store, spec(base)) == "stored"
    assert on_base(store, replace(spec(base), branch="other")) == "", "another branch has other tests"
