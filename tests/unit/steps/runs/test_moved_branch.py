"""A patch set on a branch that moved on, from its plan to its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.building.spec import BuildSpec
from service.domain.runs.vote import Outcome
from tests.support.building.build_host import MemorySandbox
from tests.support.building.memory_source import CODE, code
from tests.support.review.changes import project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.domain.building.sandbox_command import Command, Completed
    from service.ports.building import ByteSink


def farm_on(tmp_path: Path, head: Mapping[str, str], patch: Mapping[str, str]) -> Farm:
    """Merge ``head``, and upload ``patch`` on the commit before; let the machine measure it."""
    farm = Farm(tmp_path)
    source = farm.service.source = project()
    before = source.commits["parent"].files
    source.commit("head", "parent", {**before, **head}, "refs/heads/master")
    source.commit("patch1", "parent", {**before, **patch}, "refs/changes/07/7/1")
    farm.review()
    farm.execute()
    farm.analyse()
    return farm


def test_it_is_compared_with_the_head_as_it_would_be_merged(tmp_path: Path) -> None:
    slower = {CODE: code(BM_a=1.1e-6, BM_b=2e-6)}
    farm = farm_on(tmp_path, {"src/x": "2"}, slower)
    (build,) = farm.service.store.memory.builds
    spec = BuildSpec.from_mapping(build.spec)

    assert spec.base is not None
    assert (spec.base.commit, spec.patch.pushed) == ("head", "patch1")
    assert farm.service.source.commits[spec.patch.commit].files["src/x"] == "2"
    assert build.outcome is Outcome.SLOWER
    assert build.causes[-1] == "compared as it would be merged into master at head"
    assert farm.service.store.memory.runs[0].parent == "parent"


@pytest.mark.parametrize(
    ("factor", "outcome"), [(1.0, Outcome.CONFLICT), (0.9, Outcome.CONFLICT), (1.1, Outcome.SLOWER)]
)
def test_a_conflict_withholds_a_plus_and_never_hides_a_minus(
    tmp_path: Path, factor: float, outcome: Outcome
) -> None:
    patch = {"src/x": "3", CODE: code(BM_a=factor * 1e-6, BM_b=2e-6)}
    farm = farm_on(tmp_path, {"src/x": "2"}, patch)
    (build,) = farm.service.store.memory.builds

    assert build.outcome is outcome
    told = "it conflicts with master at head, so it was compared with its own parent: rebase it to get a vote"
    assert (build.causes[0] == told) is (outcome is Outcome.CONFLICT)


class Complaining(MemorySandbox):
    """Names two files if the code does not compile."""

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        done = super().run(command, log=log, watch=watch)
        if not done.is_success and log is not None:
            log.write(b"bench.json:1:1: error: no\nsrc/x.cc:1:1: error: no\n")
        return done


def test_errors_are_not_placed_on_lines_of_files_that_the_branch_changed(tmp_path: Path) -> None:
    farm = Farm(tmp_path, sandbox=Complaining())
    source = farm.service.source = project()
    before = source.commits["parent"].files
    source.commit("head", "parent", {**before, "src/x.cc": "2"}, "refs/heads/master")
    broken = {**before, CODE: '{"does not compile": 1}'}
    source.commit("patch1", "parent", broken, "refs/changes/07/7/1")
    farm.review()
    report = farm.execute()

    assert report is not None
    assert [each.path for each in report.findings] == ["bench.json"]


def test_a_machine_with_another_git_gives_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    farm = Farm(tmp_path)
    source = farm.service.source = project()
    before = source.commits["parent"].files
    source.commit("head", "parent", {**before, "src/x": "2"}, "refs/heads/master")
    farm.review()
    monkeypatch.setattr(source, "merge", lambda project, merge: "another commit")
    report = farm.execute()

    assert report is not None
    assert report.outcome is Outcome.INFRASTRUCTURE
    assert "does not merge as git on the service does" in report.causes[0]
    assert "refs/heads/master" in source.fetched
