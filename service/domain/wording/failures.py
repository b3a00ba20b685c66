"""Explain builds by their failures, and note tests that passed on a retry."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_REASON, FailureKind
from service.domain.failures.known import MAX_BUG
from service.domain.failures.output.ctest_lines import OPENING as CTEST
from service.domain.failures.output.ctest_lines import status_in
from service.domain.failures.output.line_patterns import OPENINGS
from service.domain.measuring.formats.timed import SHORTEST
from service.domain.values.text import counted, listed, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.failures.evidence import ParentBuild
    from service.domain.failures.failure import Failure
    from service.domain.failures.known import KnownFailure
    from service.domain.measuring.tests.lost import LostTests

COMPILE_ERROR: Final = OPENINGS[FailureKind.COMPILE]
_MOST: Final = 5  # lines of failures; readers fix the first ones first, and the page has all
_MOST_NAMES: Final = 5
_MOST_OF_NAME: Final = 80  # characters
_MOST_NEW, _MOST_KNOWN, _MOST_BUGS = 3, 2, 2
_MOST_OF_REASON: Final = 400
_SOURCES: Final = re.compile(r"(?<![\w./-])/src/(?=\w)")  # in the sandbox
_PRINTED: Final = re.compile(r"/(?!src/)")


def failure_causes(failures: Sequence[Failure], *, is_cut: bool = False) -> tuple[str, ...]:
    """Write the causes of a failed build: the line of each failure, then its place and headline.

    A test of CTest has its reason instead of CTest's line, and all jobs name a compile error alike. Only the
    first assertion of a test is shown, with the number of the others.

    Args:
        failures: in the order to fix them.
        is_cut: there are more.
    """
    by_line: dict[str, list[Failure]] = {}
    for failure in failures:
        by_line.setdefault(_line_of(failure), []).append(failure)
    shown = list(by_line.items())[:_MOST]
    causes = [_SOURCES.sub("", text) for line, alike in shown for text in _texts(line, alike) if text]
    if (more := len(by_line) - len(shown)) or is_cut:
        causes.append(f"… and {'at least ' if is_cut else ''}{max(more, 1)} more")
    return tuple(causes)


def passed_on_retry(names: Sequence[str]) -> str:
    """Note the tests that failed and then passed on the same revision."""
    return f"failed, then passed on a retry: {listed(names, _MOST_NAMES)}"


def tests_too_short(count: int) -> str:
    """Note how many tests are too short to be compared."""
    least = f"less than {SHORTEST * 1000:.0f} ms"
    if count == 1:
        return f"1 test is not compared with the parent: it takes {least}"
    return f"{count} tests are not compared with the parent: each takes {least}"


def losses_of_tests(lost: LostTests) -> tuple[str, ...]:
    """Name the tests that ran for the parent, and do not run any more."""
    renamed = f"; {counted(lost.new, 'new test')}" if lost.new else ""
    gone = listed(lost.gone, _MOST_NAMES)
    fewer = f"{counted(len(lost.gone), 'test')} fewer than the parent: {gone}{renamed}"
    stopped = (
        f"{counted(len(names), 'test')} now {status}: {listed(names, _MOST_NAMES)}"
        for status, names in lost.stopped.items()
    )
    passing = "passes if it fails" if len(lost.inverted) == 1 else "pass if they fail"
    inverted = f"{counted(len(lost.inverted), 'test')} now {passing}: {listed(lost.inverted, _MOST_NAMES)}"
    return (*((fewer,) if lost.gone else ()), *stopped, *((inverted,) if lost.inverted else ()))


def partly_known(
    found: Sequence[tuple[Failure, KnownFailure | None]],
    expired: Mapping[int, KnownFailure] = MappingProxyType({}),
    alike: Collection[Failure] = (),
    *,
    is_cut: bool,
) -> str:
    """Tell the new failures of a build from its known ones and, by place, from those known until lately.

    Those that look ``alike`` have lines of their own.
    """
    by_state: dict[str, dict[str, None]] = {"new": {}}
    for place, (failure, known) in enumerate(found):
        if known is None and failure in alike:
            continue
        name = plain(failure.subject or failure.headline, _MOST_OF_NAME)
        by_state.setdefault(_state(known, expired.get(place)), {})[name] = None
    new = by_state.pop("new")
    first = [f"new: {listed([*new], _MOST_NEW)}"] if new else ["some failures may be new"] if is_cut else []
    parts = [f"{state}: {listed([*names], _MOST_KNOWN)}" for state, names in by_state.items()]
    more = len(parts) - _MOST_BUGS
    return "; ".join([*first, *parts[:_MOST_BUGS], *([f"and {more} more bugs"] if more > 0 else [])])


def _state(known: KnownFailure | None, expired: KnownFailure | None) -> str:
    if known is not None:
        return f"known failure {plain(known.bug, MAX_BUG)}"
    if expired is not None:
        return f"was known as {plain(expired.bug, MAX_BUG)} until {expired.expires_at:%Y-%m-%d}"
    return "new"


def also_on_parent(found: Sequence[ParentBuild]) -> tuple[str, ...]:
    """Write a line for each build of the parent that has some of the same failures."""
    return tuple(
        f"{listed(each.names, _MOST_NAMES)} also fail{'s' if len(each.names) == 1 else ''} on the parent, "
        f"build {each.build}"
        for each in found[:_MOST]
    )


def _line_of(failure: Failure) -> str:
    """Return the line of a failure; of a compile error, one that is the same in all jobs."""
    printed = failure.line.removeprefix(COMPILE_ERROR)
    # A file outside the sources keeps its folder, which the place lacks.
    is_own = "/" in failure.place or not _PRINTED.match(printed)
    if failure.kind is FailureKind.COMPILE and failure.place and is_own:
        return f"{COMPILE_ERROR}{failure.place}: {failure.headline}"
    return failure.line or failure.headline


def _texts(line: str, alike: Sequence[Failure]) -> Sequence[str]:
    if line.startswith(CTEST):
        return [_of_ctest(line, alike)]
    return [line, _details(alike)]


def _of_ctest(line: str, alike: Sequence[Failure]) -> str:
    """Write why a test of CTest failed: ``calc.sum: tests/sum.cc:7: Expected …; and 1 more assertion``."""
    first, status = alike[0], status_in(line.encode())
    name = status.name if status else first.subject
    if not status and line.startswith(f"{CTEST}{name}: "):
        return line.removeprefix(CTEST)
    suite, _, case = first.subject.rpartition(".")
    if suite and name.endswith(suite):
        name = f"{name}.{case}"
    elif not name.endswith(first.subject):
        name = f"{name}: {first.subject}"
    words = ((each.place, each.headline.removeprefix(f"{NO_REASON}: ")) for each in alike)
    reasons = dict.fromkeys(": ".join(filter(None, each)) for each in words)
    reason, more = shortened(next(iter(reasons)), _MOST_OF_REASON), len(reasons) - 1
    if reason == NO_REASON:
        reason = "failed, and its output does not say why"
    are_of_one = len({(each.kind, each.subject) for each in alike}) == 1
    noun = "more assertion" if are_of_one and first.kind is FailureKind.TEST else "more failure"
    return f"{name}: {reason}" + (f"; and {counted(more, noun)}" if more else "")


def _details(alike: Sequence[Failure]) -> str:
    """Write the first detail of failures that share a line, and count the test's other assertions."""
    detailed = [(failure, text) for failure in alike if (text := _detail(failure))]
    if not detailed:
        return ""
    first, text = detailed[0]
    others = {detail for each, detail in detailed if (each.kind, each.subject) == (first.kind, first.subject)}
    more = len(others) - 1 if first.kind is FailureKind.TEST else 0
    return f"{text}; and {more} more assertion{'' if more == 1 else 's'}" if more else text


def _detail(failure: Failure) -> str:
    """Write the place and headline of a failure, as far as its line lacks them."""
    if failure.kind in {FailureKind.TEST, FailureKind.CRASH} and failure.place:
        return f"{failure.place}: {failure.headline}"
    is_missing = failure.kind is FailureKind.SANITIZER and failure.headline not in failure.line
    return failure.headline if is_missing else ""
