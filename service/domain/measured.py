"""What the stored pairs of a build say, for the service and for a desk alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.judgement import Judgement, judge
from service.domain.pair_record import read_pair
from service.domain.samples import Launch, Listing, compare_all
from service.domain.text import plain
from service.domain.vote import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.project_file import Job
    from service.domain.verdict import Comparison

_SHOWN: Final = 3  # warnings of the reader that a message repeats


@dataclass(frozen=True, slots=True)
class Measured:
    """The comparisons of a build, what they rest on and what they mean."""

    comparisons: tuple[Comparison, ...]
    launches: tuple[Launch, ...]
    judgement: Judgement


def judge_measured(
    job: Job, listing: Sequence[Mapping[str, Any]], records: Iterable[tuple[int, bytes]], machine: str
) -> Measured:
    """Compare and judge the pairs of a build.

    Args:
        job: with the build's part of the patch set's false alarms.
        listing: what was to be measured, as it was fixed before the first launch.
        records: number and raw record of each pair.
        machine: where it was measured, for the causes.
    """
    listings = [Listing(each["suite"], tuple(each["base"]), tuple(each["patch"])) for each in listing]
    launches = tuple(each for pair, raw in records for each in read_pair(pair, raw, job.suites))
    rows = compare_all(job.suites, listings, launches, job.policy)
    return Measured(rows, launches, _judge(job, listings, rows, launches, machine))


def _judge(
    job: Job,
    listings: Sequence[Listing],
    rows: Sequence[Comparison],
    launches: Sequence[Launch],
    machine: str,
) -> Judgement:
    if not any(listing.base for listing in listings):
        cause = "nothing to compare with: the parent has no benchmark that the filters choose"
        return Judgement(Outcome.NO_PARENT, (cause,))
    empty = [listing.suite for listing in listings if listing.base and not listing.patch]
    found = judge(rows, job.policy, machine, empty)
    return Judgement(found.outcome, (*found.causes, *_warnings(launches)))


def _warnings(launches: Sequence[Launch]) -> list[str]:
    said = list(dict.fromkeys(text for launch in launches for text in launch.warnings))
    more = [f"{len(said) - _SHOWN} more warnings about results"] if len(said) > _SHOWN else []
    return [f"warning: {plain(text)}" for text in said[:_SHOWN]] + more
