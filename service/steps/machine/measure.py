"""Measuring of base and patch in pairs, until every benchmark is decided or the budget is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.calibration.evidence import SESSION_PAIRS
from service.domain.comparison.benchmark_filter import is_chosen
from service.domain.comparison.counting_pairs import allowance, count_pairs, counting_launches
from service.domain.comparison.suite import compare_suites, family_size, looks_of, undecided_benchmarks
from service.domain.identity import RunKind, Side
from service.domain.inference.verdict import first_decisive_look
from service.domain.measuring.pair_record import (
    RESULT_BYTES,
    PairRecord,
    encode,
    join_groups,
    with_counts,
)
from service.steps.machine.count_instructions import count_instructions
from service.steps.machine.launching import SideFailed
from service.steps.machine.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.comparison.launch import Launch
    from service.domain.comparison.suite import Listing
    from service.domain.measuring.instruction_counts import Counts
    from service.domain.measuring.pair_record import MeasuredPairs, RawLaunch
    from service.steps.machine.launching import Launcher

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


def measure(launcher: Launcher, listings: tuple[Listing, ...], stored: MeasuredPairs) -> Measurement:
    """Measure pair after pair; the ``stored`` pairs, which the build already has, are continued.

    A calibration measures a fixed number of pairs of every benchmark, decided or not, and counts no
    instructions.

    Raises:
        SideFailed: a program of one side cannot be measured.
    """
    session = launcher.session
    spec, clock = session.spec, session.host.clock
    job, suites, most = spec.judged, spec.job.benchmark.suites, spec.job.policy.max_pairs
    is_calibration = spec.kind is RunKind.CALIBRATION
    last = min(SESSION_PAIRS, most) if is_calibration else spec.longer.pairs if spec.longer else most
    launches = [*stored.as_built]
    failure: SideFailed | None = None
    # Kept with the first pair: a worker that dies before it counts again and gets the same.
    is_counted = not launches and not is_calibration
    counts = count_instructions(launcher, listings) if is_counted else stored.counts
    begun = clock()
    schedule = looks_of(suites, listings, job.policy, last)
    decisive = first_decisive_look(job.policy, family_size(suites, listings))
    pair = next_pair(launches)
    count = count_pairs(launches, most)
    # As at the last look, so that a worker that died in between changes nothing.
    looked = max((n for n in schedule if n <= count), default=0)
    wanted = _wanted(spec, listings, counting_launches(launches, most, looked))
    if launches:
        warm_up(launcher, wanted)
    while wanted and count < last:
        # A slow-down that makes launches long must not escape by using up the budget.
        if clock() - begun > job.policy.machine_time * (1 if count >= decisive else _STRETCH):
            break
        session.progress.say(_place(pair, count, most, last), count / last)
        try:
            # A pair that is measured again keeps its order: whether it was disturbed may depend on that.
            launches.extend(measure_pair(launcher, pair, wanted, count, counts))
        except SideFailed as error:
            if error.side is Side.PATCH or count == 0:
                raise
            # The parent can no longer be measured; its earlier results still count.
            failure = error
            break
        pair += 1
        before, count = count, count_pairs(launches, most)
        if count > before and count in schedule:
            wanted = _wanted(spec, listings, counting_launches(launches, most))
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
    left = dict.fromkeys(Side, RESULT_BYTES)
    for name, benchmarks in wanted.items():
        # Group by group, so that the two launches that are compared stay next to each other.
        suite = launcher.suites[name]
        for group in launcher.groups(suite, benchmarks):
            for side in launcher.order(draw):
                raw, launch = launcher.launch(suite, side, group, pair, is_renewed=is_renewed)
                left[side] -= len(raw.output)
                if left[side] < 0:
                    what = f"the results of a pair have more than {RESULT_BYTES >> 20} MiB"
                    raise SideFailed(side, f"suite {name}", what)
                yield raw, launch


def _place(pair: int, count: int, max_pairs: int, last: int) -> str:
    most = allowance(max(max_pairs, count + 1))
    disturbed = f" ({pair - count} of at most {most} repeated)" if pair > count else ""
    return f"pair {count + 1} of at most {last}{disturbed}"


def _wanted(
    spec: BuildSpec, listings: Sequence[Listing], launches: Sequence[Launch]
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks that are still to be measured; suites without any are left out.

    A request to measure longer leaves out suites with the same program on both sides: their verdicts are
    known, and as evidence the policy's pairs are enough.
    """
    if spec.kind is RunKind.CALIBRATION:
        return {listing.suite: listing.common for listing in listings if listing.common}
    job, longer = spec.judged, spec.longer
    rows = compare_suites(job.benchmark.suites, listings, launches, job.policy)
    wanted = {
        listing.suite: tuple(
            name
            for name in undecided_benchmarks(rows, listing.suite)
            if longer is None or is_chosen(longer.filter, name)
        )
        for listing in listings
        if longer is None or not listing.is_same_program
    }
    return {suite: names for suite, names in wanted.items() if names}


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
