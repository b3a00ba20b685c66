"""Describe degradations: the part of the service, its problem, and for how long."""

from __future__ import annotations

import math
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.health import (
    LISTEN,
    PERIODIC,
    RECONCILE,
    TRIES,
    DegradationKind,
    Step,
    degradations,
    failure_groups,
    starting,
)
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.domain.runs.health import Condition, FailingStep, FailureGroup, Patience

# Shown to readers who may not see the change or the branch.
HIDDEN_ERROR: Final = "the error may name what is not public; an operator finds it in the log"
HIDDEN_RIGHT: Final = "a branch that is not public lacks the right; an operator finds it in the log"
# Shown if the error of a question may name something that is not public.
QUESTION_REJECTED: Final = "it rejects a question, which the log of the control worker names"
_PARTS: Final = MappingProxyType({RECONCILE: "reconciliation", LISTEN: "listener of the event stream"})
_MAX_ERROR: Final = 300
# The adapter's words for errors of Gerrit, without what Gerrit or a proxy adds.
_NOT_GERRIT: Final = "the response is not from Gerrit"
_UNREACHABLE: Final = "Gerrit cannot be reached"
_ANSWER: Final = re.compile("Gerrit answers ([1-5][0-9]{2}): ")
_LEAST_ERROR: Final = 400
_PHRASES: Final = MappingProxyType(
    {
        400: "Bad Request",
        401: "Unauthorized",
        403: "Forbidden",
        404: "Not Found",
        409: "Conflict",
        429: "Too Many Requests",
        500: "Internal Server Error",
        502: "Bad Gateway",
        503: "Service Unavailable",
        504: "Gateway Timeout",
    }
)
_BRACED: Final = re.compile(r"\{[^{}]*\}")
# No default on purpose: a step without words is a programming error.
_STEPS: Final[Mapping[Step, str]] = MappingProxyType(
    {
        Step.HANDLE_EVENT: "reading",
        Step.PLAN: "planning",
        Step.ANALYSE: "analysing results of",
        Step.VOTE: "deciding the vote on",
        Step.RUN_COMMENT_COMMANDS: "running a comment command on",
        Step.DELIVER: "posting on",
        Step.RECONCILE: "looking for updated changes",
        Step.CALIBRATE: "starting calibrations",
        Step.FOLLOW: "looking for commits without a change",
        Step.USE_IDLE_POOLS: "measuring in idle pools",
        Step.READ_BUGS: "reading from the bug tracker, or posting there",
        Step.NOTIFY: "sending notices of regressions",
    }
)
_OF_RUNS: Final = frozenset({Step.PLAN, Step.ANALYSE, Step.VOTE})
_WITHOUT_SUBJECT: Final = PERIODIC - {Step.DELIVER}


def degradation_sentences(
    condition: Condition, patience: Patience, uptime: float = math.inf
) -> tuple[str, ...]:
    """Write one sentence for each degradation; none if the service works."""
    return tuple(_SENTENCES[each.kind](*each.facts) for each in degradations(condition, patience, uptime))


def starting_sentences(condition: Condition, patience: Patience, uptime: float) -> tuple[str, ...]:
    """Write one sentence for each part that may still be starting."""
    return tuple(_SENTENCES[each.kind](*each.facts) for each in starting(condition, patience, uptime))


def failure_sentences(steps: Sequence[FailingStep]) -> tuple[str, ...]:
    """Write a sentence for each step that failed several times, with its error and next try."""
    failing = [each for each in steps if each.attempts >= TRIES or each.is_dead]
    return tuple(map(_step_fails, failure_groups(failing)))


def public_error(error: str) -> str:
    """Return what everybody may read of a stored error: that of Gerrit without its words, or else nothing."""
    kind, _, text = error.partition(": ")
    if text.startswith(_NOT_GERRIT):
        return f"{kind}: {text}"
    if text.startswith(_UNREACHABLE):
        return f"{kind}: {_UNREACHABLE}"
    if found := _ANSWER.match(text):
        status = int(found[1])
        if status < _LEAST_ERROR:
            return f"{kind}: {text}"
        return f"{kind}: Gerrit answers {status}: {_PHRASES.get(status, 'an error')}"
    return HIDDEN_ERROR


def database_away(error: Exception) -> str:
    """Write the sentence of pages and probes while the database cannot be used."""
    reason = plain(str(error), _MAX_ERROR).rstrip(".")
    return f"The database does not answer, so pages may be out of date: {reason}."


def git_url_problem(url: str, variable: str = "BENCHGATE_GIT_URL") -> str:
    """Explain why no project can be fetched from the configured address; empty if one can."""
    if not url:
        return f"{variable} is not set, so no change can be fetched: set it to the address of a clone."
    if unknown := set(_BRACED.findall(url)) - {"{project}"}:
        return f"{variable} has {plain(min(unknown))}: only {{project}} stands for a project's name."
    return ""


def _step_fails(group: FailureGroup) -> str:
    changes = group.changes
    subject = f"change {changes[0]}" if len(changes) == 1 else f"{len(changes)} changes"
    if not changes:
        subject = "a run of a branch" if group.step in _OF_RUNS else "a change"
    if group.event:
        subject += f" after the event {plain(group.event)}"
    doing = _STEPS[group.step] + ("" if group.step in _WITHOUT_SUBJECT else f" {subject}")
    tries = "once" if group.attempts == 1 else f"{group.attempts} times"
    error = plain(group.error, _MAX_ERROR).rstrip(".")
    if group.is_dead:
        return f"Benchgate gave up {doing}, which failed {tries}: {error}."
    again = f"Next try at {group.next_at:%H:%M:%S} UTC" if group.next_at else "The schedule tries it again"
    return f"{doing[0].upper()}{doing[1:]} failed {tries}: {error}. {again}."


def _reviews_unsent(reviews: int, seconds: float) -> str:
    votes = "One vote has" if reviews == 1 else f"{reviews} votes have"
    return f"{votes} not reached the review server, the oldest for {_duration(seconds)}."


def _waiting(builds: int) -> str:
    return "one build waits" if builds == 1 else f"{builds} builds wait"


def _part(part: str) -> str:
    name, _, instance = part.partition(" ")
    return f"The {_PARTS.get(name, name)}" + (f" of {instance}" if instance else "")


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


# No default on purpose: a kind without a sentence is a programming error.
_SENTENCES: Final[Mapping[DegradationKind, Callable[..., str]]] = MappingProxyType(
    {
        DegradationKind.EVENTS_WAIT: lambda seconds: (
            f"Events are not being handled: the oldest has waited {_duration(seconds)}."
        ),
        DegradationKind.REVIEWS_UNSENT: _reviews_unsent,
        DegradationKind.STEP_FAILS: _step_fails,
        DegradationKind.MORE_STEPS_FAIL: lambda errors: (
            f"Further steps fail, with {'one other error' if errors == 1 else f'{errors} other errors'}."
        ),
        DegradationKind.POOL_WITHOUT_MACHINE: lambda pool, builds: (
            f"Pool {pool} has no machine: {_waiting(builds)}."
        ),
        DegradationKind.MACHINES_SILENT: lambda pool, builds, seconds: (
            f"No machine of pool {pool} was seen for {_duration(seconds)}: {_waiting(builds)}."
        ),
        DegradationKind.MACHINES_HINDERED: lambda pool, builds, seconds, why: (
            f"No machine of pool {pool} has been available for {_duration(seconds)}, "
            f"and {_waiting(builds)}: {plain(why)}."
        ),
        DegradationKind.BUILDS_WAIT: lambda pool, builds, seconds: (
            f"In pool {pool} {_waiting(builds)}, the oldest for {_duration(seconds)}."
        ),
        DegradationKind.NEVER_RAN: lambda part: f"{_part(part)} has not run yet.",
        DegradationKind.SILENT: lambda part, seconds: f"{_part(part)} has not run for {_duration(seconds)}.",
        DegradationKind.VOTE_FORBIDDEN: lambda right: f"Benchgate may not vote: {plain(right)}.",
        DegradationKind.VISIBILITY_UNKNOWN: lambda part, reason: (
            f"Benchgate cannot find out what {part.partition(' ')[2] or 'Gerrit'} shows without sign-in: "
            f"{plain(reason).rstrip('.')}."
        ),
        DegradationKind.DISCONNECTED: lambda part, trouble: f"{_part(part)} is {plain(trouble)}.",
    }
)
