"""Histories with merge commits, in real git, and the jobs and sides of a patch set in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.domain.building.spec import BuildSpec
from service.domain.review.change import ChangeStatus, PatchSet
from service.domain.runs.vote import Outcome
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.review.changes import PROJECT_FILE, Service, change_at

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

CHANGE = "refs/changes/07/7/1"
FILES = {"benchgate.yaml": PROJECT_FILE.encode(), "src/a": b"1", "src/b": b"1", "README": b"1"}


class History:
    """A branch whose first commit is ``root``."""

    def __init__(self, directory: Path) -> None:
        self.repository = Repository(directory / "repository")
        self.source = GitSource(directory / "mirrors", lambda _: str(self.repository.path))
        self.root = self.commit({})

    def commit(self, changed: dict[str, bytes], *parents: str, ref: str = "refs/heads/master") -> str:
        return self.repository.commit({**FILES, **changed}, *parents, ref=ref)

    def plan(self, revision: str, **change: Any) -> Service:  # noqa: ANN401 - any field of a change
        service = Service(source=self.source)  # type: ignore[arg-type]  # git instead of memory
        service.see(change_at(1, current=PatchSet(1, revision, CHANGE), **change))
        service.plan()
        return service

    def compared(self, revision: str, **change: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
        """Return what the sides have in src/a and src/b; empty if the job has nothing to build."""
        service = self.plan(revision, **change)
        (build,) = service.store.memory.builds
        spec = BuildSpec.from_mapping(build.spec)
        if build.outcome is Outcome.NOT_BUILT or spec.base is None:
            return ()
        commits = (spec.base.commit, spec.patch.commit)
        return tuple(
            "".join(self.source.read("kv", commit, path) or "" for path in ("src/a", "src/b"))
            for commit in commits
        )


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def test_a_merge_whose_first_parent_is_old_is_compared_with_the_head(history: History) -> None:
    head = history.commit({"src/a": b"2"}, history.root)
    merge = history.commit({"src/a": b"2", "src/b": b"3"}, history.root, head, ref=CHANGE)
    assert history.compared(merge) == ("21", "23")


def test_a_merge_of_a_rebased_branch_is_measured(history: History) -> None:
    feature = history.commit({"src/b": b"2"}, history.root, ref="refs/heads/feature")
    merge = history.commit({"src/b": b"2"}, history.root, feature, ref=CHANGE)
    assert history.compared(merge) == ("11", "12")


def test_a_merge_behind_the_head_is_merged_itself(history: History) -> None:
    feature = history.commit({"src/b": b"2"}, history.root, ref="refs/heads/feature")
    merge = history.commit({"src/b": b"2"}, history.root, feature, ref=CHANGE)
    history.commit({"src/a": b"2"}, history.root)
    assert history.compared(merge) == ("21", "22")


def test_a_parent_that_is_no_change_is_measured_with_the_patch_set(history: History) -> None:
    """Merged, the patch set brings it along, although it changes a document only."""
    below = history.commit({"src/b": b"2"}, history.root, ref="refs/heads/feature")
    patch = history.commit({"src/b": b"2", "README": b"2"}, below, ref=CHANGE)
    assert history.compared(patch) == ("11", "12")


def test_a_merge_commit_on_the_branch_is_compared_with_the_branch_before(history: History) -> None:
    feature = history.commit({"src/b": b"2"}, history.root, ref=CHANGE)
    merge = history.commit({"src/b": b"2"}, history.root, feature)
    change = {"status": ChangeStatus.MERGED, "merged_as": merge}
    assert history.compared(feature, **change) == ("11", "12")


def test_a_patch_set_that_was_merged_meanwhile_is_compared_with_its_parent(history: History) -> None:
    patch = history.commit({"src/b": b"2"}, history.root, ref=CHANGE)
    history.commit({"src/a": b"2", "src/b": b"2"}, patch)
    assert history.compared(patch) == ("11", "12")
