"""Find the tests that a patch set stops: they ran for its parent, and no longer run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.measuring.tests.cases import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.tests.cases import TestCase
    from service.domain.measuring.tests.record import TestSuite

_RUN: Final = frozenset({CaseStatus.PASSED, CaseStatus.FAILED})
_GOOGLE_DISABLED: Final = "DISABLED_"  # GoogleTest's mark in the name of a suite or test


@dataclass(frozen=True, slots=True)
class LostTests:
    """Names of tests that ran for the parent: those ``gone``, and the others by their status now.

    ``inverted`` now pass if their programs fail, as far as the parent's record tells. ``new`` counts the
    tests that the parent did not have: a gone one may have been renamed.
    """

    gone: tuple[str, ...] = ()
    stopped: Mapping[CaseStatus, tuple[str, ...]] = field(default_factory=dict)
    inverted: tuple[str, ...] = ()
    new: int = 0


def lost_tests(parent: Sequence[TestSuite], patch: Sequence[TestSuite]) -> LostTests:
    """Compare the tests of a patch set with those of its parent.

    Programs whose results were cut for the patch set are left out: their tests may have run.
    """
    now = {suite.program: _cases(suite) for suite in patch}
    unknown = {suite.program for suite in patch if suite.run.is_cut}
    gone: list[str] = []
    inverted: list[str] = []
    stopped: dict[CaseStatus, list[str]] = {}
    new = 0
    for suite in parent:
        if suite.program in unknown:
            continue
        before, after = _cases(suite), now.get(suite.program, {})
        new += len(after.keys() - before.keys()) if not suite.run.is_cut else 0
        for name, case in before.items():
            if case.status not in _RUN:
                continue
            if name not in after:
                gone.append(name)
            elif (became := after[name].status) in {CaseStatus.SKIPPED, CaseStatus.DISABLED}:
                stopped.setdefault(became, []).append(name)
            elif suite.run.lists_inverted and after[name].is_inverted and not case.is_inverted:
                inverted.append(name)
    by_status = {status: tuple(names) for status, names in stopped.items()}
    return LostTests(tuple(gone), by_status, tuple(inverted), new)


def _cases(suite: TestSuite) -> dict[str, TestCase]:
    """Key the cases by their names without the mark; a disabled one gives way to a namesake."""
    marked = {case.name.replace(_GOOGLE_DISABLED, ""): case for case in suite.run.cases}
    return marked | {case.name: case for case in suite.run.cases if _GOOGLE_DISABLED not in case.name}
