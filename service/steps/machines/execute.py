"""Execute a claimed build on a machine, and report how it ended."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.building.spec import BuildSpec
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.states import MAX_ATTEMPTS
from service.domain.runs.vote import Outcome
from service.domain.values.errors import (
    BadInput,
    Drained,
    LeaseLost,
    Overdue,
    Permanent,
    Stopped,
    Transient,
    Unfit,
)
from service.domain.values.text import plain, shortened
from service.domain.wording.build_causes import OVERDUE, attempts_failed, crashed, unfit, unusable_dependency
from service.steps.building.build_log import BuildLog
from service.steps.building.session import BuildSession
from service.steps.machines.explain_reported import report_and_explain
from service.steps.machines.place_findings import own_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from service.ports.building import Progress
    from service.ports.machines import Claimed
    from service.steps.building.session import BuildHost

_LOG: Final = structlog.get_logger(__name__)
_MAX_PROGRESS: Final = 120  # of the text: it may have the path of a file
RETRY_AFTER = 20.0  # seconds; a fetch that failed is seldom better at once


@dataclass(frozen=True, slots=True)
class _ToldProgress:
    """Progress that the pages of a claimed build show, too."""

    claimed: Claimed
    progress: Progress

    def say(self, text: str, done: float | None = None) -> None:
        self.claimed.tell(shortened(text.removeprefix(f"{self.claimed.name}: "), _MAX_PROGRESS))
        self.progress.say(text, done)

    def note(self, text: str) -> None:
        self.progress.note(text)


def execute_build(
    claimed: Claimed, host: BuildHost, progress: Progress, is_draining: Callable[[], bool] = lambda: False
) -> MachineReport | None:
    """Run a claimed build to its end and report it; return None if it was handed back or lost.

    A failure of the project's own code is the build's result. A failure of this machine or of the network is
    retried; after the last attempt it is an infrastructure failure, never the change's fault. An error of
    Benchgate itself is one at once. ``is_draining`` tells that this worker must stop: the build is then
    handed back.
    """
    working = list[BuildSession]()

    def run(stack: ExitStack) -> MachineReport:
        log = stack.enter_context(_spooled_log(host))
        spec = BuildSpec.from_mapping(claimed.spec)
        session = BuildSession(claimed, spec, host, _ToldProgress(claimed, progress), log, is_draining)
        stack.enter_context(claimed.publish(log, session.watch))
        session = replace(session, host=replace(host, artifacts=host.artifacts.watched(session.watch)))
        if spec.job.problem:
            return MachineReport(Outcome.MISCONFIGURED, (spec.job.problem,))
        try:
            session = replace(session, dependencies=_dependencies(session))
        except BadInput as error:
            return MachineReport(Outcome.MISCONFIGURED, (unusable_dependency(error),))
        if spec.workspace is not None:
            log.write(spec.workspace.described().encode())
        working.append(session)
        report = host.runners[spec.job.kind](session)
        return replace(report, findings=own_findings(spec, host.source, report.findings))

    try:
        with ExitStack() as stack:  # the log is read to the end
            report = _end(claimed, lambda: run(stack))
            if report is not None:
                try:
                    _report(claimed, report, working)
                except Drained:  # while it waited for the artifacts to take the log
                    claimed.release()
                    return None
    except LeaseLost:
        return None
    return report


def _report(claimed: Claimed, report: MachineReport, working: Sequence[BuildSession]) -> None:
    for session in working:
        # Without an outcome, pairs were measured.
        has_claims = report.outcome is None and bool(session.spec.claimed_names)
        if (report.is_explained_later or has_claims) and session.host.explain and not session.is_draining():
            report_and_explain(session, report, session.host.explain)
            return
    claimed.complete(report.to_mapping())


def _dependencies(session: BuildSession) -> Path | None:
    """Fetch the dependencies of a job that has some, and return their directory."""
    build = session.spec.job.configuration.build
    if build is None or not build.dependencies:
        return None
    session.progress.say(f"{session.claimed.name}: fetch dependencies")
    return session.host.dependencies.provide(build.dependencies, session.watch)


@contextmanager
def _spooled_log(host: BuildHost) -> Iterator[BuildLog]:
    with host.scratch.directory() as spool, (spool / "log").open("w+b", buffering=0) as file:
        yield BuildLog(file, host.log_bytes)


def _end(  # noqa: PLR0911 - one for each way in which work can end
    claimed: Claimed, run: Callable[[], MachineReport]
) -> MachineReport | None:
    """Run, and turn each way to end into a report; return None if the build was handed back."""
    try:
        return run()
    except LeaseLost:
        raise
    except Drained:
        claimed.release()
        return None
    except Overdue:
        return _infrastructure(OVERDUE)
    except Stopped:
        return MachineReport(outcome=Outcome.CANCELLED)
    except (Transient, OSError) as error:  # an OSError that no adapter translated, such as a full disk
        _LOG.warning("build.failed", error=str(error))
        if claimed.attempt < MAX_ATTEMPTS:
            claimed.release(RETRY_AFTER)
            return None
        return _infrastructure(attempts_failed(claimed.attempt, error))
    except Permanent as error:
        return _infrastructure(unfit(error) if isinstance(error, Unfit) else plain(str(error), 500))
    except Exception as error:  # noqa: BLE001 - the last resort, which logs it
        # Another attempt would end alike; if the task raised, the build would wait for the end of its lease
        # and show no cause.
        _LOG.exception("build.crashed")
        return _infrastructure(crashed(error))


def _infrastructure(cause: str) -> MachineReport:
    return MachineReport(outcome=Outcome.INFRASTRUCTURE, causes=(cause,))
