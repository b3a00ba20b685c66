"""Explain the slower benchmarks of a build after its report, which nobody waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.verdict.explanation.explanation import pack
from service.steps.building.build_log import BuildLog
from service.steps.machines.place_findings import with_touched_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.runs.machine_report import MachineReport
    from service.domain.verdict.explanation.explanation import Explanation
    from service.steps.building.session import BuildSession

LONGEST: Final = 120.0  # seconds: a minute of launches each for explanations and claims, less what they read
_LOG: Final = structlog.get_logger(__name__)


def report_and_explain(
    session: BuildSession, report: MachineReport, explain: Callable[[BuildSession], Sequence[Explanation]]
) -> None:
    """Report a build, explain what is slower, measure what else is claimed, and end the lease.

    All after the report is optional: whatever fails is logged, and leaves the build without it.

    Raises:
        Drained: the worker was asked to stop before the report.
        LeaseLost: before the report.
    """
    host, claimed = session.host, session.claimed
    begun = host.clock()
    # The log of a reported build does not grow.
    timed = replace(session, log=BuildLog(), deadline=begun + LONGEST)
    timed = replace(timed, host=replace(host, artifacts=host.artifacts.watched(timed.watch)))
    claimed.report(report.to_mapping(), timed.watch)
    try:
        found = explain(timed) if report.is_explained_later else ()
        rows = _measure_claims(timed, report)
        if found or rows:
            packed = pack(with_touched_lines(timed.spec, host.source, found), rows)
            claimed.watch()
            claimed.explain(packed)
            seconds = round(host.clock() - begun, 3)
            _LOG.info("build.explained", rows=len(found), bytes=len(packed), seconds=seconds)
            return
    except Exception as error:  # noqa: BLE001 - nobody waits for it
        _LOG.warning("build.not_explained", error=repr(error))
    try:
        claimed.release()
    except Exception as error:  # noqa: BLE001 - the lease runs out by itself
        _LOG.warning("build.not_released", error=repr(error))


def _measure_claims(timed: BuildSession, report: MachineReport) -> bytes:
    """Measure claimed benchmarks that filters leave out, if pairs were measured; empty if that fails."""
    measure = timed.host.measure_left_out
    try:
        return measure(timed) if measure and timed.spec.claimed_names and report.outcome is None else b""
    except Exception as error:  # noqa: BLE001 - the explanation counts for more
        _LOG.warning("claims.not_measured", error=repr(error))
        return b""
