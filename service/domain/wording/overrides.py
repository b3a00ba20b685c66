"""Sentences of overrides: the person, the decision and the reason."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.decision.overrides import OverrideKind
from service.domain.gerrit.comment_commands import MAX_REASON
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.decision.overrides import Override

_FORMS: Final[Mapping[OverrideKind, str]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overridden by {who}",
        OverrideKind.ACCEPT: "{filter} accepted by {who}",
        OverrideKind.UNDO: "overrides revoked by {who}",
        OverrideKind.TRUST: "allowed to run by {who}",
        OverrideKind.PERSON_VOTE: "overridden on the review server by {who}",
    }
)


def override_sentence(override: Override) -> str:
    """Return the line of a message with the person, the decision and the reason."""
    who, benchmarks = plain(override.who) or "somebody", plain(override.filter)
    decided = _FORMS[override.kind].format(who=who, filter=benchmarks)
    reason, bug = plain(override.reason, MAX_REASON), plain(override.bug)
    is_named = re.search(rf"(?<![\w-]){re.escape(bug)}(?![\w-])", reason) is not None
    suffix = f" ({bug})" if bug and not is_named else ""
    return f"{decided}: {reason}{suffix}" if reason else f"{decided}{suffix}"
