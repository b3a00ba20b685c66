"""Relinks excuse a slow-down only if no build command of the patch could choose what they consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.support.building.build_host import MemoryClaimed
from tests.unit.steps.measuring.relinks.test_confirm_layout import BASE, Machine, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.steps.measuring.relinks.test_confirm_layout import Code


def test_a_compile_command_that_makes_other_code_for_relinks_excuses_nothing(tmp_path: Path) -> None:
    """The linker alone can link again, so the command does not run."""
    machine = Machine(tmp_path, patch={"built again": {"benchmarks": BASE}})
    machine.work()

    assert machine.judge().judgement.outcome is Outcome.SLOWER
    assert verdict_of(machine.judge(), "BM_slow")[0] is Verdict.SLOWER


@pytest.mark.parametrize(
    "patch",
    [
        {"does not link alone": 1, "linked again": {"benchmarks": BASE}},
        {"does not link alone": 1, "built again": {"benchmarks": BASE}},
        {"compiled for relinks": {"benchmarks": BASE}, "built again": {"benchmarks": BASE}},
    ],
)
def test_relinks_by_the_compile_command_excuse_nothing(tmp_path: Path, patch: Code) -> None:
    machine = Machine(tmp_path, patch=patch)
    machine.work()
    verdict, (reason,) = verdict_of(machine.judge(), "BM_slow")

    assert machine.judge().judgement.outcome is Outcome.UNDECIDED_WITHHELD
    assert (verdict, reason.kind, reason.facts[0]) == (Verdict.UNDECIDED, ReasonKind.LAYOUT_BUILT_AGAIN, 0)


def test_relinks_by_the_compile_command_confirm(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"does not link alone": 1})
    machine.work()

    assert machine.judge().judgement.outcome is Outcome.SLOWER


def test_relinks_by_the_compile_command_are_known_again(tmp_path: Path) -> None:
    """Another worker finds the relinks that the first one kept."""
    machine = Machine(tmp_path, patch={"does not link alone": 1, "linked again": {"benchmarks": BASE}})
    machine.work()
    machine.claimed = MemoryClaimed(spec=machine.claimed.spec, binaries=machine.claimed.binaries)
    machine.sandbox.commands.clear()
    machine.work()

    assert machine.sandbox.commands == []
    assert verdict_of(machine.judge(), "BM_slow")[1][0].kind is ReasonKind.LAYOUT_BUILT_AGAIN


def test_only_relinks_of_the_patch_must_be_of_the_same_code(tmp_path: Path) -> None:
    machine = Machine(tmp_path, base={"does not link alone": 1}, patch={"linked again": {"benchmarks": BASE}})
    machine.work()

    assert machine.judge().judgement.outcome is Outcome.UNDECIDED
