"""Plan the workspace of builds once; reruns that continue pairs keep it, others renew it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = f"""{PROJECT_FILE}  style: {{kind: clang-format}}
manifest: {{git: ../manifest, branch: main}}
commands: {{rerun: committers}}
"""
LATER = WRITTEN + timedelta(hours=1)
OLD, NEW = "1" * 40, "2" * 40


@pytest.fixture
def service() -> Service:
    """A planned patch set of a project with two repositories; the other one has moved since."""
    source = project(FILE)
    source.others["net"] = OLD
    service = Service(source=source)
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    source.others["net"] = NEW
    return service


def spec(service: Service, build_id: int) -> BuildSpec:
    return BuildSpec.from_mapping(service.store.memory.builds[build_id - 1].spec)


def commits(service: Service, build_id: int) -> Sequence[str]:
    workspace = spec(service, build_id).workspace
    assert workspace is not None
    return [each.commit for each in workspace.others]


def end(service: Service, outcome: Outcome) -> None:
    for build, ends in ((1, outcome), (2, Outcome.PASSED)):
        service.store.update(build, state=BuildState.FINISHED, outcome=ends)
    service.vote()


def say(service: Service, text: str) -> list[str]:
    service.server.say(KEY, "bob", f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def test_a_build_gets_the_commits_of_its_planning_and_a_linter_of_files_none(service: Service) -> None:
    assert commits(service, 1) == [OLD]
    assert spec(service, 2).workspace is None


def test_a_patch_set_with_equal_trees_is_built_anew_if_another_repository_moved(service: Service) -> None:
    service.source.commit("patch2", "parent", service.source.commits["patch1"].files, "refs/changes/07/7/2")
    service.see(change_at(2, updated=LATER))
    service.plan(2)

    taken_over = [build for run, build in service.store.memory.run_builds if run == 2]
    assert taken_over == [3, 2]
    assert commits(service, 3) == [NEW]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.PARENT_BROKEN, Outcome.INFRASTRUCTURE])
def test_a_build_that_measured_nothing_runs_again_with_the_newest_commits(
    service: Service, outcome: Outcome
) -> None:
    end(service, outcome)
    assert say(service, "recheck") == []
    assert commits(service, 3) == [NEW]
    assert spec(service, 3).sequence != spec(service, 1).sequence


@pytest.mark.parametrize("command", ["recheck all", "recheck perf"])
def test_a_build_that_measured_continues_with_its_commits(service: Service, command: str) -> None:
    end(service, Outcome.UNDECIDED)
    assert say(service, command) == []
    assert commits(service, 3) == [OLD]


def test_a_new_configuration_is_built_with_the_newest_commits(service: Service) -> None:
    end(service, Outcome.UNDECIDED)
    text = {"benchgate.yaml": FILE.replace("make", "make all")}
    service.source.commit(
        "merged", "parent", {**service.source.commits["parent"].files, **text}, "refs/heads/master"
    )
    say(service, "recheck perf")
    assert commits(service, 3) == [NEW]


def test_a_manifest_that_cannot_be_used_is_reported_without_a_vote() -> None:
    source = project(FILE)
    source.bad_manifest = BadInput("it is not XML", "default.xml:3")
    service = Service(source=source)
    service.see(change_at(1))
    service.plan()

    assert service.runs() == [("patch1", RunState.REFUSED)]
    (posted,) = service.store.memory.reviews.values()
    assert (posted.review.labels, "default.xml:3: it is not XML" in posted.review.message) == ({}, True)


def test_a_rerun_with_a_manifest_that_cannot_be_used_gets_a_reply(service: Service) -> None:
    end(service, Outcome.FAILED)
    service.source.bad_manifest = BadInput("it is not XML", "default.xml:3")
    (answer,) = say(service, "recheck")
    assert "default.xml:3: it is not XML" in answer
    assert len(service.store.memory.builds) == 2


def test_a_rerun_of_a_job_that_builds_nothing_needs_no_manifest(service: Service) -> None:
    end(service, Outcome.FAILED)
    service.source.bad_manifest = BadInput("it is not XML", "default.xml:3")
    assert say(service, "recheck style") == []
    assert spec(service, 3).job.name == "style"


def test_a_manifest_that_no_job_of_the_run_needs_is_not_read() -> None:
    source = project(FILE)
    source.commit(
        "patch1", "parent", {**source.commits["parent"].files, "README": "x"}, "refs/changes/07/7/1"
    )
    source.bad_manifest = BadInput("it is not XML", "default.xml:3")
    service = Service(source=source)
    service.see(change_at(1))
    service.plan()

    assert service.runs() == [("patch1", RunState.RUNNING)]
