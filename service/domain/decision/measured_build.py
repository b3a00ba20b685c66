"""What the stored pairs of a build say, for the service and for a desk alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.comparison.disturbance import counting_launches, sentences
from service.domain.comparison.identical_binaries import same_program_causes, treat_as_unchanged
from service.domain.comparison.link_layout import confirm, suspects, variant_of
from service.domain.comparison.suite import Listing, compare_suites, family_size
from service.domain.decision.judgement import Judgement, judge
from service.domain.decision.vote import Outcome
from service.domain.inference.verdict import least_budget, with_what_it_takes
from service.domain.measuring.instruction_counts import added_share, compare_counts, counts_in
from service.domain.measuring.instructions import causes_of
from service.domain.measuring.pair_record import read_pair
from service.domain.project.benchmark import Instructions
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.comparison.link_layout import Added
    from service.domain.identity import Side
    from service.domain.inference.verdict import ComparedRow, Comparison
    from service.domain.measuring.instruction_counts import Counts
    from service.domain.project.benchmark import Suite
    from service.domain.project.job import Job

_SHOWN: Final = 3  # warnings of the reader that a message repeats


@dataclass(frozen=True, slots=True)
class Measured:
    """The comparisons of a build, what they rest on and what they mean.

    ``launches`` are those of the pairs that count.
    """

    comparisons: tuple[Comparison, ...]
    launches: tuple[Launch, ...]
    judgement: Judgement


def all_may_vote(rows: Sequence[Comparison]) -> Mapping[ComparedRow, str]:  # noqa: ARG001 - asked of no row
    """Withholds no vote: for those who judge without history."""
    return {}


def judge_measured(
    job: Job,
    listing: Sequence[Mapping[str, Any]],
    records: Iterable[tuple[int, bytes]],
    machine: str,
    withhold: Callable[[Sequence[Comparison]], Mapping[ComparedRow, str]] = all_may_vote,
) -> Measured:
    """Compare and judge the pairs of a build.

    Args:
        job: with the build's part of the patch set's false alarms.
        listing: what was to be measured, as it was fixed before the first launch.
        records: number and raw record of each pair.
        machine: where it was measured, for the causes.
        withhold: which of the rows that were measured in pairs may not vote −1, and why.
    """
    listings = [Listing.from_mapping(each) for each in listing]
    everything, relinked, counts = _read(records, job.benchmark.suites)
    launches = tuple(counting_launches(everything, job.policy.max_pairs))
    as_built = _with_time(_compare(job, listings, launches), launches)
    rows = confirm(as_built, relinked, job.policy, _added(counts))
    repeated = sentences(everything, job.policy.max_pairs)
    counted = treat_as_unchanged(compare_counts(listings, counts, job.policy.floor), _same_program(listings))
    withheld = withhold(rows)
    judgement = _judge(job, listings, rows, counted, launches, repeated, machine, withheld)
    return Measured((*_told(rows, withheld), *counted), launches, judgement)


def _with_time(rows: Sequence[Comparison], launches: Sequence[Launch]) -> tuple[Comparison, ...]:
    """The rows, where more pairs would decide with how long these would take, by the last pair of each."""
    seconds = _seconds_of_a_pair(launches)
    return tuple(with_what_it_takes(row, seconds.get((row.row.suite, row.row.benchmark))) for row in rows)


def _seconds_of_a_pair(launches: Sequence[Launch]) -> dict[tuple[str, str], float]:
    """By suite and benchmark, what its part of the last pair took."""
    found: dict[tuple[str, str], dict[Side, float]] = {}
    for launch in launches:
        for name in launch.values:
            found.setdefault((launch.suite, name), {})[launch.side] = launch.seconds / len(launch.values)
    return {key: sum(sides.values()) for key, sides in found.items()}


def _told(rows: Sequence[Comparison], withheld: Mapping[ComparedRow, str]) -> tuple[Comparison, ...]:
    """The rows, where a vote is withheld with the reason."""
    return tuple(
        replace(row, reason="; ".join(filter(None, (row.reason, f"no vote: {withheld[row.row]}"))))
        if row.row in withheld
        else row
        for row in rows
    )


def suspected_of_layout(
    job: Job, listings: Sequence[Listing], records: Iterable[tuple[int, bytes]]
) -> tuple[Comparison, ...]:
    """The comparisons that :func:`judge_measured` believes only once relinks confirm them."""
    everything, _, counts = _read(records, job.benchmark.suites)
    launches = counting_launches(everything, job.policy.max_pairs)
    return suspects(_compare(job, listings, launches), job.policy, _added(counts))


def _compare(job: Job, listings: Sequence[Listing], launches: Sequence[Launch]) -> tuple[Comparison, ...]:
    return treat_as_unchanged(
        compare_suites(job.benchmark.suites, listings, launches, job.policy), _same_program(listings)
    )


def _same_program(listings: Sequence[Listing]) -> list[str]:
    return [listing.suite for listing in listings if listing.is_same_program]


def _added(counts: Counts) -> Added:
    return lambda row: added_share(counts, row.suite, row.benchmark)


def _read(
    records: Iterable[tuple[int, bytes]], suites: Sequence[Suite]
) -> tuple[list[Launch], list[Launch], Counts]:
    """The launches of the programs as built, those of their relinks, and the instructions counted."""
    as_built: list[Launch] = []
    relinked: list[Launch] = []
    counts: Counts = {}
    for pair, raw in records:
        (relinked if variant_of(pair) else as_built).extend(read_pair(pair, raw, suites))
        if pair == 0:
            counts = counts_in(raw)
    return as_built, relinked, counts


def _judge(
    job: Job,
    listings: Sequence[Listing],
    rows: Sequence[Comparison],
    counted: Sequence[Comparison],
    launches: Sequence[Launch],
    repeated: Sequence[str],
    machine: str,
    withheld: Mapping[ComparedRow, str],
) -> Judgement:
    if not any(listing.base for listing in listings):
        cause = "nothing to compare with: the parent has no benchmark that the filters choose"
        return Judgement(Outcome.NO_PARENT, (cause,))
    empty = [each.suite for each in listings if each.base and not each.patch and not each.is_same_program]
    is_advisory = job.benchmark.instructions is not Instructions.VOTE
    # What could not be counted is said below; it must not make a decided build undecided.
    voting = () if is_advisory else tuple(each for each in counted if each.verdict.is_decided)
    found = judge((*rows, *voting), job.policy, machine, empty, withheld)
    causes = (
        *found.causes,
        *same_program_causes(_same_program(listings)),
        *causes_of(counted, is_advisory=is_advisory),
        *repeated,
        *_kept_in_place(launches),
        *_too_few_pairs(job, listings),
        *_warnings(launches),
    )
    return Judgement(found.outcome, causes, found.blamed)


def _kept_in_place(launches: Sequence[Launch]) -> list[str]:
    if not any(launch.is_kept_in_place for launch in launches):
        return []
    return [
        "the programs are too large to be copied for every pair: a difference may come from where they lie"
    ]


def _too_few_pairs(job: Job, listings: Sequence[Listing]) -> list[str]:
    """That the budget of pairs is too small for the family to prove any difference."""
    family = family_size(job.benchmark.suites, listings)
    least = least_budget(job.policy, family)
    if family == 0 or least <= job.policy.max_pairs:
        return []
    return [f"max_pairs is {job.policy.max_pairs}: with so many benchmarks {least} can prove a difference"]


def _warnings(launches: Sequence[Launch]) -> list[str]:
    said = list(dict.fromkeys(text for launch in launches for text in launch.warnings))
    more = [f"{len(said) - _SHOWN} more warnings about results"] if len(said) > _SHOWN else []
    return [f"warning: {plain(text)}" for text in said[:_SHOWN]] + more
