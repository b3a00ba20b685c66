"""The sentences with which pages begin: what was decided, or what is being waited for."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dashboards.formatting import counted
from service.domain.decision.overrides import OverrideKind
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.ports.views import BuildSummary, DecisionView, OverrideView, RunSummary

_EXCUSED: Final = "excused"
_WORST_FIRST: Final = ("FAILURE", "ABORTED", "UNSTABLE", _EXCUSED, "SUCCESS", "NOT_BUILT")
_RULED: Final[Mapping[OverrideKind, str]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overrode what failed",
        OverrideKind.ACCEPT: "accepted that {filter} is slower",
        OverrideKind.UNDO: "took back what was overridden and accepted",
        OverrideKind.TRUST: "allowed the code to run",
        OverrideKind.PERSON_VOTE: "replaced the vote on the review server",
    }
)
_DELIVERED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pending": "not posted yet",
        "sent": "posted",
        "superseded": "not posted",
        "refused": "refused by the review server",
        "dead": "given up",
    }
)
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
    """The first cause of the worst build, or who excused it; empty where none has one."""
    finished = [build for build in builds if build.result in _WORST_FIRST and _first_words(build)]
    worst = min(finished, key=lambda build: _WORST_FIRST.index(_standing_of(build)), default=None)
    return "" if worst is None else plain(_first_words(worst), 1000)


def ruled(override: OverrideView) -> str:
    """What a person did, to be read after the name."""
    return _RULED[OverrideKind(override.kind)].format(filter=plain(override.filter))


def delivery(decision: DecisionView) -> str:
    """What was noted of a decision's way to the review server."""
    return f"{_DELIVERED[decision.review_state]}; {plain(decision.review_note, 500)}"


def _first_words(build: BuildSummary) -> str:
    return build.waived_by or next(iter(build.causes), "")


def _standing_of(build: BuildSummary) -> str:
    return _EXCUSED if build.waived_by else build.result or ""


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
