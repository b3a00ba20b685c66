"""Known failures as pages read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from service.domain.failures.evidence import ExplainingMachine, Proposal, Rate
from service.domain.failures.failure import FailureKind
from service.domain.failures.known import ACTIVE, TriageState
from service.domain.failures.signature import Signature
from service.domain.values.search import EVERYTHING
from service.ports.failures.bugs import Bug
from service.ports.runs.shown import PAGES_ONLY

if TYPE_CHECKING:
    from service.domain.failures.known import Scope
    from service.domain.failures.output.linear import Pattern
    from service.domain.values.search import Words


class KnownStatus(StrEnum):
    """States of known failures; time turns an active one into an expired one."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    EXPIRED = "expired"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRow:
    """A known failure in a list, with its builds of the last 30 days.

    Args:
        id: its number.
        state: the judgement of a person.
        kind: of the failure; empty for a pattern.
        subject: the failing thing; empty for a pattern.
        text: of the signature, or the pattern.
        instance: the review server.
        project: the project of its builds.
        branch: empty: all.
        job: empty: all.
        host: empty: all.
        bug: the bug's id or URL.
        tracked: the bug as its tracker described it last; None without a tracker or an answer.
        reason: of the person who made it known.
        owner: that person; empty in a proposal.
        assignee: may be empty.
        created_at: the moment when it was proposed or made known.
        expires_at: it waives nothing from this moment on.
        is_expired: that moment has come.
        failed: builds in its scope that had it.
        builds: builds in its scope; of a pattern, those that ended since it was added, or that it matches.
        since: those after the last that had it.
        last_seen_at: the end of the last build that had it; None: there was none.
        is_unseen: it is older than these 30 days, and none of their builds had it.
        waives: a build with no other failure passes. The text of one in force may be too vague for that.
    """

    id: int
    state: TriageState
    kind: str
    subject: str
    text: str
    instance: str
    project: str
    branch: str
    job: str
    host: str
    bug: str
    tracked: Bug | None
    reason: str
    owner: str
    assignee: str
    created_at: datetime
    expires_at: datetime
    is_expired: bool
    failed: int
    builds: int
    since: int
    last_seen_at: datetime | None
    is_unseen: bool
    waives: bool

    @property
    def covers_any_failure(self) -> bool:
        """True if nothing is known of it except the test that failed."""
        return (
            bool(self.kind) and Signature(FailureKind(self.kind), self.subject, self.text).covers_any_failure
        )

    @property
    def is_bug_closed(self) -> bool:
        """True if it is active, and the tracker says that its bug is closed."""
        return self.status is KnownStatus.ACTIVE and self.tracked is not None and self.tracked.is_closed

    @property
    def status(self) -> KnownStatus:
        """The list that it is in."""
        if self.state is TriageState.UNTRIAGED:
            return KnownStatus.PROPOSED
        if self.state not in ACTIVE:
            return KnownStatus.CLOSED
        return KnownStatus.EXPIRED if self.is_expired else KnownStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingKnown:
    """A known failure that still waives builds, and needs somebody: it expires soon, or its bug is closed.

    ``name`` is the failing thing, or the text of its signature or pattern.
    """

    id: int
    name: str
    bug: str
    expires_at: datetime
    is_bug_closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    """The builds of one day in the scope of a known failure."""

    day: date
    failed: int
    builds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingRow:
    """A build that had a known failure. ``is_waived``: all its failures were known, so it did not count."""

    job: str
    number: int
    machine: str
    finished_at: datetime
    line: str
    change_address: str | None
    patch_set: int | None
    run_id: int
    is_waived: bool


@dataclass(frozen=True, slots=True)
class KnownDetail:
    """A known failure with its evidence.

    Args:
        row: the known failure.
        days: the days of the last 30 that had builds, oldest first.
        sightings: the newest builds that had it.
        hosts: the builds of each host, in its scope.
        machines: it is more frequent on these than by chance.
        proposal: the grounds to call it intermittent; None without one.
        groups: a person must be in all of these to change it: one for each branch in its scope that built
            lately; an empty name: the branch names none.
        matched: all builds that known failures of its bug in the project matched.
    """

    row: KnownRow
    days: tuple[DayRow, ...]
    sightings: tuple[SightingRow, ...]
    hosts: Mapping[str, Rate]
    machines: tuple[ExplainingMachine, ...]
    proposal: Proposal | None
    groups: tuple[str, ...] = field(metadata=PAGES_ONLY)
    matched: int


@dataclass(frozen=True, slots=True)
class PatternExample:
    """A failure that a pattern matches, and its build."""

    job: str
    number: int
    line: str


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """The failures of the last 30 days in a scope, and those that a pattern matches.

    Args:
        failures: all that were searched.
        matched: those that the pattern matches.
        builds: those that have such a failure.
        examples: some of them, the newest first.
        is_cut: there are older ones, which were not searched.
    """

    failures: int
    matched: int
    builds: int
    examples: tuple[PatternExample, ...]
    is_cut: bool


class FailureReading(Protocol):
    """Known failures as a viewer sees them: one is hidden with its project, or if all its builds are."""

    def known_failures(
        self, status: KnownStatus, limit: int, words: Words = EVERYTHING, before: int | None = None
    ) -> Sequence[KnownRow]:
        """Return the known failures of a list that match all words: the last made known first.

        Each word must occur in the failure or pattern, project, branch, job, host, bug, reason or a name.
        ``before`` is the last id of the previous page.
        """

    def ending(self, days: int, limit: int) -> Sequence[EndingKnown]:
        """Return active known failures that expire within some days, or whose bug is closed.

        The first to expire comes first.
        """

    def known_failure(self, known_id: int) -> KnownDetail:
        """Return a known failure; raises NotFound."""

    def statuses(self, words: Words = EVERYTHING) -> Mapping[KnownStatus, int]:
        """Return how many known failures with these words each list has."""

    def projects(self) -> Sequence[tuple[str, str]]:
        """Return instance and name of each project that has changes, in order."""

    def groups_of(self, scope: Scope) -> tuple[str, ...]:
        """Return the groups that may make failures of a scope known, as those of a known failure.

        NotFound if no build ran in the scope in 30 days.
        """

    def matching(self, pattern: Pattern, scope: Scope) -> PatternMatches:
        """Search the failures of failed builds of the last 30 days in a scope, as a decision would."""
