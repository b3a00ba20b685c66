"""The sentences with which pages begin: what was decided, or what is being waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards.formatting import counted
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.views import BuildSummary, DecisionView, RunSummary

_WORST_FIRST: Final = ("FAILURE", "ABORTED", "UNSTABLE", "SUCCESS", "NOT_BUILT")
UNFINISHED: Final = frozenset({"planning", "running"})


def verdict_sentence(
    run: RunSummary | None, builds: Sequence[BuildSummary], decision: DecisionView | None
) -> str:
    """What a reader wants to know first of a round of builds."""
    if run is None:
        return "Not looked at yet: a round of builds is planned as soon as the event is in."
    reason = plain(run.reason, 500)
    if run.state == "finished":
        return worst_cause(builds) or (decision.header if decision is not None else "Finished.")
    return {
        "planning": "Being planned: benchgate.yaml of the target branch says what to build.",
        "running": _progress(builds),
        "refused": f"Nothing was built: {reason or 'the project file cannot be used'}",
        "cancelled": f"Cancelled: {reason}" if reason else "Cancelled.",
    }[run.state]


def worst_cause(builds: Sequence[BuildSummary]) -> str:
    """The first cause of the worst build; empty where none has one."""
    finished = [build for build in builds if build.result in _WORST_FIRST and build.causes]
    ordered = sorted(finished, key=lambda build: _WORST_FIRST.index(build.result or ""))
    return plain(ordered[0].causes[0], 1000) if ordered else ""


def _progress(builds: Sequence[BuildSummary]) -> str:
    done = sum(build.state == "finished" for build in builds)
    running = [build for build in builds if build.state == "running"]
    if running:
        first = running[0]
        where = f" on {plain(first.machine)}" if first.machine else ""
        return (
            f"{done} of {counted(len(builds), 'build')} finished; "
            f"{plain(first.job)} is running{where}{': ' + plain(first.phase) if first.phase else ''}."
        )
    if any(build.state == "executed" for build in builds):
        return f"{done} of {counted(len(builds), 'build')} finished; the results are being analysed."
    return f"{done} of {counted(len(builds), 'build')} finished; the next is waiting for a machine."
