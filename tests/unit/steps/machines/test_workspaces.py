"""Builds of a project of several repositories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec
from service.domain.sources.workspace import OtherProject, Workspace
from tests.unit.steps.machines.test_execute import Machine

if TYPE_CHECKING:
    from pathlib import Path

NET = "d" * 40
WORKSPACE = Workspace("https://h/m", "c" * 40, "", (OtherProject("net", "https://h/net", NET),))


def test_both_sides_are_built_with_the_same_commits_and_the_log_names_them(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    spec = BuildSpec.from_mapping(machine.claimed.spec)
    machine.claimed.spec = replace(spec, workspace=WORKSPACE).to_mapping()
    report = machine.work()

    assert report is not None
    assert {revision for revision, _ in machine.source.laid_out} == {"parent", "patch1"}
    assert {workspace for _, workspace in machine.source.laid_out} == {WORKSPACE}
    assert machine.claimed.log.startswith(
        b"== manifest https://h/m at %b; the project is in .\n== net: https://h/net at %b\n"
        % (b"c" * 40, NET.encode())
    )


def test_programs_built_with_other_commits_are_not_used(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    spec = BuildSpec.from_mapping(machine.claimed.spec)
    for commit in (NET, "e" * 40):
        others = (replace(WORKSPACE.others[0], commit=commit),)
        machine.claimed.spec = replace(spec, workspace=replace(WORKSPACE, others=others)).to_mapping()
        machine.work()
    assert machine.sandbox.commands.count("make") == 4
