"""Describe overrides, and how far a message came."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.overrides import OverrideKind
from service.domain.values.text import plain
from service.ports.runs.decisions import ReviewState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.runs.shown import Decision, Override

_OVERRIDE_TEXTS: Final[Mapping[OverrideKind, str]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overrode the failed builds",
        OverrideKind.ACCEPT: "accepted that {filter} is slower or removed",
        OverrideKind.UNDO: "revoked the overrides and accepts so far",
        OverrideKind.TRUST: "allowed the code to run",
        OverrideKind.PERSON_VOTE: "replaced the vote on the review server",
    }
)
_DELIVERIES: Final[Mapping[ReviewState, str]] = MappingProxyType(
    {
        ReviewState.PENDING: "not posted yet",
        ReviewState.SENT: "posted",
        ReviewState.SUPERSEDED: "not posted",
        ReviewState.REFUSED: "refused by the review server",
        ReviewState.DEAD: "could not be posted",
    }
)


def override_text(override: Override) -> str:
    """Describe what a person did, to be read after the name."""
    return _OVERRIDE_TEXTS[override.kind].format(filter=plain(override.filter))


def delivery(decision: Decision) -> str:
    """Describe the problem with a decision's message on its way to the review server; empty without one."""
    if not decision.review_state:
        return ""
    return f"{_DELIVERIES[decision.review_state]}; {plain(decision.review_note, 500)}"
