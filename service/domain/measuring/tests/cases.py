"""Collect the results of test cases in one run of the tests, and over several tries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.values.errors import BadResults
from service.domain.values.text import brief, clean, plain_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

MOST_CASES: Final = 100_000  # more than any suite has; the rest is not read
MAX_BYTES: Final = 64 << 20  # 640 bytes per case
MOST_OTHERS: Final = 200  # reasons of a case after its first
_MAX_NAME: Final = 1024  # characters; a longer name would not fit an index
_MAX_MESSAGE: Final = 4000  # characters; the log has the rest
_LONGEST: Final = 1e7  # seconds, about four months


class CaseStatus(StrEnum):
    """Result of a test case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # the test itself chose not to run
    NOT_RUN = "not run"  # it could not run: its program is missing, or a fixture failed
    DISABLED = "disabled"


# The first of them counts if two cases have the same name.
_WORST_FIRST: Final = (
    CaseStatus.FAILED,
    CaseStatus.NOT_RUN,
    CaseStatus.PASSED,
    CaseStatus.SKIPPED,
    CaseStatus.DISABLED,
)


class OtherReason(NamedTuple):
    """Further reason of a failure, like the message and place of its case."""

    message: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class TestCase:
    """Result of one test.

    Args:
        name: one line, unique in a run.
        seconds: its duration; 0 if unknown.
        message: the reason of a failure or skip, in lines; empty if the program gave none.
        place: file and line of the failure, ``t.cpp:4``; empty if unknown.
        others: further reasons of a failure, such as assertions; they are not stored.
        is_inverted: it passes if its program fails, such as by CTest's WILL_FAIL.
    """

    __test__ = False  # pytest takes every class of this name for its own

    name: str
    status: CaseStatus
    seconds: float
    message: str = ""
    place: str = ""
    others: tuple[OtherReason, ...] = ()
    is_inverted: bool = False

    @property
    def has_failed(self) -> bool:
        """Return whether the test counts against the change: it failed, or could not run."""
        return self.status in {CaseStatus.FAILED, CaseStatus.NOT_RUN}


@dataclass(frozen=True, slots=True)
class TestRun:
    """Cases of one run in the order of its file.

    ``is_cut``: cases or reasons beyond the limit were not read, so the absence of failures proves nothing.
    ``lists_inverted``: CTest told which cases are inverted.
    """

    __test__ = False

    cases: tuple[TestCase, ...]
    is_cut: bool = False
    lists_inverted: bool = False


def case_of(
    name: str,
    status: CaseStatus,
    seconds: float,
    message: str = "",
    place: str = "",
    others: Iterable[OtherReason] = (),
) -> TestCase:
    """Make a case of untrusted texts and an untrusted duration.

    Raises:
        BadResults: the name is empty, or too long: cut names could collide.
    """
    known = clean(name).strip()
    if not known:
        raise BadResults("a test has no name")
    if len(known) > _MAX_NAME:
        raise BadResults(
            f"the name of a test has {len(known)} characters; at most {_MAX_NAME} are allowed", brief(known)
        )
    is_plausible = 0 <= seconds <= _LONGEST  # false for NaN
    first, *more = (
        OtherReason(plain_lines(each.message[-_MAX_MESSAGE:]).strip(), clean(each.place)[:_MAX_NAME])
        for each in (OtherReason(message, place), *islice(others, MOST_OTHERS))
    )
    return TestCase(known, status, seconds if is_plausible else 0.0, first.message, first.place, tuple(more))


class Cases:
    """Collect the cases of a run; among several of one name, the worst result counts.

    It gets the reasons of the others that failed. Failed cases are kept even beyond the limit.
    """

    __slots__ = ("_is_cut", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, TestCase] = {}
        self._is_cut = False

    def add(self, case: TestCase) -> None:
        """Add a case."""
        self._is_cut |= len(case.others) == MOST_OTHERS
        before = self._kept.get(case.name)
        if before is not None and before.has_failed and case.has_failed:
            case = _joined(before, case)
            self._is_cut |= len(case.others) == MOST_OTHERS
        if before is None and len(self._kept) >= MOST_CASES:
            self._is_cut = True
            if not case.has_failed or len(self._kept) >= 2 * MOST_CASES:
                return
        if before is None or _rank(case) < _rank(before) or case.has_failed:
            self._kept[case.name] = case

    def run(self) -> TestRun:
        """Return the cases so far."""
        return TestRun(tuple(self._kept.values()), self._is_cut)


def with_reason(case: TestCase, reason: str) -> TestCase:
    """Add a reason to a case that has none."""
    return case if case.message else replace(case, message=plain_lines(reason[:_MAX_MESSAGE]).strip())


def with_inverted(run: TestRun, names: Collection[str] | None) -> TestRun:
    """Mark the tests that pass if their programs fail; None: nothing tells which."""
    if names is None:
        return run
    cases = tuple(replace(each, is_inverted=each.name in names) for each in run.cases) if names else run.cases
    return replace(run, cases=cases, lists_inverted=True)


def combined(tries: Sequence[TestRun]) -> tuple[TestRun, tuple[str, ...]]:
    """Combine a run with later tries of its failed tests, and name the tests that passed in one.

    A failed test that is missing or skipped in later tries stays failed.
    """
    final: dict[str, TestCase] = {}
    retried: dict[str, None] = {}
    for run in tries:
        for case in run.cases:
            before = final.get(case.name)
            if before is None:
                final[case.name] = case
            elif before.has_failed and case.status is CaseStatus.PASSED:
                final[case.name] = case
                retried[case.name] = None
    whole = TestRun(
        tuple(final.values()),
        is_cut=any(run.is_cut for run in tries),
        lists_inverted=any(run.lists_inverted for run in tries),
    )
    return whole, tuple(retried)


def _joined(before: TestCase, case: TestCase) -> TestCase:
    """Join two failed cases of one name, such as those of two platforms: either reason may be new."""
    worse, other = (case, before) if _rank(case) < _rank(before) else (before, case)
    first = OtherReason(worse.message, worse.place)
    others = dict.fromkeys((*worse.others, OtherReason(other.message, other.place), *other.others))
    return replace(worse, others=tuple(each for each in others if each != first)[:MOST_OTHERS])


def _rank(case: TestCase) -> int:
    return _WORST_FIRST.index(case.status)
