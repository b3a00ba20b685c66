"""Follow branches: commits that no change brought are measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from service.domain.review.change import ChangeStatus
from service.domain.runs.states import RunState
from service.domain.trunk.followed import MOST
from service.domain.values.errors import NotFound, Transient
from service.domain.values.identity import RunKind
from service.steps.trunk.follow_branches import follow_branches
from tests.support.building.memory_source import code
from tests.support.review.changes import Service, change_at

MASTER = "refs/heads/master"


@pytest.fixture
def service() -> Service:
    """A branch whose first measured commit merged a change."""
    service = Service()
    service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    push(service, "patch1", "parent")
    assert service.runs(RunKind.POST_SUBMIT) == [("patch1", RunState.PLANNING)]
    return service


def push(service: Service, commit: str, *parents: str, hours: float = 1.0, subject: str = "Pushed") -> None:
    """Move the branch to a new commit."""
    source = service.source
    parent, *others = parents
    if commit not in source.commits:
        source.commit(commit, parent, {**source.commits[parent].files, "bench.json": code(BM_a=1.0)})
    source.refs[MASTER] = commit
    source.commits[commit] = replace(
        source.commits[commit],
        parent=parent,
        merged="".join(others),
        committed_at=service.server.now() - timedelta(hours=hours),
        subject=subject,
    )


def follow(service: Service) -> int:
    return follow_branches(service.store, service.source, "gerrit", service.server.now())


def merged(service: Service) -> list[str]:
    return [revision for revision, _ in service.runs(RunKind.POST_SUBMIT)]


def test_a_push_without_a_review_is_measured_once(service: Service) -> None:
    push(service, "pushed", "patch1", subject="Pushed\u202e past all")
    push(service, "later", "pushed")
    assert (follow(service), follow(service)) == (2, 0)
    assert merged(service) == ["patch1", "pushed", "later"]
    run = service.store.memory.runs[1]
    assert (run.patch_set_id, run.branch, run.state) == (None, "master", RunState.PLANNING)
    assert service.store.memory.hints[-2:] == [("plan", 2), ("plan", 3)]


def test_a_gap_between_measured_commits_is_filled(service: Service) -> None:
    push(service, "pushed", "patch1")
    push(service, "patch2", "pushed")
    service.see(change_at(2, status=ChangeStatus.MERGED, merged_as="patch2"))
    assert follow(service) == 1
    assert merged(service)[-1] == "pushed"


def test_the_merge_of_a_change_is_measured_by_the_run_of_the_change(service: Service) -> None:
    service.see(change_at(2))
    push(service, "merge", "patch1", "patch2")
    assert follow(service) == 0


def test_a_merged_change_that_nobody_reported_yet_is_left_to_the_review_server(service: Service) -> None:
    service.see(change_at(2))
    push(service, "patch2", "patch1")
    push(service, "unseen", "patch2", hours=0.1)
    assert follow(service) == 0


def test_a_merge_of_branches_is_measured(service: Service) -> None:
    service.source.commit("side", "parent", {})
    push(service, "merge", "patch1", "side")
    assert follow(service) == 1


def test_a_branch_that_is_gone_does_not_keep_the_others_from_being_followed(service: Service) -> None:
    del service.source.refs[MASTER]
    assert follow(service) == 0
    push(service, "pushed", "patch1")
    service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        follow(service)
    service.source.fault = NotFound("no such project")
    assert follow(service) == 0


def test_a_branch_without_a_run_of_the_last_month_is_not_followed(service: Service) -> None:
    push(service, "pushed", "patch1")
    service.store.wait(31 * 86400)
    assert follow(service) == 0


def test_a_large_push_does_not_occupy_the_machines(service: Service) -> None:
    parent = "patch1"
    for number in range(30):
        push(service, f"p{number}", parent)
        parent = f"p{number}"
    assert [follow(service), follow(service)] == [MOST - 1, 0]  # the merged change waits, too
    memory = service.store.memory
    memory.runs = [replace(run, state=RunState.FINISHED) for run in memory.runs]
    assert follow(service) == 30 - (MOST - 1)
    assert merged(service)[1:4] == ["p0", "p1", "p2"]


def test_a_change_that_is_reported_later_gets_the_run_of_its_commit(service: Service) -> None:
    push(service, "patch2", "patch1")
    assert follow(service) == 1
    service.see(change_at(2, status=ChangeStatus.MERGED, merged_as="patch2"))
    run = service.store.memory.runs[-1]
    assert (run.revision, run.change) == ("patch2", change_at(2).key)
    assert merged(service) == ["patch1", "patch2"]


def test_a_change_that_is_reported_later_gets_the_run_of_its_merge_commit(service: Service) -> None:
    push(service, "merge", "patch1", "patch2")
    assert follow(service) == 1
    service.see(change_at(2, status=ChangeStatus.MERGED, merged_as="patch2"))
    service.plan(3)
    of_merge, of_change = service.store.memory.runs[1:]
    assert (of_merge.revision, of_merge.change, of_merge.state) == (
        "merge",
        change_at(2).key,
        RunState.PLANNING,
    )
    assert (of_change.revision, of_change.state) == ("patch2", RunState.CANCELLED)
