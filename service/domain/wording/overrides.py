"""Sentences of overrides and known failures: the person, the decision and the reason."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.decision.overrides import Override, OverrideKind
from service.domain.gerrit.comment_commands import MAX_REASON
from service.domain.text import plain
from service.domain.triage.known import MAX_BUG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.decision.overrides import Waiver
    from service.domain.triage.evidence import Rate
    from service.domain.triage.known import KnownFailure

_FORMS: Final[Mapping[OverrideKind, str]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overridden by {who}",
        OverrideKind.ACCEPT: "{filter} accepted by {who}",
        OverrideKind.UNDO: "overrides revoked by {who}",
        OverrideKind.TRUST: "allowed to run by {who}",
        OverrideKind.PERSON_VOTE: "overridden on the review server by {who}",
    }
)


_NO_RATES: Final[Mapping[int, Rate]] = MappingProxyType({})


def waiver_sentence(waiver: Waiver, rates: Mapping[int, Rate] = _NO_RATES) -> str:
    """Return the line of a message that says why the failure of a build does not count.

    Args:
        waiver: the override or the known failures.
        rates: of known failures by their ids; without one, its count is left out.
    """
    if isinstance(waiver, Override):
        return override_sentence(waiver)
    return "; ".join(known_sentence(each, rates.get(each.id)) for each in waiver.distinct)


def known_sentence(known: KnownFailure, rate: Rate | None = None) -> str:
    """Name a known failure: the bug, the person, the expiry, the reason and how often it occurs."""
    owner, reason = plain(known.owner) or "somebody", plain(known.reason, MAX_REASON)
    counted = "" if rate is None else f"{rate.failed} of {rate.builds} builds in 30 days"
    why = "; ".join(filter(None, (reason, counted)))
    named = f"known failure {plain(known.bug, MAX_BUG)} ({owner}, until {known.expires_at:%Y-%m-%d})"
    return f"{named}: {why}" if why else named


def override_sentence(override: Override) -> str:
    """Return the line of a message with the person, the decision and the reason."""
    who, benchmarks = plain(override.who) or "somebody", plain(override.filter)
    decided = _FORMS[override.kind].format(who=who, filter=benchmarks)
    if override.carried_from:
        decided += f" on patch set {override.carried_from}"
    reason, bug = plain(override.reason, MAX_REASON), plain(override.bug)
    is_named = re.search(rf"(?<![\w-]){re.escape(bug)}(?![\w-])", reason) is not None
    suffix = f" ({bug})" if bug and not is_named else ""
    return f"{decided}: {reason}{suffix}" if reason else f"{decided}{suffix}"
