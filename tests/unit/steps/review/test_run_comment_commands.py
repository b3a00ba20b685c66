"""Comment commands run once, if their author has permission."""

from __future__ import annotations

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import KINDS
from service.domain.review.change import PatchSet, PatchSetKind
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.steps.review.run_comment_commands import run_comment_commands
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, LINKS, Service, change_at, project
from tests.unit.steps.review.commenting import MAY, RIGHTS, TWO_JOBS, builds, finish, say, voted


@pytest.fixture
def service() -> Service:
    return voted()


class TestRecheck:
    def test_a_failed_build_runs_again_in_a_new_run(self, service: Service) -> None:
        assert say(service, "recheck") == []
        assert service.runs()[-1] == ("patch1", RunState.RUNNING)
        assert builds(service, 2) == [1, 3]
        again = service.store.memory.builds[2]
        assert (again.job, again.number, again.state, again.outcome) == ("perf", 2, BuildState.QUEUED, None)
        assert service.store.memory.hints[-1] == ("execute", 3)

    def test_a_message_is_processed_once(self, service: Service) -> None:
        say(service, "recheck")
        service.reconcile(is_full=True)
        assert service.run_comment_commands() == []
        assert len(service.store.memory.builds) == 3

    def test_a_named_job_moves_to_the_end(self, service: Service) -> None:
        say(service, "recheck other")
        assert builds(service, 2) == [2, 3]

    def test_recheck_all_runs_every_build_again(self, service: Service) -> None:
        say(service, "recheck all")
        assert builds(service, 2) == [3, 4]

    def test_a_second_recheck_replaces_the_build_in_place(self, service: Service) -> None:
        say(service, "recheck perf")
        say(service, "recheck other")
        assert builds(service, 2) == [4, 3]

    def test_a_running_build_is_not_replaced(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "recheck perf")
        assert builds(service, 2) == [1, 3]

    @pytest.mark.parametrize("line", ["recheck perf", "recheck all"])
    def test_the_reply_says_that_an_override_does_not_cover_the_new_build(
        self, service: Service, line: str
    ) -> None:
        say(service, "override MB-1 the builder was full")
        (answer,) = say(service, line)
        assert answer.startswith(
            "{} `recheck`: the override does not cover the new build; if the failure is the same again, "
            "write `override perf MB-1 the builder was full`"
        )
        assert service.runs()[-1] == ("patch1", RunState.RUNNING)

    def test_without_a_failure_the_reply_offers_recheck_all(self, service: Service) -> None:
        say(service, "override MB-1 the builder was full")
        (answer,) = say(service, "recheck")
        assert answer.startswith("{} `recheck`: no build failed; `recheck all` runs all builds again")

    @pytest.mark.parametrize("text", ["recheck", "recheck all"])
    def test_the_reply_says_why_nothing_was_built(self, service: Service, text: str) -> None:
        for build in (1, 2):
            finish(service, build, Outcome.NOT_BUILT)
        (answer,) = say(service, text)
        assert answer.startswith(
            "{} `recheck`: the patch set changes no files of a job; `recheck JOB` runs a job anyway: "
            "other, perf"
        )

    def test_the_new_run_votes_by_all_its_builds(self, service: Service) -> None:
        say(service, "recheck")
        finish(service, 3, Outcome.PASSED)
        service.vote(2)
        assert [(each.number, each.vote) for each in service.store.memory.decisions] == [(1, -1), (2, 1)]

    def test_after_a_cancelled_run_the_run_before_it_is_repeated(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "cancel")
        say(service, "recheck perf")
        assert builds(service, 3) == [1, 4]
        assert service.store.memory.builds[3].state is BuildState.QUEUED

    def test_a_cancelled_first_run_is_planned_again(self) -> None:
        service = Service(source=project(TWO_JOBS + RIGHTS))
        service.server.members = set(MAY)
        service.server.put(change_at(1, updated=WRITTEN))
        service.reconcile()
        service.plan()
        say(service, "cancel")
        say(service, "recheck all")
        assert service.runs() == [("patch1", RunState.CANCELLED), ("patch1", RunState.PLANNING)]

    def test_a_repeated_job_uses_the_current_project_file(self, service: Service) -> None:
        service.source = project((TWO_JOBS + RIGHTS).replace("make", "make -j"))
        say(service, "recheck")
        again = BuildSpec.from_mapping(service.store.memory.builds[2].spec)
        assert again.job.benchmark.build.compile == "make -j"
        assert again.sequence != BuildSpec.from_mapping(service.store.memory.builds[1].spec).sequence


class TestRecheckOfAKindThatThisVersionLacks:
    BAD = TWO_JOBS.replace("kind: benchmark", "kind: bench", 1)

    @pytest.fixture
    def service(self) -> Service:
        service = Service(source=project(self.BAD + RIGHTS))
        service.server.members = set(MAY)
        service.server.put(change_at(1, updated=WRITTEN))
        service.reconcile()
        service.plan()
        finish(service, 2, Outcome.PASSED)
        service.vote()
        assert [each.outcome for each in service.store.memory.builds] == [
            Outcome.MISCONFIGURED,
            Outcome.PASSED,
        ]
        return service

    def test_it_says_what_is_wrong(self, service: Service) -> None:
        (answer,) = say(service, "recheck")
        assert f"this version does not run bench; it runs {', '.join(KINDS)}" in answer
        assert len(service.store.memory.builds) == 2

    def test_the_others_run_again(self, service: Service) -> None:
        assert say(service, "recheck all") == []
        assert builds(service, 2) == [1, 3]

    def test_once_the_project_file_is_corrected_it_runs(self, service: Service) -> None:
        service.source = project(TWO_JOBS + RIGHTS)
        assert say(service, "recheck") == []
        again = service.store.memory.builds[2]
        assert (again.kind, again.state, again.outcome) == ("benchmark", BuildState.QUEUED, None)
        assert again.sequence_id is not None
        assert service.store.memory.hints[-1] == ("execute", 3)


class TestCancel:
    def test_a_cancelled_run_stays_cancelled(self, service: Service) -> None:
        say(service, "recheck all")
        (reply,) = say(service, "cancel")
        assert reply.startswith("{} `cancel`: the run is cancelled; `recheck all` starts it again")
        service.reconcile(is_full=True)
        assert service.runs() == [("patch1", RunState.FINISHED), ("patch1", RunState.CANCELLED)]

    def test_without_a_run_in_progress_there_is_a_reply(self, service: Service) -> None:
        assert say(service, "cancel")[0].startswith("{} `cancel`: no run is in progress")


class TestOverride:
    def test_the_vote_changes_at_once_and_names_the_person_and_the_reason(self, service: Service) -> None:
        (review,) = say(service, "override MB-37948 it fails now and then")
        assert review.startswith("{'Performance': 1} Build Successful")
        assert "overridden by Bob: it fails now and then (MB-37948)" in review

    def test_it_can_be_undone(self, service: Service) -> None:
        say(service, "override MB-37948 the builder was full")
        (review,) = say(service, "override undo")
        assert review.startswith("{'Performance': -1} Benchmarks Failed")

    def test_it_does_not_cover_a_later_build(self, service: Service) -> None:
        say(service, "override MB-37948 the builder was full")
        say(service, "recheck perf")
        finish(service, 3, Outcome.SLOWER)
        service.vote(2)
        assert [each.vote for each in service.store.memory.decisions] == [-1, 1, -1]

    def test_it_does_not_cover_a_new_patch_set(self, service: Service) -> None:
        say(service, "override MB-37948 the builder was full")
        service.see(change_at(2, updated=WRITTEN))
        service.plan(2)
        for build in builds(service, 2):
            finish(service, build, Outcome.SLOWER)
        service.vote(2)
        assert service.store.memory.decisions[-1].vote == -1

    def test_a_build_that_passed_cannot_be_overridden(self, service: Service) -> None:
        (answer,) = say(service, "override other MB-1 it has passed")
        assert answer.startswith("{} `override`: there is no failed build of other to override")

    def test_during_a_run_it_takes_effect_at_the_end(self, service: Service) -> None:
        say(service, "recheck other")
        (answer,) = say(service, "override MB-1 the builder was full")
        assert "it takes effect when the run finishes" in answer
        finish(service, 3, Outcome.PASSED)
        service.vote(2)
        assert service.store.memory.decisions[-1].vote == 1

    def test_it_stays_active_when_another_run_is_cancelled(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "cancel")
        (review,) = say(service, "override MB-1 the builder was full")
        assert review.startswith("{'Performance': 1}")

    def test_it_can_be_undone_after_an_ok_to_test(self, service: Service) -> None:
        service.source = project(TWO_JOBS + RIGHTS.replace("}", ", trusted: committers}"))
        say(service, "override MB-1 the builder was full")
        say(service, "ok-to-test")
        (review,) = say(service, "override undo")
        assert review.startswith("{'Performance': -1}")


class TestOrder:
    """Commands run in the order of the comments, not of the tasks."""

    def test_an_earlier_command_runs_before_a_later_one(self, service: Service) -> None:
        service.server.say(KEY, "bob", "Patch Set 1:\n\noverride MB-1 the builder was full")
        service.server.say(KEY, "bob", "Patch Set 1:\n\noverride undo")
        service.see(service.server.changes[KEY])
        run_comment_commands(service.store, service.server, service.source, LINKS, 2)
        run_comment_commands(service.store, service.server, service.source, LINKS, 1)
        assert [each.vote for each in service.store.memory.decisions] == [-1, 1, -1]


def slowdown(size: float, benchmark: str) -> Slowdown:
    return Slowdown(benchmark, "cpu_time", Better.LOWER, size, size - 0.01, size + 0.01)


def run_again(service: Service, *found: Slowdown) -> None:
    """Accept BM_a at 12 ± 1 %; then the job runs again and finds these slow-downs."""
    service.store.update(2, blamed=("BM_a",), slowdowns=(slowdown(0.12, "BM_a"),))
    say(service, "accept BM_a safer locks")
    say(service, "recheck perf")
    finish(service, 3, Outcome.SLOWER, tuple(row.benchmark for row in found))
    service.store.update(3, slowdowns=found)
    service.vote(2)


class TestAccept:
    def test_every_benchmark_must_be_accepted(self, service: Service) -> None:
        (review,) = say(service, "accept BM_a safer locks")
        assert review.startswith("{'Performance': -1}")
        (review,) = say(service, "accept BM_b safer locks too")
        assert review.startswith("{'Performance': 1}")

    def test_a_filter_without_a_slower_match_gets_a_reply(self, service: Service) -> None:
        (answer,) = say(service, "accept BM_typo safer locks")
        assert answer.startswith(
            "{} `accept`: the filter matches no slower or removed benchmark; these are BM_a, BM_b"
        )

    def test_the_level_shown_is_kept(self, service: Service) -> None:
        rows = slowdown(0.12, "BM_a"), slowdown(0.08, "BM_b")
        service.store.update(2, slowdowns=rows)
        say(service, "accept BM_a safer locks")
        ((_, accept),) = service.store.memory.overrides
        assert accept.levels == rows[:1]

    def test_a_build_of_a_previous_version_is_accepted_at_any_size(self, service: Service) -> None:
        say(service, "accept BM_a safer locks")
        ((_, accept),) = service.store.memory.overrides
        assert accept.levels is None

    def test_an_equally_slow_rerun_stays_accepted(self, service: Service) -> None:
        run_again(service, slowdown(0.14, "BM_a"))
        assert service.store.memory.decisions[-1].vote == 1

    def test_a_surely_slower_rerun_counts_again_and_names_both_levels(self, service: Service) -> None:
        run_again(service, slowdown(0.25, "BM_a"))
        decision = service.store.memory.decisions[-1]
        assert decision.vote == -1
        assert "BM_a CPU time: accepted up to +13.0 % by Bob, now +25.0 % [+24.0, +26.0]" in decision.message

    def test_a_formerly_not_slower_benchmark_is_named(self, service: Service) -> None:
        run_again(service, slowdown(0.12, "BM_a"), slowdown(0.05, "BM_ab"))
        decision = service.store.memory.decisions[-1]
        assert decision.vote == -1
        assert "BM_ab CPU time: not slower when Bob accepted BM_a, now +5.0 %" in decision.message

    def test_the_new_level_can_be_accepted_too(self, service: Service) -> None:
        run_again(service, slowdown(0.25, "BM_a"))
        (review,) = say(service, "accept BM_a safer locks, and it is worth it")
        assert review.startswith("{'Performance': 1}")
        assert "accepted up to" not in review

    def test_the_level_carries_over_to_a_patch_set_with_equal_trees(self, service: Service) -> None:
        run_again(service, slowdown(0.14, "BM_a"))
        service.source.commits["patch2"] = service.source.commits["patch1"]
        current = PatchSet(2, "patch2", "refs/changes/07/7/2", ("parent",), PatchSetKind.OTHER_MESSAGE)
        service.see(change_at(2, current=current, updated=WRITTEN))
        service.plan(3)
        service.vote(3)
        assert service.store.memory.decisions[-1].vote == 1
        (_, first), (patch_set, second) = service.store.memory.overrides
        assert (patch_set, second.carried_from, second.levels) == (2, 1, first.levels)

    def test_a_renamed_benchmark_needs_no_override(self, service: Service) -> None:
        finish(service, 2, Outcome.REMOVED, ("BM_old",))
        (review,) = say(service, "accept BM_old it is BM_new now")
        assert review.startswith("{'Performance': 1}")


class TestRights:
    def test_a_person_outside_the_group_is_refused(self, service: Service) -> None:
        (answer,) = say(service, "override MB-1 the builder was full", who="mallory")
        assert answer.startswith("{} `override`: refused: Mallory is not a member of reviewers")
        assert len(service.store.memory.decisions) == 1

    def test_each_permission_has_its_own_group(self, service: Service) -> None:
        assert (
            "is not a member of reviewers"
            in say(service, "override MB-1 the builder was full", who="carol")[0]
        )
        assert say(service, "recheck", who="carol") == []

    def test_a_project_without_groups_refuses_every_command(self, service: Service) -> None:
        service.source = project(TWO_JOBS)
        (answer,) = say(service, "override MB-1 the builder was full")
        assert "`override`: not enabled: set `commands: {override: GROUP}` in benchgate.yaml" in answer


class TestOverrideByHand:
    def test_it_is_recorded(self, service: Service) -> None:
        server = service.server
        server.say(KEY, server.account, "Patch Set 1: Performance-1\n\nBuild Failed")
        server.say(KEY, "bob", "Patch Set 1:\n\nOverriding buildbot, known intermittent failure (MB-37948)")
        server.say(KEY, "bob", "Patch Set 1: Performance+1")
        server.say(KEY, "bob", "Removed Performance-1 by Benchgate")
        service.see(service.server.changes[KEY])
        service.see(service.server.changes[KEY])

        ((_, override),) = service.store.memory.overrides
        assert (override.kind, override.who, override.bug) == (OverrideKind.PERSON_VOTE, "Bob", "MB-37948")
        assert service.run_comment_commands() == []

    def test_the_override_of_a_second_person_is_recorded_too(self, service: Service) -> None:
        server = service.server
        for person in ("bob", "carol"):
            server.say(KEY, server.account, "Patch Set 1: Performance-1\n\nBuild Failed")
            server.say(KEY, person, "Patch Set 1: Performance+1")
            server.say(KEY, person, "Removed Performance-1 by Benchgate")
            service.see(service.server.changes[KEY])

        assert [override.who for _, override in service.store.memory.overrides] == ["Bob", "Carol"]
