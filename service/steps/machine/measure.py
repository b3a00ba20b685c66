"""Measuring of base and patch in pairs, until every benchmark is decided or the budget is spent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from service.domain.comparison.benchmark_filter import is_chosen
from service.domain.comparison.counting_pairs import allowance, counting_launches, counting_pairs, pairs_of
from service.domain.comparison.suite import (
    Listing,
    compare_suites,
    family_size,
    looks_of,
    undecided_benchmarks,
)
from service.domain.identity import Side
from service.domain.inference.verdict import first_decisive_look
from service.domain.measuring.instruction_counts import with_counts
from service.domain.measuring.measured_pairs import read_pairs
from service.domain.measuring.pair_record import PairRecord, encode, join_groups
from service.steps.machine.count_instructions import count_instructions
from service.steps.machine.launching import Launcher, SideFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.spec import Longer
    from service.domain.comparison.launch import Launch
    from service.domain.inference.policy import Policy
    from service.domain.measuring.instruction_counts import Counts
    from service.domain.measuring.pair_record import RawLaunch
    from service.domain.project.job import Job
    from service.steps.machine.session import BuildSession

_STRETCH: Final = 4  # times the budget, until the first look that can find a difference


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of measuring: enough to compare and to confirm, and how long it took.

    ``launches`` and ``pairs`` are those that count; pairs that were disturbed and repeated are left out.
    ``relinked`` are launches of relinks that an earlier attempt recorded.
    """

    listings: tuple[Listing, ...]
    launches: tuple[Launch, ...]
    pairs: int
    seconds: float
    parent_failed: SideFailed | None  # it ended the measuring early
    counts: Counts
    relinked: tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """The end of measuring, if that is not when all is decided or the policy's pairs are used up.

    Up to ``pairs`` pairs, of the undecided benchmarks that ``filter`` chooses; if it ``is_fixed``, of
    everything, decided or not, no more than the policy's, and no instructions are counted.
    """

    pairs: int
    filter: str = "*"
    is_fixed: bool = False
    is_asked_for: bool = False

    @staticmethod
    def longer(wanted: Longer) -> Extent:
        """As a person asked."""
        return Extent(wanted.pairs, wanted.filter, is_asked_for=True)

    @staticmethod
    def fixed(pairs: int, policy: Policy) -> Extent:
        """So many pairs of everything."""
        return Extent(min(pairs, policy.max_pairs), is_fixed=True)


def measure(
    session: BuildSession,
    trees: Mapping[Side, Path],
    unchanged: Collection[str] = (),
    extent: Extent | None = None,
) -> Measurement:
    """Measure pair after pair; pairs that the build already has are continued, not repeated.

    ``unchanged`` names the suites for which both sides are the same program. ``extent`` says how far to
    measure if that is not as far as the policy says.

    Raises:
        SideFailed: a program of one side cannot be listed or measured.
    """
    job, clock = session.spec.judged, session.host.clock
    suites = job.benchmark.suites
    stored = read_pairs(session.claimed.pairs(), suites)
    launches = [*stored.as_built]
    launcher, listings = _prepare(Launcher(session, trees), unchanged, is_new=not launches)
    failure: SideFailed | None = None
    extent = extent or Extent(job.policy.max_pairs)
    # Kept with the first pair: a worker that dies before it counts again and gets the same.
    is_counted = not launches and not extent.is_fixed
    counts = count_instructions(launcher, listings) if is_counted else stored.counts
    begun = clock()
    most, last = job.policy.max_pairs, extent.pairs
    schedule = looks_of(suites, listings, job.policy, last)
    family = family_size(suites, listings)
    choose = _everything if extent.is_fixed else partial(_undecided, extent=extent)
    pair = next_pair(launches)
    count = _count(launches, most)
    # As at the last look, so that a worker that died in between changes nothing.
    looked = max((n for n in schedule if n <= count), default=0)
    wanted = choose(job, listings, counting_launches(launches, most, looked))
    if launches:
        warm_up(launcher, wanted)
    while wanted and count < last:
        if _is_spent(job, family, count, clock() - begun):
            break
        session.progress.say(_place(pair, count, most, last), count / last)
        try:
            # A pair that is measured again keeps its order: whether it was disturbed may hang on that.
            launches.extend(measure_pair(launcher, pair, wanted, count, counts))
        except SideFailed as error:
            if error.side is Side.PATCH or count == 0:
                raise
            # The parent can no longer be measured; its earlier results still count.
            failure = error
            break
        pair += 1
        before, count = count, _count(launches, most)
        if count > before and count in schedule:
            wanted = choose(job, listings, counting_launches(launches, most))
    counting = tuple(counting_launches(launches, most))
    return Measurement(listings, counting, count, clock() - begun, failure, counts, stored.relinked)


def next_pair(launches: Iterable[Launch]) -> int:
    """The number of the pair that follows these of one variant."""
    return 1 + max((launch.pair for launch in launches), default=-1)


def measure_pair(
    launcher: Launcher,
    pair: int,
    wanted: Mapping[str, Sequence[str]],
    draw: int,
    counts: Counts | None = None,
) -> tuple[Launch, ...]:
    """Launch a pair, record it, and return its launches; if a program fails, the whole pair is repeated once.

    Args:
        launcher: of the programs.
        pair: its number, which decides about the environment.
        wanted: by suite, the benchmarks.
        draw: decides about the order of the sides.
        counts: of instructions, recorded with the first pair.
    """
    try:
        launched = tuple(_launch_pair(launcher, pair, wanted, draw))
    except SideFailed:
        launched = tuple(_launch_pair(launcher, pair, wanted, draw))
    raw = [raw for raw, _ in launched]
    record = encode(with_counts(raw, counts) if counts and pair == 0 else raw)
    launcher.session.claimed.record(PairRecord(pair, record, launcher.variant), _facts_of(raw))
    return join_groups(launch for _, launch in launched)


def _launch_pair(
    launcher: Launcher, pair: int, wanted: Mapping[str, Sequence[str]], draw: int
) -> Iterator[tuple[RawLaunch, Launch]]:
    is_renewed = launcher.renew(draw)
    for name, benchmarks in wanted.items():
        # Group by group, so that the two launches that are compared stay next to each other.
        suite = launcher.suites[name]
        for group in launcher.groups(suite, benchmarks):
            for side in launcher.order(draw):
                yield launcher.launch(suite, side, group, pair, is_renewed=is_renewed)


def _count(launches: Sequence[Launch], max_pairs: int) -> int:
    """The number of pairs so far that count."""
    return len(counting_pairs(pairs_of(launches), max_pairs))


def _place(pair: int, count: int, max_pairs: int, last: int) -> str:
    most = allowance(max(max_pairs, count + 1))
    disturbed = f" ({pair - count} of at most {most} repeated)" if pair > count else ""
    return f"pair {count + 1} of at most {last}{disturbed}"


def _is_spent(job: Job, family: float, pair: int, seconds: float) -> bool:
    """Whether the budget is used up; a slow-down that makes launches long must not escape by that."""
    is_decisive = pair >= first_decisive_look(job.policy, family)
    return seconds > job.policy.machine_time * (1 if is_decisive else _STRETCH)


def _undecided(
    job: Job, listings: Sequence[Listing], launches: Sequence[Launch], extent: Extent
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks that are still to be measured; suites without any are left out.

    Of the same program no more is measured than the policy says, as evidence: its verdict is known.
    """
    rows = compare_suites(job.benchmark.suites, listings, launches, job.policy)
    chosen = {
        listing.suite: tuple(
            name for name in undecided_benchmarks(rows, listing.suite) if is_chosen(extent.filter, name)
        )
        for listing in listings
        if not (listing.is_same_program and extent.is_asked_for)
    }
    return {suite: names for suite, names in chosen.items() if names}


def _everything(
    _job: Job, listings: Sequence[Listing], _launches: Sequence[Launch]
) -> dict[str, tuple[str, ...]]:
    """By suite, all benchmarks, decided or not."""
    return {listing.suite: listing.common for listing in listings if listing.common}


def warm_up(launcher: Launcher, wanted: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Launch each program once: the first launch reads from disk what later ones do not.

    What it measured is forgotten; by suite, the benchmarks that should get long repetitions are returned.
    A launch that fails here fails again when it counts.
    """
    found: dict[str, frozenset[str]] = {}
    for name, benchmarks in wanted.items():
        suite = launcher.suites[name]
        for side in launcher.order(0):
            for group in launcher.groups(suite, benchmarks):
                with suppress(SideFailed):
                    long = launcher.rehearse(suite, side, group)
                    found[name] = found.get(name, frozenset()) | long
    return found


def _prepare(
    launcher: Launcher, unchanged: Collection[str], *, is_new: bool
) -> tuple[Launcher, tuple[Listing, ...]]:
    """Fix, before the first launch that counts, what will be measured and how.

    The patch is listed first, being on trial. ``is_new``: nothing is measured yet.
    """
    found = [
        Listing(
            suite=suite.name,
            patch=tuple(launcher.names(suite, Side.PATCH)),
            base=tuple(launcher.names(suite, Side.BASE)),
            is_same_program=suite.name in unchanged,
        )
        for suite in launcher.session.spec.job.benchmark.suites
    ]
    long = warm_up(launcher, {each.suite: each.common for each in found if each.common}) if is_new else {}
    fixed = launcher.session.claimed.fix_listing(
        [replace(each, long=long.get(each.suite, frozenset())).to_mapping() for each in found]
    )
    listings = tuple(map(Listing.from_mapping, fixed))
    return replace(launcher, long=long_by_suite(listings)), listings


def long_by_suite(listings: Iterable[Listing]) -> dict[str, frozenset[str]]:
    """By suite, the benchmarks that get few and long repetitions."""
    return {listing.suite: listing.long for listing in listings}


def _facts_of(launches: Sequence[RawLaunch]) -> list[dict[str, Any]]:
    """The facts of each suite and side of a pair; all say whether it was disturbed."""
    found: dict[tuple[str, Side], list[Mapping[str, Any]]] = {}
    for raw in launches:
        found.setdefault((raw.suite, raw.side), []).append(raw.facts)
    of_pair = {"disturbed": any(raw.facts["disturbed"] for raw in launches)}
    return [
        {
            "suite": suite,
            "side": str(side),
            # The first of several groups stands for all, except for the time.
            "facts": {**facts[0], "seconds": round(sum(each["seconds"] for each in facts), 3), **of_pair},
        }
        for (suite, side), facts in found.items()
    ]
