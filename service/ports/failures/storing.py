"""Failures of builds, known failures and their matches, as a unit of work stores them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol

from service.domain.failures.evidence import ParentBuild, Rate, Sighting
from service.domain.failures.failure import Failure
from service.domain.failures.known import KnownFailure, KnownMatches, Scope, TriageState, complete
from service.domain.failures.signature import Signature
from service.ports.access import Author

# Matches of a run: known failures by build and place in its list of failures.
Matches = Mapping[tuple[int, int], KnownFailure]


@dataclass(frozen=True, slots=True)
class BuildFailures:
    """The failures of a build. ``is_cut``: there were more, or some that nothing recognises."""

    failures: tuple[Failure, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class KnownNow:
    """The known failures of a project that people confirmed, and the database's time.

    ``expired`` are the last ones that waive nothing any more, the newest first.
    """

    at: datetime
    known: tuple[KnownFailure, ...]
    expired: tuple[KnownFailure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKnown:
    """A failure that a person makes known: a signature, or a pattern; the other one is empty."""

    signature: Signature | None = None
    pattern: str = ""
    scope: Scope
    bug: str
    reason: str
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChange:
    """The new values of a known failure. ``days``: until it expires, from now; None: as before."""

    state: TriageState
    bug: str
    assignee: str
    days: int | None = None


@dataclass(frozen=True, slots=True)
class UnknownSignature:
    """A signature without a known failure in a scope, with its builds."""

    signature: bytes
    scope: Scope
    sightings: tuple[Sighting, ...]


class Failures(Protocol):
    """The failures of builds, and the known failures that they match in a run."""

    def store_failures(self, build_id: int, found: BuildFailures, cleared: Sequence[Failure] = ()) -> None:
        """Replace the failures of a build, each with its signature.

        Those that a retry ``cleared`` are sightings of their signatures and nothing else: they neither fail
        the build nor need a known failure.
        """

    def failures_of(self, build_ids: Sequence[int]) -> Mapping[int, BuildFailures]:
        """Return the failures of builds that count, in their order; a build without any is left out."""

    def known_now(self, instance: str, project: str) -> KnownNow:
        """Return the confirmed known failures of a project by their ids, the expired ones apart.

        None that is not expired changes until the transaction ends.
        """

    def keep_matches(self, run_id: int, matches: Mapping[tuple[int, int], int]) -> None:
        """Store the ids of known failures by build and place of the failure; what is stored already stays."""

    def matches_of(self, run_id: int) -> Matches:
        """Return the matches that a run keeps, with the known failures as they are now."""

    def on_parent(self, run_id: int, build_ids: Collection[int]) -> Mapping[int, tuple[ParentBuild, ...]]:
        """Return for builds of a run what also fails in a finished build of the same job of the run's parent.

        A build of the parent is one of that commit, or of an equal tree; the newest with a failure counts.
        """

    def rates_of(self, known_ids: Sequence[int]) -> Mapping[int, Rate]:
        """Return how many builds of the last 30 days in the scope of known failures had them.

        The builds of a pattern are those that ended since it was added, or that it matches.
        """


class KnownFailures(Protocol):
    """Known failures and proposals of them; each act is recorded in the audit log."""

    def make(self, new: NewKnown, author: Author) -> KnownFailure:
        """Confirm a failure with a bug: make a known failure, or renew the one of this scope.

        An invalid one stays so; another is made beside it. A signature without failures is stored, too:
        failures may have been signed by other rules.
        """

    def lock(self, known_id: int) -> KnownFailure:
        """Return a known failure, locked until the transaction ends; raises NotFound."""

    def change(self, known_id: int, change: KnownChange, author: Author) -> KnownFailure:
        """Replace values of a known failure."""

    def unknown_signatures(self) -> Sequence[UnknownSignature]:
        """Return signatures of tests, sanitizers, crashes, time-outs and full memory of the last 30 days.

        Those with a known failure of their project, branch and job, in any state, are left out.
        """

    def propose(self, found: UnknownSignature, grounds: Sequence[str]) -> int | None:
        """Store a proposal, which waives nothing; return its id, None if there is a known failure by now."""


@dataclass(frozen=True, slots=True)
class MatchedFailures:
    """The failures of a build with the known failure of each. ``is_cut``: there were more.

    ``expired`` has by place those that matched too late.
    """

    failures: Sequence[tuple[Failure, KnownFailure | None]]
    is_cut: bool
    expired: Mapping[int, KnownFailure]

    @property
    def waiver(self) -> KnownMatches | None:
        """The known failures if each failure has one, which waives the build."""
        return complete([known for _, known in self.failures], is_cut=self.is_cut)


def matched_by_build(
    stored: Failures, run_id: int, expired: Matches = MappingProxyType({})
) -> Mapping[int, MatchedFailures]:
    """Return the builds with a failure that was known when they were decided, or ``expired`` before.

    A known failure that expired since still counts.
    """
    kept = stored.matches_of(run_id)
    concerned = {build for build, _ in (*kept, *expired)}
    found = stored.failures_of(sorted(concerned)) if concerned else {}
    return {
        build: MatchedFailures(
            [(failure, kept.get((build, place))) for place, failure in enumerate(each.failures)],
            each.is_cut,
            {place: known for (of, place), known in expired.items() if of == build},
        )
        for build, each in found.items()
    }


def known_by_build(stored: Failures, run_id: int) -> Mapping[int, KnownMatches]:
    """Return the known failures of the builds that had no other failures when they were decided."""
    matched = {build: each.waiver for build, each in matched_by_build(stored, run_id).items()}
    return {build: each for build, each in matched.items() if each is not None}


PROPOSER: Final = "benchgate"  # the actor of proposals


def known_subject(known: KnownFailure) -> str:
    """Name a known failure: ``known failure 7``."""
    return f"known failure {known.id}"


def known_details(known: KnownFailure, author: Author) -> Mapping[str, str]:
    """Return a known failure's new details for the log, without empty values."""
    details = {
        "person": author.name,
        "signed in as": author.signed_in_as,
        **_scope_details(known.scope),
        "pattern": known.pattern,
        "signature": known.signature.hex() if known.signature else "",
        "state": known.state,
        "bug": known.bug,
        "reason": known.reason,
        "assignee": known.assignee,
        "expires at": f"{known.expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    return {name: value for name, value in details.items() if value}


def proposal_details(found: UnknownSignature, grounds: Sequence[str]) -> Mapping[str, str]:
    """Return a proposal's details for the log."""
    return {
        **_scope_details(found.scope),
        "signature": found.signature.hex(),
        "grounds": ", ".join(grounds),
    }


def _scope_details(scope: Scope) -> dict[str, str]:
    return {
        "project": f"{scope.instance}~{scope.project}",
        "branch": scope.branch,
        "job": scope.job,
        "host": scope.host,
    }
