"""Failures in the log of a failed build that the patterns of the service's configuration describe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.decision.machine_report import MachineReport
from service.domain.decision.states import BuildState
from service.domain.decision.vote import Outcome
from service.domain.errors import Permanent
from service.domain.failures.log_lines import lines_in
from service.domain.wording.failures import failure_causes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.failures.configured import ConfiguredPatterns
    from service.ports.building import Artifacts
    from service.ports.records import BuildRecord
    from service.ports.store import Store


def with_configured(
    store: Store, artifacts: Artifacts, build_id: int, patterns: ConfiguredPatterns
) -> MachineReport | None:
    """Read the report of an executed build, and add what the patterns find; None for any other build.

    The log is read outside of a transaction, because that may take seconds. If it is lost or damaged, the
    list of failures counts as incomplete, so that no known failure waives the build.
    """
    with store.transaction() as tx:
        build = tx.lock_build(build_id)
    if build.state is not BuildState.EXECUTED or build.execution is None:
        return None
    report = MachineReport.from_mapping(build.execution)
    if report.outcome is not Outcome.FAILED or not len(patterns):
        return report
    try:
        added, is_cut = patterns.failures_in(log_lines(artifacts, build), report.failures)
    except Permanent:
        return replace(report, is_cut=True)
    return replace(
        report,
        causes=(*report.causes, *failure_causes(added)),
        failures=(*report.failures, *added),
        is_cut=report.is_cut or is_cut,
    )


def log_lines(artifacts: Artifacts, build: BuildRecord) -> Iterator[bytes]:
    """Yield the lines of a build's log; none if it has no log.

    Raises:
        Permanent: the log is lost or damaged.
        Transient: it cannot be read now.
    """
    if build.log:
        _, chunks = artifacts.stream(build.log)
        yield from lines_in(chunks)
