from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.known import KnownMatches
from service.domain.measuring.metric import Better
from service.domain.runs.overrides import Override, OverrideKind, active_overrides, revoked
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.vote import Outcome
from service.domain.runs.waivers import Beyond, JudgedBuild, beyond_acceptance, waived_by

REVISION = "e56acc924a4bc8aa0b1a93f480297040f1a91e7b"
OTHER = "f9b60cd802102402c4e3ec82a153cd6e2f6eec78"
START = datetime(2026, 11, 21, 12, tzinfo=UTC)
FAILURES = {Outcome.FAILED, Outcome.SLOWER, Outcome.MEASURED_NOTHING, Outcome.BROKEN, Outcome.REMOVED}


OVERRIDE = Override(
    id=1,
    kind=OverrideKind.OVERRIDE,
    revision=REVISION,
    bug="MB-37948",
    reason="known intermittent failure",
    who="Bob Reviewer",
    account="1000003",
    at=START,
    builds=frozenset({1, 2}),
)
ACCEPT = replace(
    OVERRIDE, kind=OverrideKind.ACCEPT, filter="HTB/*", bug="", reason="safer locks", builds=frozenset()
)
UNDO = replace(OVERRIDE, id=2, kind=OverrideKind.UNDO, bug="", reason="", builds=frozenset())
PERSON_VOTE = replace(OVERRIDE, kind=OverrideKind.PERSON_VOTE, reason="Overriding buildbot (MB-37948)")


def slower(*names: str, build_id: int = 1) -> JudgedBuild:
    return JudgedBuild(build_id, Outcome.SLOWER, names)


def excuse(build: JudgedBuild, *overrides: Override) -> Override | None:
    (found,) = waived_by([build], overrides, REVISION)
    assert not isinstance(found, KnownMatches)
    return found


class TestStanding:
    def test_overrides_are_listed_in_the_order_of_their_making(self) -> None:
        first, second = OVERRIDE, replace(ACCEPT, id=2)

        assert active_overrides([second, first], REVISION) == (first, second)

    def test_nothing_carries_over_to_another_revision(self) -> None:
        assert active_overrides([replace(OVERRIDE, revision=OTHER)], REVISION) == ()

    def test_an_undo_takes_back_what_anybody_made_before_it(self) -> None:
        later = replace(OVERRIDE, id=4)
        made = [
            replace(OVERRIDE, account="1000001"),
            replace(ACCEPT, id=2, account="1000002"),
            replace(UNDO, id=3),
            later,
        ]

        assert active_overrides(made, REVISION) == (later,)

    def test_an_undo_is_of_its_own_revision_only(self) -> None:
        assert active_overrides([OVERRIDE, replace(UNDO, revision=OTHER)], REVISION) == (OVERRIDE,)

    def test_the_log_tells_the_order_not_the_clock(self) -> None:
        made = replace(OVERRIDE, at=START + timedelta(hours=1))

        assert active_overrides([made, UNDO], REVISION) == ()

    def test_a_persons_own_vote_is_not_ours_to_take_back(self) -> None:
        assert active_overrides([PERSON_VOTE, UNDO], REVISION) == (PERSON_VOTE,)

    @given(st.lists(st.tuples(st.sampled_from(OverrideKind), st.sampled_from([REVISION, OTHER]))))
    def test_overrides_after_the_revisions_last_undo_are_in_force(
        self, made: list[tuple[OverrideKind, str]]
    ) -> None:
        log = [replace(OVERRIDE, id=n, kind=kind, revision=where) for n, (kind, where) in enumerate(made, 1)]
        found = active_overrides(log, REVISION)
        last = max((e.id for e in log if e.kind is OverrideKind.UNDO and e.revision == REVISION), default=0)

        assert all(each.revision == REVISION and each.kind is not OverrideKind.UNDO for each in found)
        assert all(each.id > last or each.kind is OverrideKind.PERSON_VOTE for each in found)
        assert active_overrides(found, REVISION) == found


class TestTakenBack:
    def test_an_undo_takes_back_overrides_and_acceptances_and_nothing_else(self) -> None:
        later = replace(OVERRIDE, id=6)
        trusted, voted = replace(OVERRIDE, id=3, kind=OverrideKind.TRUST), replace(PERSON_VOTE, id=4)
        accepted = replace(ACCEPT, id=2)
        made = [trusted, accepted, OVERRIDE, voted, replace(UNDO, id=5), later]

        assert revoked(made, REVISION) == (OVERRIDE, accepted)

    def test_without_an_undo_nothing_is(self) -> None:
        assert revoked([OVERRIDE, replace(ACCEPT, id=2)], REVISION) == ()

    def test_an_override_of_another_revision_is_not_listed(self) -> None:
        assert revoked([replace(OVERRIDE, revision=OTHER), UNDO], REVISION) == ()


class TestOverride:
    @pytest.mark.parametrize("outcome", Outcome)
    def test_excuses_failures_and_nothing_else(self, outcome: Outcome) -> None:
        expected = OVERRIDE if outcome in FAILURES else None

        assert excuse(JudgedBuild(1, outcome), OVERRIDE) == expected

    def test_does_not_excuse_a_later_build(self) -> None:
        assert excuse(JudgedBuild(3, Outcome.FAILED), OVERRIDE) is None

    def test_an_override_of_a_build_excuses_only_that_one(self) -> None:
        made = replace(OVERRIDE, builds=frozenset({2}))
        builds = [JudgedBuild(1, Outcome.FAILED), JudgedBuild(2, Outcome.FAILED)]

        assert waived_by(builds, [made], REVISION) == (None, made)

    def test_does_not_excuse_another_revision(self) -> None:
        assert excuse(JudgedBuild(1, Outcome.FAILED), replace(OVERRIDE, revision=OTHER)) is None

    def test_no_longer_excuses_once_it_is_taken_back(self) -> None:
        assert excuse(JudgedBuild(1, Outcome.FAILED), OVERRIDE, UNDO) is None

    def test_the_newest_of_several_counts(self) -> None:
        second = replace(OVERRIDE, id=2)

        assert excuse(JudgedBuild(1, Outcome.FAILED), OVERRIDE, second) == second


class TestAccept:
    def test_accepting_every_slower_benchmark_excuses_the_build(self) -> None:
        made = ACCEPT

        assert excuse(slower("HTB/Insert/threads:24", "HTB/Delete/threads:24"), made) == made

    def test_does_not_excuse_one_with_another_slower_benchmark(self) -> None:
        assert excuse(slower("HTB/Insert", "DcpBench/Send"), ACCEPT) is None

    def test_several_excuse_together_and_the_newest_needed_one_counts(self) -> None:
        made = [
            replace(ACCEPT, filter="HTB/*"),
            replace(ACCEPT, id=2, filter="Dcp"),
            replace(ACCEPT, id=3, filter="Executor"),
        ]

        assert excuse(slower("HTB/Insert", "DcpBench/Send"), *made) == made[1]

    def test_excuses_a_renamed_benchmark(self) -> None:
        removed = JudgedBuild(1, Outcome.REMOVED, ("HTB/Insert",))

        assert excuse(removed, ACCEPT) == ACCEPT
        assert excuse(replace(removed, blamed=("DcpBench/Send",)), ACCEPT) is None

    @pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.SLOWER, Outcome.REMOVED}))
    def test_excuses_no_other_outcome(self, outcome: Outcome) -> None:
        assert excuse(JudgedBuild(1, outcome, ("HTB/Insert",)), ACCEPT) is None

    def test_does_not_excuse_a_build_that_names_no_slower_benchmark(self) -> None:
        assert excuse(slower(), replace(ACCEPT, filter="*")) is None

    def test_excuses_a_later_run_too(self) -> None:
        made = ACCEPT

        assert excuse(slower("HTB/Insert", build_id=99), made) == made

    def test_no_longer_excuses_once_it_is_taken_back(self) -> None:
        assert excuse(slower("HTB/Insert"), ACCEPT, UNDO) is None


SEEN = Slowdown("HTB/Insert", "cpu_time", Better.LOWER, 0.12, 0.11, 0.13, "arm", "bench")
LEVEL = replace(ACCEPT, levels=(SEEN,))


def again(*rows: Slowdown) -> JudgedBuild:
    """A later build of the same code, slower in these rows."""
    return JudgedBuild(2, Outcome.SLOWER, tuple(dict.fromkeys(row.benchmark for row in rows)), slowdowns=rows)


class TestAcceptedLevel:
    def test_an_equally_slow_later_build_is_waived(self) -> None:
        assert excuse(again(SEEN), LEVEL) == LEVEL

    def test_noise_does_not_bring_the_failure_back(self) -> None:
        noisy = replace(SEEN, worsening=0.16, least=0.129, most=0.19)

        assert excuse(again(noisy), LEVEL) == LEVEL
        assert beyond_acceptance(again(noisy), [LEVEL], REVISION) == ()

    def test_a_build_surely_slower_than_accepted_counts_again(self) -> None:
        worse = replace(SEEN, worsening=0.25, least=0.23, most=0.27)

        assert excuse(again(worse), LEVEL) is None
        assert beyond_acceptance(again(worse), [LEVEL], REVISION) == (Beyond(worse, LEVEL, 0.13),)

    def test_a_second_acceptance_covers_the_new_level(self) -> None:
        worse = replace(SEEN, worsening=0.25, least=0.23, most=0.27)
        second = replace(LEVEL, id=2, levels=(worse,))

        assert excuse(again(worse), LEVEL, second) == second
        assert excuse(again(SEEN), LEVEL, second) == second
        assert beyond_acceptance(again(worse), [LEVEL, second], REVISION) == ()

    @pytest.mark.parametrize(
        "row",
        [replace(SEEN, metric="bytes"), replace(SEEN, benchmark="HTB/Delete"), replace(SEEN, job="x86")],
    )
    def test_a_formerly_not_slower_row_counts(self, row: Slowdown) -> None:
        assert excuse(again(SEEN, row), LEVEL) is None
        assert beyond_acceptance(again(SEEN, row), [LEVEL], REVISION) == (Beyond(row, LEVEL, -math.inf),)

    @pytest.mark.parametrize(("job", "suite"), [("x86", "bench"), ("arm", "other")])
    def test_a_level_covers_only_the_job_and_suite_that_measured_it(self, job: str, suite: str) -> None:
        small = replace(SEEN, worsening=0.03, least=0.02, most=0.04, job=job, suite=suite)
        made = replace(ACCEPT, levels=(SEEN, small))
        worse = replace(small, worsening=0.12, least=0.11, most=0.13)

        assert excuse(again(small), made) == made
        assert excuse(again(worse), made) is None
        assert beyond_acceptance(again(worse), [made], REVISION) == (Beyond(worse, made, 0.04),)

    def test_the_highest_of_several_levels_counts(self) -> None:
        made = replace(ACCEPT, levels=(replace(SEEN, most=0.4), SEEN))

        assert excuse(again(replace(SEEN, least=0.3, most=0.5)), made) == made

    def test_an_acceptance_of_a_previous_version_covers_any_size(self) -> None:
        worse = replace(SEEN, worsening=9.0, least=8.0, most=10.0)

        assert excuse(again(worse), ACCEPT) == ACCEPT

    def test_the_rows_of_a_build_of_a_previous_version_are_not_known(self) -> None:
        assert excuse(slower("HTB/Insert"), LEVEL) == LEVEL

    def test_a_removed_benchmark_has_no_level(self) -> None:
        made = replace(ACCEPT, levels=())
        removed = JudgedBuild(2, Outcome.REMOVED, ("HTB/Insert",), slowdowns=())

        assert excuse(removed, made) == made

    def test_a_revoked_acceptance_covers_nothing(self) -> None:
        assert excuse(again(SEEN), LEVEL, UNDO) is None
        assert beyond_acceptance(again(replace(SEEN, least=1.0)), [LEVEL, UNDO], REVISION) == ()

    def test_an_unaccepted_benchmark_is_not_beyond_its_level(self) -> None:
        other = replace(SEEN, benchmark="DcpBench/Send")

        assert beyond_acceptance(again(other), [LEVEL], REVISION) == ()


def test_a_persons_vote_on_the_review_server_excuses_nothing_here() -> None:
    assert excuse(JudgedBuild(1, Outcome.FAILED), PERSON_VOTE) is None
