"""Run a build that tests: build the patch's side, try its tests, and report their end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.measuring.tests.cases import MAX_BYTES
from service.domain.measuring.tests.record import RECORD_BYTES, TestSuite, write_tests
from service.domain.runs.machine_report import PATCH_BUILT, MachineReport
from service.domain.runs.tested import cleared_in_tests, failures_of_tests, has_unrun_tests, outcome_of_tests
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadResults, CommandFailed
from service.domain.wording.failures import failure_causes, passed_on_retry
from service.steps.building.build_sources import NotBuilt, built_sources, run_in_sources
from service.steps.building.report_not_built import report_not_built

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.domain.project.tests import TestsConfiguration
    from service.domain.runs.tested import Tested
    from service.steps.building.session import BuildSession

RESULTS: Final = "results"
OUT: Final = f"${{BENCHGATE_OUT:-/out}}/{RESULTS}"
"""The file for the results of a program, in double quotes of a shell."""
LISTING: Final = ".tests"
"""The end of the name of the file that describes the tests, after that of the results."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch of a test program: its end, its results if it left any, and its output.

    ``listing`` describes the tests if the line writes it. ``problem`` says why there are no results.
    ``is_cut``: the middle of the output is missing.
    """

    end: Completed
    results: bytes
    problem: str
    output: bytes
    is_cut: bool
    listing: bytes = b""


def run_tests(session: BuildSession, test: Callable[[Path], Sequence[Tested]]) -> MachineReport:
    """Build the patch's side, test it, and report.

    Args:
        session: the build.
        test: tries the tests in a directory with the built sources.
    """
    return run_in_built_sources(session, lambda tree: report_of(session, test(tree)))


def run_in_built_sources(session: BuildSession, work: Callable[[Path], MachineReport]) -> MachineReport:
    """Build the patch's side, and report the work in it, or why it was not built.

    Args:
        session: the build.
        work: gets the directory with the built sources; its report lacks the duration and the conditions.
    """
    host, spec = session.host, session.spec
    host.source.fetch(spec.project, spec.patch.ref)
    session.claimed.enter("build patch")
    session.progress.say(f"{session.claimed.name}: build patch")
    seconds: dict[str, float] = {}
    begun, mark = host.clock(), session.log.mark()
    try:
        with built_sources(session, spec.patch) as tree:
            seconds[PATCH_BUILT] = round(host.clock() - begun, 3)
            session.claimed.enter("test")
            session.progress.say(f"{session.claimed.name}: test")
            begun = host.clock()
            report = work(tree)
            seconds["test"] = round(host.clock() - begun, 3)
    except NotBuilt as failed:
        report = report_not_built(session, failed, session.log.since(mark), seconds)
    return replace(report, seconds=seconds, conditions=host.conditions)


def launch(
    session: BuildSession[TestsConfiguration], tree: Path, line: str, arguments: Sequence[str] = ()
) -> Launched:
    """Run a test program in the sources, once.

    Args:
        session: the build.
        tree: the built sources.
        line: of shell; the results go to :data:`OUT`.
        arguments: of the line.
    """
    host, own, mark = session.host, session.own, session.log.mark()
    session.log.write(f"== test: {' '.join(arguments) or line}\n".encode(errors="replace"))
    limits = Limits(wall_seconds=own.timeout, memory_bytes=own.memory, log_bytes=None)
    with host.scratch.directory() as out:
        mounts = (Mount(out, "/out", writable=True),)
        # ThreadSanitizer of GCC 12 ends at once if the addresses are too random.
        command = Command(("sh", "-c", line, "sh", *arguments), mounts, aslr=False, limits=limits)
        end = run_in_sources(session, tree, command)
        results, problem, listing = b"", "", b""
        try:
            results = host.packer.read_output(out / RESULTS, MAX_BYTES)
        except (BadResults, CommandFailed) as error:
            problem = str(error)
        with suppress(BadResults, CommandFailed):
            listing = host.packer.read_output(out / f"{RESULTS}{LISTING}", RECORD_BYTES)
    output = session.log.since(mark)
    is_cut = len(output) < session.log.mark() - mark
    return Launched(end, results, problem, output, is_cut, listing)


def report_of(session: BuildSession, tested: Sequence[Tested]) -> MachineReport:
    """Report the end of tests, and keep the test cases; the duration and the conditions are missing."""
    outcome = outcome_of_tests(tested)
    failures, is_cut = ((), False) if outcome is Outcome.PASSED else failures_of_tests(tested)
    retried = tuple(dict.fromkeys(name for each in tested for name in each.retried))
    suites = [TestSuite(each.program, each.run, each.retried) for each in tested]
    notes = (passed_on_retry(retried),) if retried else ()
    return MachineReport(
        outcome,
        (*failure_causes(failures, is_cut=is_cut), *notes),
        failures=failures,
        # Tests that did not run may fail, too: known failures waive only complete builds.
        is_cut=is_cut or (bool(failures) and has_unrun_tests(tested)),
        tests=session.host.artifacts.put(write_tests(suites)),
        retried=retried,
        cleared=cleared_in_tests(tested),
    )
