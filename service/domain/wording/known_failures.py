"""Ask a person about known failures: whether a failure is one, and whether one with a closed bug ends."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from service.domain.failures.known import MAX_BUG
from service.domain.values.text import listed, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.failures.known import KnownFailure, LookAlike

_MOST: Final = 2  # failures; each takes three lines of a phone, and one override covers all of a job
_MOST_OF_TEXT: Final = 200  # characters


def may_be_known(found: Sequence[LookAlike]) -> tuple[str, ...]:
    """Write the lines that show both texts of each failure that may be known, and the command to say so."""
    lines = [line for each in found[:_MOST] for line in _compared(each)]
    more = len(found) - _MOST
    return (*lines, f"{more} more may be known") if more > 0 else tuple(lines)


def to_be_compared(count: int, made: int) -> str:
    """Warn that some of the ``made`` known failures waive nothing by themselves."""
    which = "it is" if made == 1 else "they are" if count == made else f"{count} of them are"
    return f"{which} too vague to waive a build: later ones count until somebody compares both texts"


def bug_closed(bug: str) -> str:
    """Propose the end of the known failures of a closed bug."""
    return f"{plain(bug, MAX_BUG)} is closed: end its known failure?"


def closed_bugs(known: Iterable[KnownFailure | None]) -> tuple[str, ...]:
    """Write a line for each closed bug of known failures."""
    return tuple(dict.fromkeys(bug_closed(each.bug) for each in known if each and each.is_bug_closed))


def _compared(found: LookAlike) -> tuple[str, str, str]:
    name, bug = plain(found.failure.subject, 80) or "a failure", plain(found.bug, MAX_BUG)
    command = f"`override {shlex.quote(found.job)} {bug} REASON`"
    if found.beside:
        command += f", which also passes {listed([plain(each, 80) for each in found.beside])}"
    return (
        f"{name} may be known as {bug}, and counts. If both texts mean the same: {command}",
        f"known: {shortened(found.text, _MOST_OF_TEXT)}",
        f"here: {shortened(found.failure.headline, _MOST_OF_TEXT)}",
    )
