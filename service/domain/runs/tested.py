"""Decide the outcome and failures of a build that ran tests, with retries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import (
    FailureKind,
    beside_limit,
    distinct,
    failure_at_limit,
    failure_of,
)
from service.domain.failures.output.ctest_lines import status_in
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of
from service.domain.measuring.tests.cases import CaseStatus, TestRun, combined
from service.domain.measuring.tests.failed import failures_of_ctest
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from service.domain.building.sandbox_command import Completed
    from service.domain.failures.failure import Failure

_NOTHING: Final = "no test ran"
_LAST_CODE: Final = 128  # exit codes above it stand for signals


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a program that runs tests.

    ``run`` is None if nothing is known of its tests. ``problem`` is why the results are missing or come only
    from the output. ``named`` are the failures that its output names, if another try followed.
    """

    end: Completed
    run: TestRun | None = None
    problem: str = ""
    named: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Tested:
    """A program that runs tests, with all its tries.

    Args:
        program: as in the project file.
        tries: at least one; a retry runs the tests that had failed, or all.
        named: the failures that the output of all tries names.
        is_cut: the output was not read to its end.
        unfinished: the tests that were running when a limit ended the last try.
        describe: makes failures of the failed tests that the output does not name.
    """

    __test__ = False  # pytest would collect a class of this name

    program: str
    tries: tuple[Try, ...]
    named: tuple[Failure, ...] = ()
    is_cut: bool = False
    unfinished: tuple[str, ...] = ()
    describe: Callable[[TestRun], Iterable[Failure]] = failures_of_ctest

    @property
    def last(self) -> Completed:
        """End of the last try."""
        return self.tries[-1].end

    @property
    def run(self) -> TestRun:
        """All tries as one run."""
        return combined([each.run for each in self.tries if each.run])[0]

    @property
    def retried(self) -> tuple[str, ...]:
        """Tests that failed and then passed."""
        return combined([each.run for each in self.tries if each.run])[1]

    @property
    def has_passed(self) -> bool:
        """Return whether the last try succeeded and left results, and every failed test passed later."""
        last = self.tries[-1]
        is_complete = last.end.is_success and last.run is not None and not last.problem
        return is_complete and not any(case.has_failed for case in self.run.cases)

    @property
    def has_unrun(self) -> bool:
        """Return whether some tests may never have run: no try ran to its end and left results."""
        return not any(each.run and not each.problem and not each.end.stopped_by for each in self.tries)

    def failures(self) -> Iterator[Failure]:
        """Yield the failures that keep it from passing, perhaps with duplicates."""
        if self.has_passed:
            return
        run, retried = self.run, self.retried
        if limit := self.last.stopped_by:
            during = f" during {', '.join(self.unfinished)}" if self.unfinished else ""
            # Unless it was the only running test, the culprit is unknown, and may differ next time.
            subject = self.unfinished[0] if len(self.unfinished) == 1 else ""
            yield failure_at_limit(limit, subject, f"{self.program} was {self.last.end}{during}")
        of_all = beside_limit(self.named) if limit else self.named
        named = [each for each in of_all if each.subject not in retried]
        yield from named
        known = {name for each in named for name in _tests_of(each)}
        failed = [case for case in run.cases if case.has_failed]
        yield from self.describe(TestRun(tuple(case for case in failed if case.name not in known)))
        has_crashed_at_its_end = not self.tries[-1].problem and self.last.exit_code > _LAST_CODE
        if not limit and (not failed or has_crashed_at_its_end):
            yield self._end()

    def cleared(self) -> Iterator[Failure]:
        """Yield the failures of earlier tries that a later try cleared, perhaps with duplicates."""
        is_cleared, retried = self.has_passed, set(self.retried)
        for each in self.tries[:-1]:
            alone = replace(self, tries=(each,), named=each.named)
            yield from (
                failure
                for failure in alone.failures()
                if is_cleared or not retried.isdisjoint(_tests_of(failure))
            )

    def _end(self) -> Failure:
        """Describe a program that failed without a failed test, or left no results."""
        last = self.tries[-1]
        headline, line = last.end.end, f"{self.program} ended with {last.end.end}"
        if last.problem:
            line = f"{line} and left no results: {last.problem}"
        elif last.run is not None and not last.run.cases:
            headline, line = _NOTHING, f"{self.program}: {_NOTHING}"
        return failure_of(FailureKind.COMMAND, self.program, headline, line)


def outcome_of_tests(tested: Sequence[Tested]) -> Outcome:
    """Decide the outcome of a build that ran tests.

    A patch that passes must have run a test: one that lists none, or skips all, fails.
    """
    return Outcome.PASSED if all(each.has_passed for each in tested) and _has_run(tested) else Outcome.FAILED


def failures_of_tests(tested: Sequence[Tested]) -> tuple[tuple[Failure, ...], bool]:
    """List the failures of a build, and tell whether some may be missing."""
    found, is_cut = distinct(failure for each in tested for failure in each.failures())
    if not found and not _has_run(tested):
        count = sum(len(each.run.cases) for each in tested)
        line = f"{_NOTHING}: all {count} tests are skipped or disabled" if count else _NOTHING
        found = (failure_of(FailureKind.COMMAND, tested[0].program, _NOTHING, line),)
    return found, is_cut or any(each.is_cut or each.run.is_cut for each in tested if not each.has_passed)


def cleared_in_tests(tested: Sequence[Tested]) -> tuple[Failure, ...]:
    """List the failures that retries cleared, except those with the signature of a failure that counts."""
    counting = {signature_of(failure) for each in tested for failure in each.failures()}
    found, _ = distinct(failure for each in tested for failure in each.cleared())
    return tuple(failure for failure in found if signature_of(failure) not in counting)


def with_named(tries: Sequence[Try], outputs: Iterable[bytes], sources: str) -> tuple[Try, ...]:
    """Add to each try before the last the failures that its output names.

    Args:
        tries: at least one.
        outputs: those of the tries, in order.
        sources: the directory of the sources on the host.
    """
    named = (distinct(failures_in(output.splitlines(), sources))[0] for output in outputs)
    return (*(replace(each, named=found) for each, found in zip(tries[:-1], named, strict=False)), tries[-1])


def has_unrun_tests(tested: Sequence[Tested]) -> bool:
    """Return whether a failed program may have tests that never ran, so that these may fail as well."""
    return any(each.has_unrun for each in tested if not each.has_passed)


def _has_run(tested: Sequence[Tested]) -> bool:
    return any(case.status is CaseStatus.PASSED for each in tested for case in each.run.cases)


def _tests_of(failure: Failure) -> tuple[str, ...]:
    """Name the tests that a failure explains: its subject, and the CTest test that it belongs to."""
    line = status_in(failure.line.encode())
    return (failure.subject, line.name) if line else (failure.subject,)
