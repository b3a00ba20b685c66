"""Say in a few words what stands beside a vote: why a failure or a slower result does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.overrides import Override, OverrideKind
from service.domain.values.text import plain
from service.domain.verdict.inference.reasons import WITHHOLDING, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.runs.waivers import Waiver

_MAX_BUG = 40


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
    return f"not counted: {'suspended' if found.kind is ReasonKind.SUSPENDED else 'not measurable'}"
