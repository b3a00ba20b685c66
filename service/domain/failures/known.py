"""Known failures: failures with a bug that do not count against the vote until they expire."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.ends import is_end, is_end_without_a_word
from service.domain.failures.output.linear import Pattern
from service.domain.failures.signature import signature_of
from service.domain.failures.vague import is_vague
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from service.domain.failures.failure import Failure

DEFAULT_DAYS: Final = 30  # until a known failure expires
MOST_DAYS: Final = 365
MAX_BUG: Final = 320  # characters, as of a URL


class TriageState(StrEnum):
    """The states of a known failure; expired ones, and those to be closed, are derived."""

    UNTRIAGED = "untriaged"  # proposed by Benchgate; waives nothing
    CONFIRMED = "confirmed"  # a bug of the project
    INFRASTRUCTURE = "infrastructure"  # a fault of machines or services
    INVALID = "invalid"  # no known failure; never proposed again
    FIXED = "fixed"


TRANSITIONS: Final[Mapping[TriageState, frozenset[TriageState]]] = MappingProxyType(
    {
        TriageState.UNTRIAGED: frozenset(
            {
                TriageState.CONFIRMED,
                TriageState.INFRASTRUCTURE,
                TriageState.INVALID,
                TriageState.FIXED,
            }
        ),
        TriageState.CONFIRMED: frozenset(
            {TriageState.INFRASTRUCTURE, TriageState.FIXED, TriageState.INVALID}
        ),
        TriageState.INFRASTRUCTURE: frozenset(
            {TriageState.CONFIRMED, TriageState.FIXED, TriageState.INVALID}
        ),
        TriageState.FIXED: frozenset({TriageState.CONFIRMED}),  # it came back
        TriageState.INVALID: frozenset(),
    }
)
ACTIVE: Final = frozenset({TriageState.CONFIRMED, TriageState.INFRASTRUCTURE})
CLOSED: Final = frozenset({TriageState.FIXED, TriageState.INVALID})
# Kinds that fail now and then without a fault of the change; the others, people alone make known.
PROPOSABLE: Final = frozenset(
    {
        FailureKind.TEST,
        FailureKind.SANITIZER,
        FailureKind.CRASH,
        FailureKind.TIMEOUT,
        FailureKind.MEMORY,
    }
)
# Their headline alone can be as vague as "timeout"; that of a compiler or a sanitizer names the fault.
_NEED_A_SUBJECT: Final = frozenset(
    {FailureKind.TEST, FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.MEMORY}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The builds that a known failure concerns; an empty branch, job or host stands for any."""

    instance: str
    project: str
    branch: str = ""
    job: str = ""
    host: str = ""

    def covers(self, place: Scope) -> bool:
        """Return whether a build at a place, of which every part is given, is in this scope."""
        return (self.instance, self.project) == (place.instance, place.project) and all(
            wanted in {"", given}
            for wanted, given in (
                (self.branch, place.branch),
                (self.job, place.job),
                (self.host, place.host),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A failure that people, or Benchgate, recognise.

    Args:
        id: its number.
        signature: the digest of the signature; None for a pattern.
        pattern: a regular expression for a failure's line; empty for a signature.
        scope: the builds that it concerns.
        bug: its id or URL; empty in a proposal.
        reason: the person's own words.
        owner: the display name of the person who made it known; empty in a proposal.
        assignee: who works on the bug; may be empty.
        state: the person's judgement.
        expires_at: the moment from which it waives nothing.
    """

    id: int
    signature: bytes | None
    pattern: str
    scope: Scope
    bug: str
    reason: str
    owner: str
    assignee: str
    state: TriageState
    expires_at: datetime

    def waives(self, at: datetime) -> bool:
        """Return whether failures that match do not count at a moment."""
        return self.state in ACTIVE and bool(self.bug) and at < self.expires_at

    def matches(self, digest: bytes | None, failure: Failure) -> bool:
        """Return whether a failure is this one, wherever it occurred.

        Args:
            digest: that of the failure's signature; None if the signature does not tell it from others.
            failure: whose line a pattern searches.
        """
        if self.signature is not None:
            return digest == self.signature
        pattern = _compiled(self.pattern)
        return pattern is not None and has_match(pattern, failure)


@dataclass(frozen=True, slots=True)
class KnownMatches:
    """The known failures that all failures of a build match, one for each failure, in order."""

    known: tuple[KnownFailure, ...]

    @property
    def distinct(self) -> tuple[KnownFailure, ...]:
        """Each known failure once."""
        return tuple({each.id: each for each in self.known}.values())


def is_specific(failure: Failure) -> bool:
    """Return whether the signature of a failure tells it from others.

    The end of a command (``Error 2``) is the same for all faults, and so are that of a linker, the report of
    a sanitizer without a function, and a time-out of an unknown thing. A known failure of such a signature
    would waive failures that nobody has seen.
    """
    if is_end(failure):
        return False
    return bool(failure.subject) or failure.kind not in _NEED_A_SUBJECT


@dataclass(frozen=True, slots=True)
class Ends:
    """The failures of a build of which none has a signature that can be made known.

    Args:
        lines: of the failures, each once.
        may_match: patterns can match them all.
    """

    lines: tuple[str, ...]
    may_match: bool


def only_ends(failures: Sequence[Failure]) -> Ends | None:
    """Return the ends of a build; None if it has no failures, or one that can be made known."""
    if not failures or any(map(is_specific, failures)):
        return None
    return Ends(tuple(dict.fromkeys(map(line_of, failures))), not any(map(is_end_without_a_word, failures)))


def line_of(failure: Failure) -> str:
    """Return the line of a failure, in which patterns search."""
    return failure.line or ": ".join(filter(None, (failure.subject, failure.headline)))


def has_match(pattern: Pattern, failure: Failure) -> bool:
    """Return whether a pattern matches the line of a failure, unless that is the end of many faults."""
    if is_end_without_a_word(failure):
        return False
    return pattern.search(line_of(failure).encode(errors="replace")) is not None


def match(
    failures: Sequence[Failure], place: Scope, known: Sequence[KnownFailure], at: datetime
) -> tuple[KnownFailure | None, ...]:
    """Find for each failure of a build the first known failure that waives it; None without one.

    Args:
        failures: of the build.
        place: where it ran; every part is given.
        known: in the order of preference.
        at: the moment of the decision. A known failure waives nothing from its expiry on.
    """
    waiving = [each for each in known if each.waives(at) and each.scope.covers(place)]
    return tuple(_first_match(waiving, one) if waiving else None for one in failures)


def complete(matches: Sequence[KnownFailure | None], *, is_cut: bool) -> KnownMatches | None:
    """Return the matches of a build if they excuse it: there are some, and no failure is without one.

    ``is_cut``: the build had more failures than are known of; any of them may be new.
    """
    found = tuple(each for each in matches if each is not None)
    return KnownMatches(found) if found and len(found) == len(matches) and not is_cut else None


def pattern_of(text: str) -> Pattern:
    """Compile the pattern of a known failure.

    Raises:
        BadInput: it is no pattern, or also matches a line that does not name what failed.
    """
    if not text.isprintable():  # a page could not show it as it is
        raise BadInput("the pattern has characters that cannot be shown; write them like \\x09", "pattern")
    pattern = Pattern(text)
    if is_vague(pattern):
        raise BadInput(
            "the pattern matches failures of any kind; write more of the failure's line", "pattern"
        )
    return pattern


def require_transition(old: TriageState, new: TriageState) -> None:
    """Raise BadInput unless a person may move a known failure from one state to another, or leave it."""
    if new is not old and new not in TRANSITIONS[old]:
        allowed = ", ".join(sorted(TRANSITIONS[old])) or "none"
        raise BadInput(f"cannot become {new}: it is {old}; allowed: {allowed}", "state")


def _first_match(known: Sequence[KnownFailure], failure: Failure) -> KnownFailure | None:
    # A signature takes hundreds of times as long as a comparison, so it is made once, whatever is known.
    digest = signature_of(failure).digest if is_specific(failure) else None
    return next((each for each in known if each.matches(digest, failure)), None)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Pattern | None:
    try:
        return Pattern(pattern)
    except BadInput:  # stored by a version with another engine
        return None
