"""Compare and judge the pairs of a build, for the service and for a local gate."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import may_join
from service.domain.measuring.pair_record import read_pairs
from service.domain.project.benchmark import Instructions
from service.domain.project.configuration import Work
from service.domain.runs.build_outcome import NOTHING_WITHHELD, UNDISTURBED, Judgement, judge
from service.domain.runs.pair_cost import cost_of_a_pair
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.calibration.control import Control
from service.domain.verdict.calibration.evidence import sessions_of
from service.domain.verdict.comparison.benchmark import JOIN_SHARE
from service.domain.verdict.comparison.counting_pairs import (
    DisturbedPairs,
    counting_launches,
    disturbed_pairs,
)
from service.domain.verdict.comparison.grown_functions import explain
from service.domain.verdict.comparison.instruction_counts import added_share, compare_counts
from service.domain.verdict.comparison.link_layout import confirm, suspects
from service.domain.verdict.comparison.second_opinion import second_opinion
from service.domain.verdict.comparison.suite import compare_suites, family_size, policy_for
from service.domain.verdict.inference.missing_pairs import with_missing_pairs
from service.domain.verdict.inference.reasons import OF_PATCH, Reason, ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Comparison, Verdict, first_decisive_look, least_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from service.domain.measuring.callgrind import Counts
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.measuring.pair_record import MeasuredPairs, PairRecord
    from service.domain.project.job import Job
    from service.domain.runs.build_outcome import Circumstances, Withheld
    from service.domain.verdict.comparison.grown_functions import Explained
    from service.domain.verdict.comparison.link_layout import Added
    from service.domain.verdict.inference.verdict import ComparedRow

    Controls = Mapping[ComparedRow, Control]
    Withhold = Callable[[Sequence[Comparison], Controls], Withheld]


def treat_as_unchanged(comparisons: Iterable[Comparison], suites: Collection[str]) -> tuple[Comparison, ...]:
    """Treat rows of these suites as the same program; the reason keeps the measured ratio."""
    return tuple(_as_unchanged(each) if each.row.suite in suites else each for each in comparisons)


def _as_unchanged(found: Comparison) -> Comparison:
    reasons = found.reasons
    match found.verdict:
        case Verdict.NEW | Verdict.FAILING:
            return found
        case Verdict.UNDECIDED if not found.pairs and has_kind(found.reasons, {ReasonKind.NO_PAIR}):
            reason = Reason(ReasonKind.SAME_PROGRAM)  # nothing was measured, or needed to be
            return found._replace(verdict=Verdict.SAME, reasons=(reason,))
        case Verdict.UNDECIDED if not found.pairs:
            return found
        case Verdict.SAME | Verdict.SLOWER | Verdict.FASTER | Verdict.UNDECIDED:
            facts = () if found.ratio is None else (found.ratio,)
            reason = Reason(ReasonKind.SAME_PROGRAM, facts)
            return found._replace(verdict=Verdict.SAME, reasons=(reason,), more_pairs=None)
        case Verdict.REMOVED:
            reasons = (Reason(ReasonKind.LISTED_ONCE),)
        case Verdict.BROKEN:  # the error came in one launch and not in another of the same program
            pass
    return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.SAME_PROGRAM), *reasons))


@dataclass(frozen=True, slots=True)
class Notes:
    """Facts beside the comparisons that a reader of a judgement should know.

    Args:
        same_program: the suites that have the same program on both sides.
        counted: the comparisons of instruction counts.
        is_counting_advisory: these do not vote.
        explained: what the instructions say of the benchmarks that became slower.
        disturbed: the pairs that other work disturbed.
        are_programs_kept_in_place: the programs are too large to be copied for every pair.
        pairs_to_prove: the least pairs that can prove a difference among this many benchmarks.
        are_tests: tests were measured, not benchmarks.
        too_short: number of tests that take too little time to be compared.
        warnings: distinct warnings of the reader.
    """

    same_program: tuple[str, ...] = ()
    counted: tuple[Comparison, ...] = ()
    is_counting_advisory: bool = True
    explained: tuple[Explained, ...] = ()
    disturbed: DisturbedPairs = field(default_factory=DisturbedPairs)
    are_programs_kept_in_place: bool = False
    pairs_to_prove: int = 0
    warnings: tuple[str, ...] = ()
    are_tests: bool = False
    too_short: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """Comparisons of a build, with the launches of the pairs that count, the judgement and the notes.

    ``controls`` have the pairs of the parent with itself, by row.
    """

    comparisons: tuple[Comparison, ...]
    launches: tuple[Launch, ...]
    judgement: Judgement
    notes: Notes
    listings: tuple[Listing, ...] = ()
    controls: Controls = field(default_factory=dict)


def all_may_vote(_rows: Sequence[Comparison], _controls: Controls) -> Withheld:
    """Withhold no vote, for lack of a history."""
    return NOTHING_WITHHELD


def judge_measured(
    job: Job,
    listings: Sequence[Listing],
    records: Iterable[PairRecord],
    withhold: Withhold = all_may_vote,
    circumstances: Circumstances = UNDISTURBED,
) -> Measured:
    """Read, compare and judge the pairs of a build.

    Args:
        job: the job, with the build's share of the patch set's false alarms.
        listings: the benchmarks to measure, fixed before the first launch.
        records: the records of all pairs.
        withhold: returns the rows that may not vote −1, each with its reason, given the build's controls.
        circumstances: as the machine reported them, without the missing pairs.
    """
    return judge_pairs(job, listings, read_pairs(records, job.benchmark.suites), withhold, circumstances)


def judge_pairs(
    job: Job,
    listings: Sequence[Listing],
    pairs: MeasuredPairs,
    withhold: Withhold = all_may_vote,
    circumstances: Circumstances = UNDISTURBED,
) -> Measured:
    """Compare and judge pairs that were read, as :func:`judge_measured` does."""
    job = replace(job, policy=policy_for(job.policy, listings))
    pairs = pairs.under_new_names(listings)
    launches = tuple(counting_launches(pairs.as_built, job.policy.base_pairs))
    as_built = _with_missing_pairs(job, listings, launches)
    rows = confirm(as_built, pairs.relinked, job.policy, _added(pairs.counts))
    rows = _with_second_opinion(job, listings, rows, pairs.second)
    counted = treat_as_unchanged(
        compare_counts(listings, pairs.counts, job.policy.floor), _same_program(listings)
    )
    controls = controls_of(job, listings, rows, launches, pairs.itself)
    withheld = withhold(rows, controls)
    rows = tuple(_with_control(row, controls.get(row.row), withheld.get(row.row)) for row in rows)
    explained = (
        row._replace(reasons=(*row.reasons, withheld[row.row])) if row.row in withheld else row
        for row in rows
    )
    notes = replace(
        _notes(job, listings, pairs.as_built, launches, counted),
        explained=explain(rows, pairs.counts, job.policy.floor),
    )
    # Benchmarks without a count are named in the notes; they leave a build undecided only if the patch alone
    # prevents the count.
    voting = (
        ()
        if notes.is_counting_advisory
        else (each for each in counted if each.verdict.is_decided or has_kind(each.reasons, OF_PATCH))
    )
    judgement = Judgement(Outcome.NO_PARENT)
    if any(listing.base for listing in listings):
        empty = [
            each.suite
            for each in listings
            # Tests that are too short did run.
            if each.base and not (each.patch or each.too_short or each.is_same_program)
        ]
        is_cut_short = any(not row.verdict.is_decided for row in as_built)
        measured = len({launch.pair for launch in launches})
        missing = max(0, decisive_pairs(job, listings) - measured) if is_cut_short else 0
        under = replace(circumstances, missing_pairs=missing)
        judgement = judge((*rows, *voting), job.policy, empty, withheld, under)
    return Measured((*explained, *counted), launches, judgement, notes, tuple(listings), controls)


def _with_second_opinion(
    job: Job, listings: Sequence[Listing], rows: tuple[Comparison, ...], launches: Sequence[Launch]
) -> tuple[Comparison, ...]:
    """Judge again the slower rows that the second opinion measured, by a single look at all its pairs."""
    if not launches:
        return rows
    counting = counting_launches(launches, job.policy.base_pairs)
    single = (len({each.pair for each in counting}),)
    asked = {(each.suite, name) for each in launches if each.side is Side.BASE for name in each.values}
    found = compare_suites(job.benchmark.suites, listings, counting, job.policy, single, joins=_joined(rows))
    second = {row.row: row for row in found}
    launched = Counter(
        (suite, name)
        for suite, _, name in {
            (each.suite, each.pair, name)
            for each in counting
            for name in (*each.values, *each.errors, *each.lost)
        }
    )
    return tuple(
        second_opinion(row, second[row.row], job.policy, launched[row.row.suite, row.row.benchmark])
        if row.row in second and (row.row.suite, row.row.benchmark) in asked
        else row
        for row in rows
    )


def _joined(rows: Iterable[Comparison]) -> frozenset[tuple[str, str]]:
    """Return where real time joined: the first five pairs of the programs as built decided that once."""
    return frozenset(
        (row.suite, row.benchmark)
        for row in (each.row for each in rows)
        if row.metric.name == "real_time" and may_join(row.benchmark)
    )


def controls_of(
    job: Job,
    listings: Sequence[Listing],
    rows: Sequence[Comparison],
    as_built: Sequence[Launch],
    launches: Sequence[Launch],
) -> Controls:
    """Make a control of each row that was measured against itself, on the machine that found the row.

    ``rows`` and ``as_built`` are of the programs as built, which count; ``launches`` are all of the control.
    """
    counting = counting_launches(launches, job.policy.base_pairs)
    if not counting:
        return {}
    machines = machines_of((*as_built, *counting))
    kept = {each.suite for each in counting if each.is_kept_in_place}
    found = compare_suites(job.benchmark.suites, listings, counting, job.policy, joins=_joined(rows))
    sessions = sessions_of(found, counting, {each.suite for each in counting})
    return {
        row: Control(session, row.suite in kept, *machines[row.suite, row.benchmark])
        for row, session in sessions.items()
        if len(machines[row.suite, row.benchmark]) == 1
    }


def machines_of(launches: Iterable[Launch]) -> Mapping[tuple[str, str], set[str]]:
    """Map suite and name of each benchmark to the machines that launched it."""
    found = defaultdict[tuple[str, str], set[str]](set)
    for each in launches:
        for name in each.values:
            found[each.suite, name].add(each.machine)
    return found


# They say themselves what the control showed.
_WITH_CONTROL: Final = frozenset({ReasonKind.OWN_DIFFERENCE, ReasonKind.OPEN_CONTROL})


def _with_control(row: Comparison, control: Control | None, withheld: Reason | None) -> Comparison:
    """Say beside a slower row how much slower the parent is than itself, unless that withholds its vote."""
    is_shown = control is not None and row.verdict is Verdict.SLOWER and control.covers(row)
    if control is None or not is_shown or (withheld and withheld.kind in _WITH_CONTROL):
        return row
    return row._replace(reasons=(*row.reasons, Reason(ReasonKind.CONTROL, control.facts)))


def decisive_pairs(job: Job, listings: Sequence[Listing]) -> int:
    """Compute the pairs of the first look that can find a difference of any row."""
    family = family_size(job.benchmark.suites, listings)
    if any(not suite.metrics for suite in job.benchmark.suites):
        family /= JOIN_SHARE  # real time that joins has this share of a row's error
    return first_decisive_look(job.policy, family)


def suspected_of_layout(
    job: Job, listings: Sequence[Listing], launches: Sequence[Launch], counts: Counts
) -> tuple[Comparison, ...]:
    """List the comparisons that count only if relinked programs confirm them.

    ``launches`` are the counting ones of the programs as built.
    """
    policy = policy_for(job.policy, listings)
    return suspects(_compare(job, listings, launches), policy, _added(counts))


def slow_downs(
    job: Job, listings: Sequence[Listing], launches: Sequence[Launch], record: MeasuredPairs
) -> tuple[Comparison, ...]:
    """List the slow-downs that vote −1 unless their history withholds it, before any second opinion.

    ``launches`` are the counting ones in ``record`` of the programs as built.
    """
    policy = policy_for(job.policy, listings)
    rows = confirm(_compare(job, listings, launches), record.relinked, policy, _added(record.counts))
    large = (row for row in rows if row.worsening >= policy.votes_from(row.row.benchmark))
    return tuple(row for row in large if row.verdict is Verdict.SLOWER)


def _compare(job: Job, listings: Sequence[Listing], launches: Sequence[Launch]) -> tuple[Comparison, ...]:
    return treat_as_unchanged(
        compare_suites(job.benchmark.suites, listings, launches, job.policy), _same_program(listings)
    )


def _with_missing_pairs(
    job: Job, listings: Sequence[Listing], launches: Sequence[Launch]
) -> tuple[Comparison, ...]:
    """Compare, and add to each undecided row what it would take to decide it."""
    suites = job.benchmark.suites
    cost = cost_of_a_pair(suites, listings, launches)
    charged = cost_of_a_pair(suites, listings, launches, is_charged=True).taken
    return tuple(
        with_missing_pairs(row, cost.alone(key), job.policy, charged.get(key, 0.0))
        for row in _compare(job, listings, launches)
        for key in [(row.row.suite, row.row.benchmark)]
    )


def _same_program(listings: Sequence[Listing]) -> list[str]:
    return [listing.suite for listing in listings if listing.is_same_program]


def _added(counts: Counts) -> Added:
    return lambda row: added_share(counts, row.suite, row.benchmark)


def _notes(
    job: Job,
    listings: Sequence[Listing],
    everything: Sequence[Launch],
    launches: Sequence[Launch],
    counted: Sequence[Comparison],
) -> Notes:
    family = family_size(job.benchmark.suites, listings)
    return Notes(
        same_program=tuple(_same_program(listings)),
        counted=tuple(counted),
        is_counting_advisory=job.benchmark.instructions is not Instructions.VOTE,
        disturbed=disturbed_pairs(everything, job.policy.base_pairs),
        are_programs_kept_in_place=any(launch.is_kept_in_place for launch in launches),
        pairs_to_prove=least_budget(job.policy, family) if family else 0,
        warnings=tuple(dict.fromkeys(text for launch in launches for text in launch.warnings)),
        are_tests=job.configuration.work is Work.TESTS,
        too_short=sum(listing.too_short for listing in listings),
    )
