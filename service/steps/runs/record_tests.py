"""Record test results that another CI reports for one of its builds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import distinct
from service.domain.measuring.tests.failed import OPENING_OF_OTHERS, failures_of, failures_of_ctest
from service.domain.measuring.tests.junit import Dialect, read_junit
from service.domain.measuring.tests.record import RECORD_BYTES, TestSuite, read_tests, write_tests
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, NotFound
from service.domain.wording.failures import failure_causes
from service.ports.failures.storing import BuildFailures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.failures.failure import Failure
    from service.domain.measuring.tests.cases import TestRun
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import Artifacts
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Store, Transaction

MOST_SUITES: Final = 100


@dataclass(frozen=True, slots=True)
class ReportedTests:
    """A file of results for another CI's build.

    ``suite`` tells the files of a build apart: one that is sent again replaces the previous one.
    """

    instance: str
    project: str
    job: str
    number: int
    suite: str
    dialect: Dialect
    data: bytes


@dataclass(frozen=True, slots=True)
class RecordedTests:
    """The number of test cases in a file, and how many of them failed."""

    tests: int
    failed: int


def record_tests(store: Store, artifacts: Artifacts, reported: ReportedTests) -> RecordedTests:
    """Store the results of tests with their build; failed tests become causes when the build ends.

    After a failed build, they become causes until a run with it is decided.

    Raises:
        BadInput: the file cannot be read, or the build has too many.
        NotFound: no such build was reported.
    """
    with store.transaction() as tx:
        _build_of(tx, reported)  # first: a large file takes seconds to read
    run = read_junit(reported.data, reported.dialect)
    new, has_more = distinct(_failures_of(run, reported.dialect))
    is_cut_here = run.is_cut or has_more
    with store.transaction() as tx:
        # The runs before the build, as everywhere: until the end of this, none of them is decided.
        build_id = _build_of(tx, reported)
        runs = [tx.runs.lock(run) for run in tx.external.runs_with(build_id)]
        build = tx.builds.lock(build_id)
        report = build.report
        stored = _stored(artifacts, report)
        others = [each for each in stored if each.program != reported.suite]
        if len(others) == MOST_SUITES:
            raise BadInput(f"the build has {MOST_SUITES} suites already; put several into one file", "suite")
        before = [each.run for each in stored if each.program == reported.suite]
        kept = _kept(report.failures, [run, *before], [each.run for each in others])
        tests = artifacts.put(write_tests([*others, TestSuite(reported.suite, run)]))
        failures, is_cut = distinct([*kept, *new])
        is_cut = is_cut or is_cut_here or report.is_cut
        ended = replace(report, tests=tests, failures=failures, is_cut=is_cut)
        tx.external.store_execution(build.id, ended.to_mapping())
        if build.has_result and build.outcome is Outcome.FAILED and _is_undecided(runs):
            _add_causes(tx, build, ended)
    return RecordedTests(len(run.cases), sum(case.has_failed for case in run.cases))


def _build_of(tx: Transaction, reported: ReportedTests) -> int:
    named = tx.external.builds_numbered(reported.instance, reported.project, reported.job, reported.number)
    if not named:
        raise NotFound(
            f"no build {reported.number} of {reported.job} in {reported.project} was reported; first "
            "report its start"
        )
    return named[-1].id


def _is_undecided(runs: Sequence[RunRecord]) -> bool:
    return all(run.state is not RunState.FINISHED for run in runs)


def _add_causes(tx: Transaction, build: BuildRecord, tested: MachineReport) -> None:
    """Add the failed tests to the causes and failures of a build that has failed."""
    before = tx.failures.failures_of([build.id]).get(build.id, BuildFailures())
    failures, has_more = distinct([*before.failures, *tested.failures])
    new = [
        each
        for each in failures[len(before.failures) :]
        if not any(each.subject in cause for cause in build.causes)
    ]
    causes = failure_causes(new, is_cut=tested.is_cut and bool(new))
    tx.external.keep_result(build.id, Outcome.FAILED, (*build.causes, *causes))
    tx.failures.store_failures(build.id, BuildFailures(failures, before.is_cut or tested.is_cut or has_more))


def _kept(
    failures: Sequence[Failure], replaced: Sequence[TestRun], others: Sequence[TestRun]
) -> Sequence[Failure]:
    """Return the failures that a suite's new file leaves: those of other suites, and of no test.

    A test may be in several suites, such as those of two platforms: as long as it fails in another one, its
    failures stay.

    Args:
        failures: of the build so far.
        replaced: the new run of the suite, and the one that it replaces.
        others: the runs of the other suites.
    """
    if any(each.is_cut for each in others):  # any test may have failed there
        return failures
    named = {case.name for each in replaced for case in each.cases}
    still = {case.name for each in others for case in each.cases if case.has_failed}
    return [each for each in failures if each.subject not in named or each.subject in still]


def _failures_of(run: TestRun, dialect: Dialect) -> Iterator[Failure]:
    match dialect:
        case Dialect.CTEST:
            return failures_of_ctest(run)
        case Dialect.GENERIC:
            return failures_of(run, opening=OPENING_OF_OTHERS)


def _stored(artifacts: Artifacts, report: MachineReport) -> Sequence[TestSuite]:
    return read_tests(artifacts.get(report.tests, at_most=RECORD_BYTES)) if report.tests else ()
