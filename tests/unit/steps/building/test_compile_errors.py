"""Compile errors of a patch are posted on their lines, each once a change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.findings import MOST, Finding
from service.domain.failures.failure import FailureKind
from service.domain.review.change import InlineComment
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.steps.machines.execute import execute_build
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.support.runs.finished import Farm
from tests.unit.steps.machines.test_execute import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Command, Completed
    from service.domain.review.change import Review
    from service.ports.building import ByteSink

RIGHTS = "commands: {rerun: committers, override: reviewers}\n"
ONE_JOB = PROJECT_FILE.replace("label: Performance", "label: Verified")
HEAD, JOB = ONE_JOB.split("jobs:\n")
TWO_JOBS = f"{HEAD}jobs:\n{JOB}{JOB.replace('perf:', 'asan:')}"
ERROR = Finding("lib/a.cc", 3, "error: 'x' was not declared in this scope")
MOVED = Finding("lib/a.cc", 30, ERROR.text)
OTHER = Finding("lib/b.cc", 7, "fatal error: gone.h: No such file or directory")
SAID = "perf: error: 'x' was not declared in this scope"


class Compiler(MemorySandbox):
    """Writes into the log what the code has under "says", with the sources' directory for ``{tree}``."""

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        tree = Path(command.mounts[0].source)
        says = json.loads((tree / CODE).read_text()).get("says", "")
        if log is not None and len(command.argv) == 3:
            log.write(says.replace("{tree}", str(tree.resolve())).encode())
        return super().run(command, log=log, watch=watch)


def executed(scratch: Path, **codes: dict[str, Any]) -> MachineReport:
    """The report of a machine on these commits."""
    source = project()
    for commit, code in codes.items():
        old = source.commits[commit]
        text = json.dumps({"benchmarks": {"BM_a": 1e-6}, **code})
        source.commit(commit, old.parent, {**old.files, CODE: text})
    claimed = MemoryClaimed(spec=spec_of(source).to_mapping())
    report = execute_build(claimed, memory_host(source, Compiler(), scratch), Silence())
    assert report is not None
    assert [MachineReport.from_mapping(each) for each in claimed.executions] == [report]
    return report


class TestOnTheMachine:
    @pytest.mark.parametrize("place", ["lib/a.cc", "/src/lib/a.cc", "{tree}/lib/a.cc"])
    def test_a_patch_that_does_not_compile_names_its_lines(self, tmp_path: Path, place: str) -> None:
        log = f"{place}:3:5: {ERROR.text}\n{{tree}}/build/gen.h:1: error: generated\n"
        report = executed(tmp_path, patch1={"does not compile": 1, "says": log})
        assert (report.outcome, report.findings) == (Outcome.FAILED, (ERROR,))
        assert report.causes == (
            f"Compile error at lib/a.cc:3: {ERROR.text}",
            "Compile error at build/gen.h:1: error: generated",
        )
        first = report.failures[0]
        assert (first.kind, first.subject, first.place) == (FailureKind.COMPILE, "lib/a.cc", "lib/a.cc:3")

    def test_a_build_that_fails_in_silence_has_its_exit_code_as_the_failure(self, tmp_path: Path) -> None:
        report = executed(tmp_path, patch1={"does not compile": 1})
        ((failure),) = report.failures
        assert (failure.kind, failure.headline) == (FailureKind.COMMAND, "exit code 2")
        assert failure.line == "compile failed: exit code 2"

    def test_the_parents_compile_errors_are_not_the_changes(self, tmp_path: Path) -> None:
        report = executed(tmp_path, parent={"does not compile": 1, "says": f"lib/a.cc:3: {ERROR.text}\n"})
        assert (report.outcome, report.findings, report.failures) == (Outcome.NO_PARENT, (), ())

    def test_a_build_that_succeeds_names_nothing_whatever_it_prints(self, tmp_path: Path) -> None:
        report = executed(tmp_path, patch1={"says": f"lib/a.cc:3: {ERROR.text}\n"})
        assert (report.outcome, report.findings) == (None, ())


def farm_with(tmp_path: Path, text: str = ONE_JOB + RIGHTS) -> Farm:
    farm = Farm(tmp_path, Service(source=project(text)))
    farm.service.server.members = {("bob", "reviewers"), ("bob", "committers")}
    farm.review()
    return farm


def heard_farm(tmp_path: Path, text: str) -> Farm:
    """One with a first patch set; its comments count, because the server was looked at before."""
    farm = Farm(tmp_path, Service(source=project(text)))
    service = farm.service
    service.server.members = {("bob", "reviewers"), ("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    return farm


def fail(farm: Farm, build: int, *findings: Finding, outcome: Outcome = Outcome.FAILED) -> None:
    """A machine reports that a build failed."""
    farm.report(MachineReport(outcome, ("compile failed: exit code 2",), findings=findings), build)
    farm.analyse(build)


def remarks(farm: Farm) -> list[list[tuple[str, int, str]]]:
    """Path, line and text of the remarks of each result that was posted."""
    return [[(each.path, each.line, each.text) for each in review.comments] for review in results(farm)]


def results(farm: Farm) -> list[Review]:
    """The posted reviews, without replies to comments."""
    while any(each.state == "pending" for each in farm.service.store.memory.reviews.values()):
        farm.service.deliver()
    return [review for review in farm.service.server.reviews if review.message.startswith("Build ")]


def say(farm: Farm, text: str) -> None:
    """Bob writes a command on the change, and it runs."""
    service = farm.service
    service.server.say(KEY, "bob", f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    service.run_comment_commands()


def test_errors_of_a_patch_are_posted_on_their_lines_with_the_vote(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    fail(farm, 1, ERROR, OTHER)
    assert farm.service.store.memory.builds[0].findings == (ERROR, OTHER)
    farm.service.vote()

    (review,) = results(farm)
    assert review.labels == {"Verified": -1}
    assert review.comments == (
        InlineComment("lib/a.cc", 3, SAID),
        InlineComment("lib/b.cc", 7, f"perf: {OTHER.text}"),
    )


def test_the_next_patch_set_gets_only_new_errors(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    fail(farm, 1, ERROR)
    farm.service.vote(1)
    farm.service.deliver()
    farm.review(2)
    fail(farm, 2, MOVED, OTHER)
    farm.service.vote(2)

    assert remarks(farm) == [[("lib/a.cc", 3, SAID)], [("lib/b.cc", 7, f"perf: {OTHER.text}")]]


def test_a_second_patch_set_with_the_same_error_gets_a_vote_and_no_remark(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    fail(farm, 1, ERROR)
    farm.service.vote(1)
    farm.service.deliver()
    farm.review(2)
    fail(farm, 2, MOVED)
    farm.service.vote(2)

    assert remarks(farm) == [[("lib/a.cc", 3, SAID)], []]
    assert [review.labels for review in results(farm)] == [{"Verified": -1}] * 2


def test_a_line_comment_that_never_reached_the_change_is_posted_on_the_next_patch_set(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    fail(farm, 1, ERROR)
    farm.service.vote(1)
    farm.review(2)  # before the review of the first was posted: it never is
    fail(farm, 2, MOVED)
    farm.service.vote(2)

    assert remarks(farm) == [[("lib/a.cc", 30, SAID)]]


def test_a_line_comment_that_the_server_refused_is_posted_on_the_next_patch_set(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    farm.service.server.unshown = {ERROR.path}
    fail(farm, 1, ERROR)
    farm.service.vote(1)
    farm.service.deliver()
    farm.service.server.unshown = set()
    farm.review(2)
    fail(farm, 2, MOVED)
    farm.service.vote(2)

    assert remarks(farm)[-1] == [("lib/a.cc", 30, SAID)]


def test_a_job_that_does_not_vote_posts_no_line_comments(tmp_path: Path) -> None:
    farm = farm_with(
        tmp_path, (ONE_JOB + RIGHTS).replace("kind: benchmark", "kind: benchmark\n    voting: false")
    )
    fail(farm, 1, ERROR)
    farm.service.vote(1)

    assert remarks(farm) == [[]]


def test_a_decision_made_anew_repeats_no_remark(tmp_path: Path) -> None:
    farm = heard_farm(tmp_path, TWO_JOBS + RIGHTS)
    service = farm.service
    fail(farm, 1, ERROR)
    fail(farm, 2, OTHER)
    service.vote()
    say(farm, "override perf MB-1 the disk was full")  # the first review still waits to be posted
    say(farm, "override undo")

    told = [("lib/a.cc", 3, SAID), ("lib/b.cc", 7, f"asan: {OTHER.text}")]
    assert remarks(farm) == [told, [], []]
    assert [review.labels["Verified"] for review in results(farm)] == [-1, -1, -1]


def test_errors_that_an_override_waives_are_not_posted(tmp_path: Path) -> None:
    farm = heard_farm(tmp_path, TWO_JOBS + RIGHTS)
    service = farm.service
    fail(farm, 1, ERROR)
    say(farm, "override perf MB-1 the disk was full")  # the round still runs
    fail(farm, 2, OTHER)
    service.vote()

    assert remarks(farm) == [[("lib/b.cc", 7, f"asan: {OTHER.text}")]]


def test_a_rerun_that_fails_alike_repeats_no_remark(tmp_path: Path) -> None:
    farm = heard_farm(tmp_path, ONE_JOB + RIGHTS)
    service = farm.service
    fail(farm, 1, ERROR)
    service.vote()
    say(farm, "recheck")
    assert service.store.memory.builds[1].findings == ()
    fail(farm, 2, ERROR, OTHER)
    service.vote(2)

    assert remarks(farm) == [[("lib/a.cc", 3, SAID)], [("lib/b.cc", 7, f"perf: {OTHER.text}")]]


@pytest.mark.parametrize("outcome", [Outcome.INFRASTRUCTURE, Outcome.PASSED, Outcome.NO_PARENT])
def test_a_build_that_did_not_fail_posts_no_line_comments(tmp_path: Path, outcome: Outcome) -> None:
    farm = farm_with(tmp_path)
    fail(farm, 1, ERROR, outcome=outcome)
    farm.service.vote()

    assert remarks(farm) == [[]]


def test_a_message_has_a_bounded_number_of_remarks(tmp_path: Path) -> None:
    farm = farm_with(tmp_path, TWO_JOBS)
    for build in (1, 2):
        fail(farm, build, *(Finding(f"{build}.cc", line, "error: no") for line in range(1, MOST + 1)))
    farm.service.vote()

    (told,) = remarks(farm)
    assert len(told) == MOST
