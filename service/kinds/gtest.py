"""Run a gtest build: run each program, and retry its failed tests."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_END, FailureKind, distinct
from service.domain.failures.output.patterns import failures_in
from service.domain.measuring.tests.cases import TestRun
from service.domain.measuring.tests.failed import failures_of
from service.domain.measuring.tests.gtest import read_gtest
from service.domain.runs.tested import Tested, Try, with_named
from service.domain.values.errors import BadResults
from service.kinds.comparing import compare_sides
from service.steps.measuring.run_tests import OUT, launch, run_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from service.domain.failures.failure import Failure
    from service.domain.project.tests import GTestConfiguration
    from service.domain.runs.machine_report import MachineReport
    from service.steps.building.session import BuildSession
    from service.steps.measuring.run_tests import Launched

_LINE: Final = f'exec "$@" "--gtest_output=json:{OUT}"'
_NOT_FOUND: Final = 127  # the shell's exit code if there is no such program
_IN_FILTER: Final = re.compile(r"[^*?:\-\s]+")  # other names would choose other tests
_MAX_FILTER: Final = 100_000  # characters; an argument may have 128 KiB
_NO_RESULTS: Final = "it ended before the results were written, or is no GoogleTest program"


def run(session: BuildSession[GTestConfiguration]) -> MachineReport:
    """Build the patch's side, run its GoogleTest programs, and report; compare durations if the job does."""

    def test(tree: Path) -> Sequence[Tested]:
        return [_tested(session, tree, program) for program in session.own.programs]

    return compare_sides(session, test) if session.spec.job.compares else run_tests(session, test)


def _tested(session: BuildSession[GTestConfiguration], tree: Path, program: str) -> Tested:
    own = session.own
    tries: list[Try] = []
    outputs: list[bytes] = []
    is_cut, chosen = False, own.filter
    while not tries or (len(tries) <= own.retries and _may_pass(tries[-1])):
        flags = [f"--gtest_filter={chosen}"] if chosen else []
        command = ("./" + program.removeprefix("./"), *flags, *own.args)
        launched = launch(session, tree, _LINE, command)
        tries.append(_try(launched))
        outputs.append(launched.output)
        is_cut |= launched.is_cut
        chosen = _failed_alone(tries[-1]) or own.filter
    sources = str(tree.resolve())
    lines = (line for output in outputs for line in output.splitlines())
    named, is_list_cut = distinct(failures_in(lines, sources))
    unfinished = tuple(_unfinished(tries[-1]))
    return Tested(
        program,
        with_named((*tries[:-1], _without(tries[-1], unfinished)), outputs, sources),
        tuple(each for each in named if not _is_end(each, unfinished)),
        is_cut=is_cut or is_list_cut,
        unfinished=unfinished,
        describe=partial(failures_of, sources=sources),
    )


def _try(launched: Launched) -> Try:
    """Read the results of a program, or of its output if it ended before it wrote them."""
    problem = _NO_RESULTS if launched.problem else ""
    if launched.problem and launched.end.exit_code == _NOT_FOUND:
        return Try(launched.end, problem="the build did not create the program")
    try:
        return Try(launched.end, read_gtest(launched.results, launched.output), problem)
    except BadResults as error:
        return Try(launched.end, problem=problem or str(error))


def _may_pass(tried: Try) -> bool:
    """Return whether another try may end otherwise: not at a limit, and not without the program."""
    if tried.end.stopped_by or tried.run is None:
        return False
    return not tried.end.is_success or any(case.has_failed for case in tried.run.cases)


def _failed_alone(tried: Try) -> str:
    """Return the filter for the failed tests; empty if all must run again, such as after a crash."""
    names = [case.name for case in tried.run.cases if case.has_failed] if tried.run else []
    chosen = ":".join(names)
    is_plain = all(_IN_FILTER.fullmatch(name) for name in names) and len(chosen) <= _MAX_FILTER
    return chosen if is_plain and not tried.problem else ""


def _unfinished(tried: Try) -> Iterator[str]:
    """Yield the test during which a limit ended the program."""
    if tried.run and tried.end.stopped_by:
        yield from (case.name for case in tried.run.cases if case.message == NO_END)


def _without(tried: Try, names: Iterable[str]) -> Try:
    """Leave out tests that a limit ended: it is the failure."""
    if tried.run is None:
        return tried
    cases = tuple(case for case in tried.run.cases if case.name not in names)
    return replace(tried, run=TestRun(cases, tried.run.is_cut))


def _is_end(failure: Failure, unfinished: Iterable[str]) -> bool:
    return failure.kind is FailureKind.CRASH and failure.subject in unfinished
