"""Match failures with known ones, which have a bug and do not count until they expire."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.failure import FailureKind
from service.domain.failures.naming import names_cause
from service.domain.failures.output.ends import KnownBy, is_specific, known_by
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
MAX_BUG: Final = 320  # characters; it may be a URL


class TriageState(StrEnum):
    """States of a known failure. Whether it expired or should be closed is derived."""

    UNTRIAGED = "untriaged"  # proposed by Benchgate; waives nothing
    CONFIRMED = "confirmed"  # a bug of the project
    INFRASTRUCTURE = "infrastructure"  # a fault of machines or services
    INVALID = "invalid"  # rejected; never proposed again
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
# Kinds that may be intermittent. Only people make others known.
PROPOSABLE: Final = frozenset(
    {
        FailureKind.TEST,
        FailureKind.SANITIZER,
        FailureKind.CRASH,
        FailureKind.TIMEOUT,
        FailureKind.MEMORY,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The builds that a known failure applies to; an empty branch, job or host means any."""

    instance: str
    project: str
    branch: str = ""
    job: str = ""
    host: str = ""

    def covers(self, place: Scope) -> bool:
        """Return whether a build is in this scope; ``place`` has all its parts."""
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
    """A known failure, or a proposal of one.

    Args:
        id: its number.
        signature: the digest of the signature; None if it has a pattern.
        pattern: a regular expression for a failure's line; empty if it has a signature.
        scope: the builds that it applies to.
        bug: ID or URL; empty in a proposal.
        reason: the person's own words.
        owner: the display name of the person who made it known; empty in a proposal.
        assignee: who works on the bug; may be empty.
        state: the person's judgement.
        expires_at: it waives nothing from then on.
        text: of the signature; empty if it has a pattern.
        is_bug_closed: the tracker says that the bug is closed.
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
    text: str = ""
    is_bug_closed: bool = False

    def waives(self, at: datetime) -> bool:
        """Return whether matching failures do not count at that time."""
        return self.state in ACTIVE and bool(self.bug) and at < self.expires_at

    def matches(self, digest: bytes | None, failure: Failure) -> bool:
        """Return whether a failure is this one, in any scope.

        Args:
            digest: of the failure's signature; None if that is unspecific.
            failure: its line is searched by a pattern.
        """
        if self.signature is not None:
            return digest == self.signature
        pattern = compiled(self.pattern)
        return pattern is not None and has_match(pattern, failure)


class Match(NamedTuple):
    """A known failure for a failure of a build: one that waives it, or one to compare it with.

    Args:
        known: the known failure that waives it.
        alike: the one with its signature, if that names no cause: a person compares.
    """

    known: KnownFailure | None = None
    alike: KnownFailure | None = None


class LookAlike(NamedTuple):
    """A failure of a job that may be a known one: a person compares it with the known one's ``text``.

    ``beside`` names the other failures of its build that count: an override passes them, too.
    """

    job: str
    failure: Failure
    bug: str
    text: str
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownMatches:
    """The known failures of a build, one for each of its failures, in order."""

    known: tuple[KnownFailure, ...]

    @property
    def distinct(self) -> tuple[KnownFailure, ...]:
        """Each known failure once."""
        return tuple({each.id: each for each in self.known}.values())


@dataclass(frozen=True, slots=True)
class Ends:
    """Failures of a build without any specific signature.

    Args:
        lines: the lines of the failures, each once.
        may_match: patterns can match them all.
    """

    lines: tuple[str, ...]
    may_match: bool


def only_ends(failures: Sequence[Failure]) -> Ends | None:
    """Return the failures of a build if all are unspecific; None if some is specific or there are none."""
    ways = set(map(known_by, failures))
    if not failures or KnownBy.SIGNATURE in ways:
        return None
    return Ends(tuple(dict.fromkeys(map(line_of, failures))), KnownBy.NOTHING not in ways)


def names_beside(failure: Failure, counting: Sequence[Failure]) -> tuple[str, ...]:
    """Name the other failures of a build, each once."""
    names = dict.fromkeys(each.subject or each.headline for each in counting)
    return tuple(name for name in names if name != (failure.subject or failure.headline))


def line_of(failure: Failure) -> str:
    """Return the line of a failure that patterns search."""
    return failure.line or ": ".join(filter(None, (failure.subject, failure.headline)))


def has_match(pattern: Pattern, failure: Failure) -> bool:
    """Return whether a pattern matches the line of a failure; it never matches a line of many faults."""
    is_line_of_many = known_by(failure) is KnownBy.NOTHING
    return not is_line_of_many and pattern.search(line_of(failure).encode(errors="replace")) is not None


def match(
    failures: Sequence[Failure], place: Scope, known: Sequence[KnownFailure], at: datetime
) -> tuple[Match, ...]:
    """Find for each failure of a build the first known failure that waives it, or else that looks alike.

    Args:
        failures: of the build.
        place: where it ran; all parts are given.
        known: in order of preference.
        at: the time of the decision.
    """
    return match_any(failures, place, [each for each in known if each.waives(at)])


def match_any(failures: Sequence[Failure], place: Scope, known: Sequence[KnownFailure]) -> tuple[Match, ...]:
    """Find for each failure of a build the first known failure, or one that looks alike, active or not."""
    here = [each for each in known if each.scope.covers(place)]
    return tuple(_first_match(here, one) if here else Match() for one in failures)


def complete(matches: Sequence[KnownFailure | None], *, is_cut: bool) -> KnownMatches | None:
    """Return the matches of a build if every failure has one; None if it has other failures, or none.

    ``is_cut``: the list of failures is cut, so some may be new.
    """
    found = tuple(each for each in matches if each is not None)
    return KnownMatches(found) if found and len(found) == len(matches) and not is_cut else None


def pattern_of(text: str) -> Pattern:
    """Compile the pattern of a known failure.

    Raises:
        BadInput: it is invalid, or also matches lines that do not name what failed.
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
    """Raise BadInput unless a person may change a known failure's state so; keeping it is allowed."""
    if new is not old and new not in TRANSITIONS[old]:
        allowed = ", ".join(sorted(TRANSITIONS[old])) or "none"
        raise BadInput(f"cannot become {new}: it is {old}; allowed: {allowed}", "state")


def _first_match(known: Sequence[KnownFailure], failure: Failure) -> Match:
    # A signature takes hundreds of times as long as a comparison, so compute it once.
    signature = signature_of(failure) if is_specific(failure) else None
    digest = signature.digest if signature else None
    matching = [each for each in known if each.matches(digest, failure)]
    if signature and not names_cause(signature, failure.line):
        by_pattern = (each for each in matching if each.signature is None)
        return Match(next(by_pattern, None), next((e for e in matching if e.signature is not None), None))
    return Match(next(iter(matching), None))


@lru_cache(maxsize=4096)  # more than a project has, so that no build compiles them again
def compiled(pattern: str) -> Pattern | None:
    """Compile a stored pattern; None if this version cannot read it."""
    try:
        return Pattern(pattern)
    except BadInput:  # stored by a version with another engine
        return None
