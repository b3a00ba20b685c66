"""Summarise a run in one sentence: the decision, or what the run waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.runs.shown import BuildOfRun, Decision, Run

_WORST_FIRST: Final = (Result.FAILURE, Result.ABORTED, Result.UNSTABLE, Result.SUCCESS, Result.NOT_BUILT)


def verdict_sentence(run: Run | None, builds: Sequence[BuildOfRun], decision: Decision | None) -> str:
    """Summarise a run in the sentence that its reader needs first."""
    if run is None:
        return "No run yet: Benchgate plans one as soon as it has processed the review server's event."
    reason = plain(run.reason, 500)
    match run.state:
        case RunState.PLANNING:
            return "Planning: benchgate.yaml on the target branch defines which jobs to build."
        case RunState.RUNNING:
            return _progress(builds)
        case RunState.FINISHED:
            return worst_cause(builds) or (decision.header if decision is not None else "Finished.")
        case RunState.REFUSED:
            # A run whose vote was given up had builds.
            nothing = "" if builds else "Nothing was built: "
            return f"{nothing}{reason or 'the project file is not usable'}"
        case RunState.CANCELLED:
            return f"Cancelled: {reason}" if reason else "Cancelled."


def worst_cause(builds: Sequence[BuildOfRun]) -> str:
    """Return the first cause of the worst build, or the override that waives it; empty if none has one."""
    finished = [build for build in builds if build.result is not None and _headline(build)]
    worst = min(finished, key=_rank, default=None)
    return "" if worst is None else plain(_headline(worst), 1000)


def _headline(build: BuildOfRun) -> str:
    return build.waived_by or next(iter(build.causes), "")


def _rank(build: BuildOfRun) -> tuple[int, bool, bool, bool]:
    # A waived failure comes after every other failure and before success.
    result = Result.SUCCESS if build.waived_by or build.result is None else build.result
    return _WORST_FIRST.index(result), not build.waived_by, not build.tally.slower, not build.undecided


def _progress(builds: Sequence[BuildOfRun]) -> str:
    done = sum(build.state is BuildState.FINISHED for build in builds)
    finished = f"{done} of {counted(len(builds), 'build')} finished"
    first = next((build for build in builds if build.state is BuildState.RUNNING), None)
    if first is not None:
        machine = f" on {plain(first.machine)}" if first.machine else ""
        phase = f": {plain(first.phase)}" if first.phase else ""
        return f"{finished}; {plain(first.job)} is running{machine}{phase}."
    if any(build.state is BuildState.EXECUTED for build in builds):
        return f"{finished}; the results are being analysed."
    waiting = min(
        (build for build in builds if build.place), key=lambda build: build.place or 0, default=None
    )
    why = "waiting for a machine" if waiting is None else waiting.waits
    return f"{finished}; the next one is {why}."
