"""Run a ctest build: run the tests with CTest, and retry those that failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import distinct
from service.domain.failures.output.ctest_lines import status_in
from service.domain.failures.output.patterns import failures_in
from service.domain.measuring.tests.cases import with_inverted
from service.domain.measuring.tests.ctest_listing import inverted_in
from service.domain.measuring.tests.junit import Dialect, read_junit
from service.domain.project.tests import CTEST
from service.domain.runs.tested import Tested, Try, with_named
from service.domain.values.errors import BadResults, Unfit
from service.kinds.comparing import compare_sides
from service.steps.measuring.run_tests import LISTING, OUT, launch, run_tests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from service.domain.project.tests import CTestConfiguration
    from service.domain.runs.machine_report import MachineReport
    from service.steps.building.session import BuildSession
    from service.steps.measuring.run_tests import Launched

_LINE: Final = f'exec {CTEST} --output-on-failure --no-tests=error --output-junit "{OUT}" "$@"'
_LIST: Final = f'{CTEST} --show-only=json-v1 "$@" > "{OUT}{LISTING}" 2>/dev/null; '
_NOT_FOUND: Final = 127  # the shell's exit code if there is no such program
_START: Final = re.compile(rb" +Start +(\d{1,7}): ([^\n]{1,1000})")
_UNSANDBOXED: Final = "none"  # there, the paths of tests name a directory that is gone
_NEEDED: Final = "CTest writes them from version 3.21 on"


def run(session: BuildSession[CTestConfiguration]) -> MachineReport:
    """Build the patch's side, run its tests by CTest, and report; compare durations if the job does."""
    if not session.spec.job.compares:
        return run_tests(session, lambda tree: [_tested(session, tree)])
    if session.host.sandbox.in_force().get("sandbox") == _UNSANDBOXED:
        raise Unfit("without a sandbox, the durations of CTest's tests cannot be compared: leave it on")
    return compare_sides(session, lambda tree: [_tested(session, tree)])


def _tested(session: BuildSession[CTestConfiguration], tree: Path) -> Tested:
    own = session.own
    chosen = ("--tests-regex", own.filter) if own.filter else ()
    arguments = ("--test-dir", own.directory, *chosen, *own.args)
    launched = [launch(session, tree, _LIST + _LINE, arguments)]
    inverted = inverted_in(launched[0].listing)
    tries = [_try(launched[0], inverted)]
    while len(tries) <= own.retries and _is_worth_another(tries[-1]):
        launched.append(launch(session, tree, _LINE, (*arguments, "--rerun-failed")))
        tries.append(_try(launched[-1], inverted))
    sources = str(tree.resolve())
    lines = (line for each in launched for line in each.output.splitlines())
    named, is_cut = distinct(failures_in(lines, sources))
    last = launched[-1]
    return Tested(
        CTEST,
        with_named(tries, (each.output for each in launched), sources),
        named,
        is_cut=is_cut or any(each.is_cut for each in launched),
        unfinished=_unfinished(last.output.splitlines()) if last.end.stopped_by else (),
    )


def _try(launched: Launched, inverted: Collection[str] | None) -> Try:
    """Read the results of CTest; raises Unfit if the machine has no CTest."""
    if launched.end.exit_code == _NOT_FOUND and launched.problem:
        raise Unfit(f"there is no {CTEST}; install CMake 3.21 or later")
    if launched.problem:
        return Try(launched.end, problem=f"{launched.problem}; {_NEEDED}")
    try:
        return Try(launched.end, with_inverted(read_junit(launched.results, Dialect.CTEST), inverted))
    except BadResults as error:
        return Try(launched.end, problem=str(error))


def _is_worth_another(tried: Try) -> bool:
    """Return whether single tests failed; a run without results or at a limit would only end alike."""
    return (
        not tried.end.stopped_by
        and tried.run is not None
        and any(case.has_failed for case in tried.run.cases)
    )


def _unfinished(lines: Iterable[bytes]) -> tuple[str, ...]:
    """Name the tests that CTest began and did not end."""
    running: dict[int, str] = {}
    for line in lines:
        if start := _START.match(line):
            running[int(start[1])] = start[2].decode(errors="replace").strip()
        elif ended := status_in(line):
            running.pop(ended.number, None)
    return tuple(running.values())
