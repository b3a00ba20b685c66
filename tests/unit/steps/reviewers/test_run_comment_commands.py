"""People speak on a change, and the service does what they may ask for, once."""

from __future__ import annotations

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.decision.overrides import OverrideKind
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.gerrit.change import ChangeStatus
from service.steps.reviewers.run_comment_commands import run_comment_commands
from tests.support.changes import KEY, LINKS, PROJECT_FILE, Service, change_at, project
from tests.support.fakes import WRITTEN

RIGHTS = "commands: {rerun: committers, override: reviewers}\n"
HEAD, JOB = PROJECT_FILE.split("jobs:\n")
TWO_JOBS = f"{HEAD}jobs:\n{JOB.replace('perf:', 'other:')}{JOB}"
MAY = {("bob", "reviewers"), ("bob", "committers"), ("carol", "committers")}


@pytest.fixture
def service() -> Service:
    """A patch set with two finished builds, the second of which is slower; Bob may do everything."""
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = set(MAY)
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    finish(service, 1, Outcome.PASSED)
    finish(service, 2, Outcome.SLOWER, ("BM_a", "BM_b"))
    service.vote()
    assert [(each.number, each.vote) for each in service.store.memory.decisions] == [(1, -1)]
    return service


def finish(service: Service, build: int, outcome: Outcome, blamed: tuple[str, ...] = ()) -> None:
    service.store.update(build, state=BuildState.FINISHED, outcome=outcome, blamed=blamed)


def say(service: Service, text: str, who: str = "bob") -> list[str]:
    """Somebody writes on the change; what is posted for it."""
    service.server.say(KEY, who, f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def builds(service: Service, run: int) -> list[int]:
    return [build for number, build in service.store.memory.run_builds if number == run]


class TestRecheck:
    def test_what_failed_is_run_again_in_the_next_round(self, service: Service) -> None:
        assert say(service, "recheck") == []
        assert service.runs()[-1] == ("patch1", RunState.RUNNING)
        assert builds(service, 2) == [1, 3]
        again = service.store.memory.builds[2]
        assert (again.job, again.number, again.state, again.outcome) == ("perf", 2, BuildState.QUEUED, None)
        assert service.store.memory.hints[-1] == ("execute", 3)

    def test_each_message_is_obeyed_once(self, service: Service) -> None:
        say(service, "recheck")
        service.reconcile(is_full=True)
        assert service.run_comment_commands() == []
        assert len(service.store.memory.builds) == 3

    def test_a_named_job_moves_to_the_end(self, service: Service) -> None:
        say(service, "recheck other")
        assert builds(service, 2) == [2, 3]

    def test_all_are_run_again(self, service: Service) -> None:
        say(service, "recheck all")
        assert builds(service, 2) == [3, 4]

    def test_another_one_during_the_round_stays_in_place(self, service: Service) -> None:
        say(service, "recheck perf")
        say(service, "recheck other")
        assert builds(service, 2) == [4, 3]

    def test_what_still_runs_is_left_to_arrive(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "recheck perf")
        assert builds(service, 2) == [1, 3]

    def test_where_nothing_failed_it_says_so(self, service: Service) -> None:
        say(service, "override MB-1 known")
        (answer,) = say(service, "recheck")
        assert answer.startswith("{} `recheck`: nothing failed; `recheck all` runs everything again")

    def test_the_new_round_votes_by_all_its_builds(self, service: Service) -> None:
        say(service, "recheck")
        finish(service, 3, Outcome.PASSED)
        service.vote(2)
        assert [(each.number, each.vote) for each in service.store.memory.decisions] == [(1, -1), (2, 1)]

    def test_after_a_round_that_was_called_off_the_one_before_it_is_run_again(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "cancel")
        say(service, "recheck perf")
        assert builds(service, 3) == [1, 4]
        assert service.store.memory.builds[3].state is BuildState.QUEUED

    def test_a_first_check_that_was_called_off_begins_anew(self) -> None:
        service = Service(source=project(TWO_JOBS + RIGHTS))
        service.server.members = set(MAY)
        service.server.put(change_at(1, updated=WRITTEN))
        service.reconcile()
        service.plan()
        say(service, "cancel")
        say(service, "recheck all")
        assert service.runs() == [("patch1", RunState.CANCELLED), ("patch1", RunState.PLANNING)]

    def test_a_job_is_run_as_the_project_file_has_it_now(self, service: Service) -> None:
        service.source = project((TWO_JOBS + RIGHTS).replace("make", "make -j"))
        say(service, "recheck")
        again = BuildSpec.from_mapping(service.store.memory.builds[2].spec)
        assert again.job.benchmark.build.compile == "make -j"
        assert again.sequence != BuildSpec.from_mapping(service.store.memory.builds[1].spec).sequence


class TestCancel:
    def test_a_running_round_ends_and_stays_ended(self, service: Service) -> None:
        say(service, "recheck all")
        assert say(service, "cancel") == []
        service.reconcile(is_full=True)
        assert service.runs() == [("patch1", RunState.FINISHED), ("patch1", RunState.CANCELLED)]

    def test_where_nothing_runs_it_says_so(self, service: Service) -> None:
        assert say(service, "cancel")[0].startswith("{} `cancel`: nothing is running")


class TestOverride:
    def test_the_vote_changes_at_once_and_says_who_and_why(self, service: Service) -> None:
        (review,) = say(service, "override MB-37948 known to fail now and then")
        assert review.startswith("{'Performance': 1} Build Successful")
        assert "overridden by Bob: known to fail now and then (MB-37948)" in review

    def test_it_is_taken_back(self, service: Service) -> None:
        say(service, "override MB-37948 known")
        (review,) = say(service, "override undo")
        assert review.startswith("{'Performance': -1} Build Failed")

    def test_a_rerun_that_fails_anew_is_not_covered(self, service: Service) -> None:
        say(service, "override MB-37948 known")
        say(service, "recheck perf")
        finish(service, 3, Outcome.SLOWER)
        service.vote(2)
        assert [each.vote for each in service.store.memory.decisions] == [-1, 1, -1]

    def test_it_does_not_carry_to_new_code(self, service: Service) -> None:
        say(service, "override MB-37948 known")
        service.see(change_at(2, updated=WRITTEN))
        service.plan(2)
        for build in builds(service, 2):
            finish(service, build, Outcome.SLOWER)
        service.vote(2)
        assert service.store.memory.decisions[-1].vote == -1

    def test_where_nothing_failed_there_is_nothing_to_override(self, service: Service) -> None:
        (answer,) = say(service, "override other MB-1 it passed")
        assert answer.startswith("{} `override`: nothing failed that could be overridden")

    def test_during_a_round_it_counts_once_that_is_finished(self, service: Service) -> None:
        say(service, "recheck other")
        (answer,) = say(service, "override MB-1 known")
        assert "it counts once the round is finished" in answer
        finish(service, 3, Outcome.PASSED)
        service.vote(2)
        assert service.store.memory.decisions[-1].vote == 1

    def test_it_holds_while_another_round_is_called_off(self, service: Service) -> None:
        say(service, "recheck")
        say(service, "cancel")
        (review,) = say(service, "override MB-1 known")
        assert review.startswith("{'Performance': 1}")

    def test_permission_to_run_said_in_between_does_not_keep_it_for_ever(self, service: Service) -> None:
        service.source = project(TWO_JOBS + RIGHTS.replace("}", ", trusted: committers}"))
        say(service, "override MB-1 known")
        say(service, "ok-to-test")
        (review,) = say(service, "override undo")
        assert review.startswith("{'Performance': -1}")


class TestOrder:
    """What was said first is done first, whichever is hinted at first."""

    def test_an_earlier_word_is_obeyed_before_a_later_one(self, service: Service) -> None:
        service.server.say(KEY, "bob", "Patch Set 1:\n\noverride MB-1 known")
        service.server.say(KEY, "bob", "Patch Set 1:\n\noverride undo")
        service.see(service.server.changes[KEY])
        run_comment_commands(service.store, service.server, service.source, LINKS, 2)
        run_comment_commands(service.store, service.server, service.source, LINKS, 1)
        assert [each.vote for each in service.store.memory.decisions] == [-1, 1, -1]


class TestAccept:
    def test_every_benchmark_must_be_accepted(self, service: Service) -> None:
        (review,) = say(service, "accept BM_a safer locks")
        assert review.startswith("{'Performance': -1}")
        (review,) = say(service, "accept BM_b safer locks too")
        assert review.startswith("{'Performance': 1}")

    def test_a_filter_that_chooses_nothing_slower_is_answered(self, service: Service) -> None:
        (answer,) = say(service, "accept BM_typo safer locks")
        assert answer.startswith("{} `accept`: it chooses nothing that is slower; slower are BM_a, BM_b")


class TestRights:
    def test_who_is_in_no_group_is_refused_with_the_reason(self, service: Service) -> None:
        (answer,) = say(service, "override MB-1 please", who="mallory")
        assert answer.startswith("{} `override`: refused, Mallory is not in the group reviewers")
        assert len(service.store.memory.decisions) == 1

    def test_one_right_is_not_the_other(self, service: Service) -> None:
        assert "is not in the group reviewers" in say(service, "override MB-1 please", who="carol")[0]
        assert say(service, "recheck", who="carol") == []

    def test_a_project_without_groups_refuses_everybody(self, service: Service) -> None:
        service.source = project(TWO_JOBS)
        (answer,) = say(service, "override MB-1 please")
        assert "benchgate.yaml names no group that may; `commands: {override: GROUP}` does" in answer


class TestWhoIsHeard:
    def test_the_service_itself_is_not(self, service: Service) -> None:
        assert say(service, "recheck", who=service.server.account) == []
        assert service.store.memory.comment == []

    def test_what_was_said_before_we_came_is_not(self) -> None:
        service = Service(source=project(PROJECT_FILE + RIGHTS))
        service.server.put(change_at(1, updated=WRITTEN))
        service.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck")
        service.see(service.server.changes[KEY])
        assert service.store.memory.comment == []

    def test_a_closed_change_is_not(self, service: Service) -> None:
        service.server.put(change_at(1, minutes=1, updated=WRITTEN, status=ChangeStatus.ABANDONED))
        assert say(service, "recheck") == []

    def test_an_old_patch_set_is_not(self, service: Service) -> None:
        service.see(change_at(2, updated=WRITTEN))
        assert say(service, "recheck") == []

    def test_a_line_that_was_meant_as_a_command_is_answered(self, service: Service) -> None:
        (answer,) = say(service, "override because I say so")
        assert "write `override BUG-ID REASON`" in answer

    def test_prose_is_left_alone(self, service: Service) -> None:
        assert say(service, "I would not recheck this.\nLooks good otherwise") == []


class TestAPersonsOwnOverride:
    def test_it_is_written_down(self, service: Service) -> None:
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

    def test_that_of_a_second_person_is_written_down_too(self, service: Service) -> None:
        server = service.server
        for person in ("bob", "carol"):
            server.say(KEY, server.account, "Patch Set 1: Performance-1\n\nBuild Failed")
            server.say(KEY, person, "Patch Set 1: Performance+1")
            server.say(KEY, person, "Removed Performance-1 by Benchgate")
            service.see(service.server.changes[KEY])

        assert [override.who for _, override in service.store.memory.overrides] == ["Bob", "Carol"]
