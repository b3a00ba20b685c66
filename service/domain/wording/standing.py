"""Say in a few words what stands beside a vote, and what a build waits for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from service.domain.machines.disk import keeps_from_all
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.values.text import duration, plain
from service.domain.verdict.inference.reasons import WITHHOLDING, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.runs.waivers import Waiver

_MAX_BUG = 40
_MOST_MACHINES = 3
_SOON = 30.0  # seconds; a shorter wait is over before somebody has read of it
_ENDINGS = MappingProxyType({1: "st", 2: "nd", 3: "rd"})
_TEENS = range(11, 14)
_NOT_COUNTED = MappingProxyType(
    {
        ReasonKind.SUSPENDED: "suspended",
        ReasonKind.OWN_DIFFERENCE: "the machine's own difference",
        ReasonKind.OTHER_CONTROL: "the machine's difference elsewhere",
        ReasonKind.OPEN_CONTROL: "the machine may explain it",
    }
)


@dataclass(frozen=True, slots=True)
class PoolMachine:
    """A machine of the pool that a build waits for.

    ``obstacle`` keeps it from the build; ``closed_by``: the operator who closed its host, and ``obstacle`` is
    why; ``is_silent``: it has sent no heartbeat for a minute; ``is_busy``: builds run on its host.
    """

    name: str
    obstacle: str
    is_silent: bool
    is_busy: bool
    closed_by: str = ""


def waiting(
    pool: str, place: int, machines: Sequence[PoolMachine], behind: int = 0, *, is_passed: bool = False
) -> str:
    """Say why a build waits: ``7th in the queue of pool perf, after 6 of its owner; perf-01 is busy``.

    ``behind`` counts queued builds of its owner that come before it; ``is_passed``: it is of a merged commit,
    and new checks still come before it.
    """
    queue = f"{ordinal(place)} in the queue of pool {plain(pool, 100)}"
    if behind:
        queue += f", after {behind} of its owner"
    if is_passed:
        queue += "; checks that come within its first 30 minutes go first"
    return "; ".join(filter(None, (queue, hindrance(machines))))


def hindrance(machines: Sequence[PoolMachine]) -> str:
    """Say why no machine of a pool begins a build; empty if one may."""
    if not machines:
        return "no machine of this pool has registered"
    if all(each.is_silent and not each.closed_by for each in machines):
        return "no machine of this pool has reported for a minute"
    # A closed host may well be off: that is no news, nor is a silent machine beside one that reports.
    is_awake = any(not each.is_silent and not each.closed_by for each in machines)
    awake = [each for each in machines if each.closed_by or not (is_awake and each.is_silent)]
    reasons = [_hindrance(each) for each in awake]
    if not all(reasons):
        return ""
    more = f"and {len(reasons) - _MOST_MACHINES} more" if len(reasons) > _MOST_MACHINES else ""
    return "; ".join(filter(None, (*reasons[:_MOST_MACHINES], more)))


def _hindrance(machine: PoolMachine) -> str:
    name = plain(machine.name, 100)
    if machine.closed_by:
        return f"{name} was drained by {plain(machine.closed_by, 100)}: {plain(machine.obstacle, 200)}"
    if machine.is_silent:
        return f"{name} has not reported for a minute"
    if machine.is_busy:
        return f"{name} is busy"
    return f"{name} {refuses(machine.obstacle)}" if machine.obstacle else ""


def refuses(obstacle: str) -> str:
    """Say what a machine with an obstacle does not take: ``takes no benchmarks: other work takes 99 % …``."""
    return f"takes no {'builds' if keeps_from_all(obstacle) else 'benchmarks'}: {plain(obstacle, 200)}"


def expected(wait: float | None) -> str:
    """Say in how many seconds a build is expected to begin: ``about 8 min``; empty if soon, or not known."""
    return f"about {duration(wait)}" if wait and wait >= _SOON else ""


def ordinal(number: int) -> str:
    """Write ``1st``, ``2nd``, ``11th``."""
    is_teen = number % 100 in _TEENS
    return f"{number}{'th' if is_teen else _ENDINGS.get(number % 10, 'th')}"


def waived_as(waiver: Waiver) -> str:
    """Name a waiver with its bug: ``overridden MB-12``, ``known failure MB-77``, ``accepted``."""
    if not isinstance(waiver, Override):
        bugs = dict.fromkeys(plain(each.bug, _MAX_BUG) for each in waiver.distinct)
        return f"known failure {', '.join(bugs)}"
    word = "accepted" if waiver.kind is OverrideKind.ACCEPT else "overridden"
    # Of the address of a bug, people know the last part.
    bug = plain(waiver.bug.rstrip("/").rpartition("/")[2], _MAX_BUG)
    return f"{word} {bug}".rstrip()


def not_counted(reasons: Iterable[Reason]) -> str:
    """Say until when a slower result does not count, or why; empty if it counts."""
    found = next((each for each in reasons if each.kind in WITHHOLDING), None)
    if found is None:
        return ""
    if found.kind is ReasonKind.ON_PROBATION:
        pairs, wanted, _, least = found.facts
        until = f"{wanted} A/A pairs" if pairs < wanted else f"{least} A/A sessions"  # type: ignore[operator]
        return f"not counted until {until}"
    return f"not counted: {_NOT_COUNTED.get(found.kind, 'not measurable')}"
