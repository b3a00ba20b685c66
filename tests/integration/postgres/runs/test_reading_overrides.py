"""Overrides and review notes in what is read of runs and patch sets."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event

from service.adapters.postgres.reading import PostgresReading
from service.domain.measuring.metric import Better
from service.domain.review.change import Review
from service.domain.runs.external import ExternalBuild
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import BuildName, ChangeAddress
from service.ports.runs.decisions import NewDecision, NewOverride, ReviewState, review_key
from tests.support.store_samples import change, check_run, named, post_submit_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from service.ports.runs.runs import NewRun
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
OVERRIDE = NewOverride(OverrideKind.OVERRIDE, "1000003", "Bob Reviewer", bug="MB-1", reason="known flake")
ACCEPT = NewOverride(OverrideKind.ACCEPT, "1000004", "Dana Meyer", pattern="HTB/*", reason="safer locks")
UNDO = NewOverride(OverrideKind.UNDO, "1000005", "Jo Park")
OVERRIDDEN = "overridden by Bob Reviewer: known flake (MB-1)"


@dataclass(frozen=True)
class ReviewSite:
    """A store with change 7, to which a test adds failed builds and overrides."""

    store: PostgresStore
    reading: PostgresReading

    def fail(self, *jobs: str, of: NewRun | None = None, patch_set: int = 1) -> tuple[int, ...]:
        """Add a finished run in which each job failed; return it and its builds."""
        shown = change(patch_set=patch_set)
        with self.store.transaction() as tx:
            record = tx.changes.upsert(shown)
            run = of or check_run(record.patch_set_id, shown.current.revision)
            run_id = tx.runs.add(replace(run, patch_set_id=record.patch_set_id))
            assert run_id is not None
            tx.runs.start(run_id, tree="t", parent="p", parent_tree="q", label="Performance")
            builds = [tx.builds.add(run_id, place, named(job)) for place, job in enumerate(jobs)]
            for build in builds:
                tx.builds.finish(build, Outcome.FAILED, ["it fails"])
            tx.runs.end(run_id, RunState.FINISHED)
        return run_id, *builds

    def slow_down(self, *benchmarks: str, slowdowns: Sequence[Slowdown] = ()) -> int:
        """Add a finished run with a build that is slower in these benchmarks; return it."""
        shown = change()
        with self.store.transaction() as tx:
            run_id = tx.runs.add(check_run(tx.changes.upsert(shown).patch_set_id, shown.current.revision))
            assert run_id is not None
            build = tx.builds.add(run_id, 0, named("perf"))
            tx.builds.finish(build, Outcome.SLOWER, ["slower"], blamed=benchmarks, notes=["a busy machine"])
            tx.measurements.store_slowdowns(build, slowdowns)
            tx.runs.end(run_id, RunState.FINISHED)
        return run_id

    def override(self, override: NewOverride, *builds: int, patch_set: int = 1) -> None:
        with self.store.transaction() as tx:
            record = tx.changes.upsert(change(patch_set=patch_set))
            tx.overrides.add(record.patch_set_id, replace(override, builds=builds))

    def waives(self, run_id: int) -> Mapping[str, str]:
        """Return by job the override that waives its build in a run."""
        return {build.job: build.waived_by for build in self.reading.run(run_id).builds}


@pytest.fixture
def stage(store: PostgresStore, database: Database) -> ReviewSite:
    return ReviewSite(store, PostgresReading(database.owner))


def test_the_notes_of_a_build_are_read_beside_its_causes(stage: ReviewSite) -> None:
    (build,) = stage.reading.run(stage.slow_down("BM_a")).builds

    assert (build.causes, build.notes) == (("slower",), ("a busy machine",))


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(*args: object) -> None:
        sent.append(str(args[2]))

    event.listen(database.owner, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.owner, "before_cursor_execute", note)


def test_an_override_has_person_reason_and_the_builds_it_waives(stage: ReviewSite) -> None:
    run, flaky, _ = stage.fail("flaky", "other")
    stage.override(OVERRIDE, flaky)

    found = stage.reading.patch_set(ChangeAddress(7), 1)

    [override] = found.overrides
    assert (override.kind, override.who, override.reason, override.bug, override.filter) == (
        "override",
        "Bob Reviewer",
        "known flake",
        "MB-1",
        "",
    )
    assert (override.sentence, override.waives, override.is_active) == (
        OVERRIDDEN,
        (BuildName("flaky", 1),),
        True,
    )
    assert override.at >= found.builds[0].created_at
    assert [build.waived_by for build in found.builds] == [OVERRIDDEN, ""]
    assert stage.waives(run) == {"flaky": OVERRIDDEN, "other": ""}


def test_a_vote_that_stands_on_an_override_says_so_in_the_list(stage: ReviewSite) -> None:
    run_id, build = stage.fail("kv_engine.linux")
    with stage.store.transaction() as tx:
        patch_set = tx.changes.upsert(change()).patch_set_id
        decision = NewDecision(run_id, patch_set, 1, -1, "Build Failed", "text")
        tx.decisions.add(decision)
    assert [each.standing.waivers for each in stage.reading.changes(5)] == [()]
    stage.override(OVERRIDE, build)
    with stage.store.transaction() as tx:
        tx.decisions.add(replace(decision, number=2, vote=1))
    assert [each.standing.waivers for each in stage.reading.changes(5)] == [("overridden MB-1",)]
    (built,) = stage.reading.run(run_id).builds
    assert built.waiver == "overridden MB-1"


def test_an_override_names_a_build_of_another_ci_by_its_number_there(stage: ReviewSite) -> None:
    _, linux = stage.fail("linux")
    with stage.store.transaction() as tx:
        tx.external.record_report(
            linux, ExternalBuild("linux", 812, "https://ci.example.com/812/"), "FAILURE"
        )
    stage.override(OVERRIDE, linux)

    found = stage.reading.patch_set(ChangeAddress(7), 1)
    assert [each.waives for each in found.overrides] == [(BuildName("linux", 812),)]
    assert stage.reading.build("linux", 812).build.shown_number == 812


def test_a_patch_set_may_have_no_overrides(stage: ReviewSite) -> None:
    run, *_ = stage.fail("flaky")
    assert stage.reading.patch_set(ChangeAddress(7), 1).overrides == ()
    assert stage.waives(run) == {"flaky": ""}


def test_overrides_come_newest_first_with_the_revoked_ones(stage: ReviewSite) -> None:
    run, flaky = stage.fail("flaky")
    for override in (OVERRIDE, UNDO, replace(OVERRIDE, person="Sam Okafor")):
        stage.override(override, flaky)

    found = stage.reading.patch_set(ChangeAddress(7), 1).overrides

    assert [(each.kind, each.who, each.is_active) for each in found] == [
        ("override", "Sam Okafor", True),
        ("undo", "Jo Park", True),
        ("override", "Bob Reviewer", False),
    ]
    assert [each.waives for each in found] == [(BuildName("flaky", 1),), (), ()]
    assert stage.waives(run)["flaky"].startswith("overridden by Sam Okafor")


def test_a_revoked_override_waives_no_build(stage: ReviewSite) -> None:
    run, flaky = stage.fail("flaky")
    stage.override(OVERRIDE, flaky)
    stage.override(UNDO)

    assert stage.waives(run) == {"flaky": ""}
    assert [each.waives for each in stage.reading.patch_set(ChangeAddress(7), 1).overrides] == [(), ()]


def test_an_override_waives_the_builds_that_had_failed_and_no_later_one(stage: ReviewSite) -> None:
    first, flaky = stage.fail("flaky")
    stage.override(OVERRIDE, flaky)
    second, _ = stage.fail("flaky")

    assert (stage.waives(first)["flaky"], stage.waives(second)["flaky"]) == (OVERRIDDEN, "")
    found = stage.reading.patch_set(ChangeAddress(7), 1)
    assert [build.waived_by for build in found.builds] == [""]
    assert found.overrides[0].waives == (BuildName("flaky", 1),)


@pytest.mark.parametrize(
    ("slower", "waived_by"), [(("HTB/Insert",), True), (("HTB/Insert", "Dcp/Send"), False)]
)
def test_an_accept_waives_a_build_if_all_its_slower_benchmarks_are_accepted(
    stage: ReviewSite, slower: tuple[str, ...], *, waived_by: bool
) -> None:
    run = stage.slow_down(*slower)
    stage.override(ACCEPT)

    sentence = "HTB/* accepted by Dana Meyer: safer locks"
    [override] = stage.reading.patch_set(ChangeAddress(7), 1).overrides
    assert (override.filter, override.sentence) == ("HTB/*", sentence)
    assert stage.waives(run) == {"perf": sentence if waived_by else ""}
    assert override.waives == ((BuildName("perf", 1),) if waived_by else ())


@pytest.mark.parametrize(("size", "is_waived"), [(0.14, True), (0.25, False)])
def test_an_accept_waives_a_build_up_to_the_level_shown(
    stage: ReviewSite, size: float, *, is_waived: bool
) -> None:
    def slowdown(worsening: float) -> Slowdown:
        ends = worsening - 0.01, worsening + 0.01
        return Slowdown("HTB/Insert", "cpu_time", Better.LOWER, worsening, *ends)

    run = stage.slow_down("HTB/Insert", slowdowns=[slowdown(size)])
    stage.override(replace(ACCEPT, levels=(slowdown(0.12),)))

    [override] = stage.reading.patch_set(ChangeAddress(7), 1).overrides
    assert override.levels == ("HTB/Insert CPU time up to +13.0 %",)
    assert bool(stage.waives(run)["perf"]) == is_waived
    assert override.waives == ((BuildName("perf", 1),) if is_waived else ())


@pytest.mark.parametrize("kind", [OverrideKind.TRUST, OverrideKind.PERSON_VOTE])
def test_trust_and_a_persons_vote_waive_nothing_and_cannot_be_revoked(
    stage: ReviewSite, kind: OverrideKind
) -> None:
    run, flaky = stage.fail("flaky")
    stage.override(replace(OVERRIDE, kind=kind), flaky)
    stage.override(UNDO)

    _, override = stage.reading.patch_set(ChangeAddress(7), 1).overrides
    assert (override.kind, override.is_active, override.waives) == (kind, True, ())
    assert stage.waives(run) == {"flaky": ""}


def test_an_override_does_not_carry_over_to_another_patch_set(stage: ReviewSite) -> None:
    _, flaky = stage.fail("flaky")
    stage.override(OVERRIDE, flaky)
    run, _ = stage.fail("flaky", patch_set=2)

    assert stage.reading.patch_set(ChangeAddress(7), 2).overrides == ()
    assert stage.waives(run) == {"flaky": ""}


def test_a_post_submit_run_of_another_commit_is_not_waived(stage: ReviewSite) -> None:
    run, flaky = stage.fail("flaky", of=post_submit_run())
    stage.override(OVERRIDE, flaky)

    assert stage.waives(run) == {"flaky": ""}


def test_unfinished_builds_are_not_judged(stage: ReviewSite) -> None:
    _, flaky = stage.fail("flaky")
    stage.override(OVERRIDE, flaky)
    with stage.store.transaction() as tx:
        shown = change()
        run = tx.runs.add(check_run(tx.changes.upsert(shown).patch_set_id, shown.current.revision))
        assert run is not None
        tx.builds.add(run, 0, named("slow"))

    assert stage.waives(run) == {"slow": ""}
    assert [build.waived_by for build in stage.reading.patch_set(ChangeAddress(7), 1).builds] == [""]


def test_more_builds_overrides_and_runs_take_no_more_queries(stage: ReviewSite, database: Database) -> None:
    run, flaky = stage.fail("a")
    stage.override(OVERRIDE, flaky)
    with statements(database) as few:
        stage.reading.patch_set(ChangeAddress(7), 1)
        stage.reading.run(run)
    for _ in range(3):
        run, *builds = stage.fail("a", "b", "c", "d")
        stage.override(OVERRIDE, *builds)
    with statements(database) as many:
        stage.reading.patch_set(ChangeAddress(7), 1)
        stage.reading.run(run)

    assert len(many) == len(few)


def test_a_run_has_the_label_that_it_votes_on(stage: ReviewSite) -> None:
    run, _ = stage.fail("a")
    assert stage.reading.run(run).run.label == "Performance"
    assert [each.label for each in stage.reading.patch_set(ChangeAddress(7), 1).runs] == ["Performance"]
    assert [each.label for each in stage.reading.build("a", 1).runs] == ["Performance"]


class TestReviewNotes:
    """The review server's problem with a decision's message."""

    def decide(self, stage: ReviewSite) -> int:
        run_id, _ = stage.fail("a")
        shown = change()
        with stage.store.transaction() as tx:
            run = tx.runs.lock(run_id)
            number = tx.decisions.next_number(run)
            tx.decisions.add(NewDecision(run_id, run.patch_set_id, number, -1, "Build Failed", "text"))
            review = Review(shown.key, shown.current.revision, "text", {"Performance": -1})
            tx.outbox.queue_review(review_key(run_id, number), review)
        return run_id

    def test_a_decision_has_the_review_servers_problem_with_its_vote(
        self, stage: ReviewSite, upkeep: PostgresUpkeep
    ) -> None:
        run_id = self.decide(stage)
        [due] = upkeep.due_reviews()
        upkeep.settle_review(due.outbox_id, ReviewState.SENT, "label not granted: Performance")

        for [decision] in (
            stage.reading.run(run_id).decisions,
            stage.reading.patch_set(ChangeAddress(7), 1).decisions,
        ):
            assert (decision.review_state, decision.review_note) == ("sent", "label not granted: Performance")

    def test_a_decision_without_a_problem_has_no_note(
        self, stage: ReviewSite, upkeep: PostgresUpkeep
    ) -> None:
        run_id = self.decide(stage)
        [waiting] = stage.reading.run(run_id).decisions
        [due] = upkeep.due_reviews()
        upkeep.settle_review(due.outbox_id, ReviewState.SENT)
        [sent] = stage.reading.run(run_id).decisions

        assert {(each.review_state, each.review_note) for each in (waiting, sent)} == {("", "")}
