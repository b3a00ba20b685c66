"""Measure base and patch in pairs, until every benchmark is decided or the budget is spent."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.domain.measuring.machine_time import MachineTime
from service.domain.measuring.pair_record import (
    RESULT_BYTES,
    PairRecord,
    encode,
    join_groups,
    with_counts,
)
from service.domain.runs.judge_build import slow_downs
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.steps.measuring.count_instructions import count_instructions
from service.steps.measuring.course import Course, Wanted
from service.steps.measuring.launching import SideFailed
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.callgrind import Counts
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.measuring.pair_record import MeasuredPairs, RawLaunch
    from service.steps.building.session import BuildSession
    from service.steps.measuring.launching import Launcher


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measured pairs, and how long they took.

    ``launches`` and ``pairs`` count; pairs that were disturbed and repeated are left out. ``stored`` are the
    pairs that an earlier attempt or build recorded.
    ``patch_failed``: launches of the patch that failed twice and gave no answer.
    """

    listings: tuple[Listing, ...]
    launches: tuple[Launch, ...]
    pairs: int
    seconds: float
    parent_failed: SideFailed | None  # it ended the measuring early
    counts: Counts
    stored: MeasuredPairs
    left: float = 0.0  # of the machine time
    patch_failed: SideFailed | None = None
    is_used_up_by_patch: bool = False  # its launches took so long that some of the base pairs are missing


def measure(launcher: Launcher, course: Course, stored: MeasuredPairs) -> Measurement:
    """Measure pair after pair, after the ``stored`` pairs that the build has already.

    A calibration or anchor measures a fixed number of pairs of every benchmark, decided or not, and counts
    no instructions.

    Raises:
        SideFailed: a program of one side cannot be measured, not even in one pair.
    """
    session, listings = launcher.session, course.listings
    spec, policy, clock = session.spec, session.spec.job.policy, session.host.clock
    launches = [*stored.as_built]
    failure, unanswered = None, list[SideFailed]()
    counts = _counts(launcher, listings, stored)
    most, begun = policy.base_pairs, clock()
    pair, count = (begin := next_pair(launches)), count_pairs(launches, most)

    def time() -> MachineTime:
        new, used = launches[len(stored.as_built) :], clock() - begun
        return MachineTime.after(policy.machine_time, used, new, is_strict=spec.is_time_asked)

    wanted = _wanted_after(stored, session, course, time().left)
    if launches:
        warm_up(launcher, wanted.benchmarks)
    while wanted.benchmarks and count < course.last:
        # A slow-down that makes launches long must not escape by using up the budget.
        if time().is_overdrawn or (count >= course.decisive and time().left < wanted.reserved):
            break
        session.progress.say(course.place(pair, count, time(), pair - begin), course.done(count, time()))
        try:
            # A pair that is measured again keeps its order: whether it was disturbed may depend on that.
            before = clock()
            # Until a pair is complete, a patch that fails is no program that can be measured.
            lost = unanswered if count else None
            launches.extend(measure_pair(launcher, pair, wanted.benchmarks, count, counts, lost))
        except SideFailed as error:
            if error.side is Side.PATCH or count == 0:
                raise
            # The parent can no longer be measured; its earlier results still count.
            failure = error
            break
        if pair == begin and clock() > before:
            session.note(course.cost(clock() - before))
        pair += 1
        earlier, count = count, count_pairs(launches, most)
        if count > earlier and count in course.schedule:
            wanted = _look(session, course, counting_launches(launches, most), time().left)
    counting, seconds = tuple(counting_launches(launches, most)), clock() - begun
    return Measurement(
        listings,
        counting,
        count,
        seconds,
        failure,
        counts,
        stored,
        left=time().left,
        patch_failed=next(iter(unanswered), None),
        is_used_up_by_patch=_is_short(course, wanted, count) and time().is_used_up_by_patch,
    )


def _is_short(course: Course, wanted: Wanted, count: int) -> bool:
    """Return whether base pairs are missing; an honest patch with slow set-up may lose those beyond them."""
    return bool(wanted.benchmarks) and count < min(course.base_pairs, course.last)


def _counts(launcher: Launcher, listings: Sequence[Listing], stored: MeasuredPairs) -> Counts:
    """Count instructions, unless pairs are stored: the first carries the counts.

    A worker that dies before it counts again and gets the same.
    """
    if stored.as_built or launcher.session.spec.kind.is_for_idle_pools:
        return stored.counts
    return count_instructions(launcher, listings)


def _wanted_after(stored: MeasuredPairs, session: BuildSession, course: Course, left: float) -> Wanted:
    """Look at the stored pairs as at their last look, so that a worker that died since changes nothing."""
    spec, most = session.spec, session.spec.job.policy.base_pairs
    counting = counting_launches(stored.as_built, most)
    if spec.second and slow_downs(spec.judged, course.listings, counting, stored):
        return Wanted({}, 0.0)  # it was measured, and the second opinion is about what it found
    looked = max((n for n in course.schedule if n <= count_pairs(stored.as_built, most)), default=0)
    return course.look(counting_launches(stored.as_built, most, looked), left)


def _look(session: BuildSession, course: Course, counting: Sequence[Launch], left: float) -> Wanted:
    """Look at the counting pairs; the first look may note the noise."""
    is_first = len({launch.pair for launch in counting}) == course.decisive
    if is_first and (loud := course.outlook(counting, left)):
        session.note(loud)
    return course.look(counting, left)


def next_pair(launches: Iterable[Launch]) -> int:
    """Return the number of the next pair of one variant."""
    return 1 + max((launch.pair for launch in launches), default=-1)


def measure_pair(
    launcher: Launcher,
    pair: int,
    wanted: Mapping[str, Sequence[str]],
    draw: int,
    counts: Counts | None = None,
    unanswered: list[SideFailed] | None = None,
) -> tuple[Launch, ...]:
    """Launch a pair, record it, and return its launches; if a program fails, repeat the whole pair once.

    Args:
        launcher: of the programs.
        pair: its number; it decides about the environment.
        wanted: the benchmarks by suite.
        draw: decides about the order of the sides.
        counts: of instructions, recorded with the first pair.
        unanswered: gets the launches of the patch that fail in the repetition too; the pair is then recorded
            without them, so the patch gives no answer in it. None: they end the pair.

    Raises:
        SideFailed: a program also fails in the repetition.
    """
    try:
        launched = tuple(launch_pair(launcher, pair, wanted, draw))
    except SideFailed:
        launched = tuple(launch_pair(launcher, pair, wanted, draw, unanswered))
    raw = [raw for raw, _ in launched]
    record = encode(with_counts(raw, counts) if counts and pair == 0 else raw)
    launcher.session.claimed.record(PairRecord(pair, record, launcher.variant), _facts_of(raw))
    return join_groups(launch for _, launch in launched)


def launch_pair(
    launcher: Launcher,
    pair: int,
    wanted: Mapping[str, Sequence[str]],
    draw: int,
    unanswered: list[SideFailed] | None = None,
) -> Iterator[tuple[RawLaunch, Launch]]:
    """Launch a pair, as :func:`measure_pair` does, without a record and a repetition."""
    is_renewed = launcher.renew(draw)
    left = dict.fromkeys(Side, RESULT_BYTES)
    for name, benchmarks in wanted.items():
        # Group by group, so that the two launches that are compared stay next to each other.
        suite = launcher.suites[name]
        for group in launcher.groups(suite, benchmarks):
            launched = []
            for side in launcher.order(draw):
                with _noting(side, unanswered):
                    raw = launcher.launch(suite, side, group, pair, is_renewed=is_renewed)
                    launched.append(raw)
                    left[side] -= len(raw.output)
            # After both launches: reading takes time, in which the machine may change.
            for raw in launched:
                if left[raw.side] < 0:
                    what = f"the results of a pair have more than {RESULT_BYTES >> 20} MiB"
                    raise SideFailed(raw.side, name, what)
                with _noting(raw.side, unanswered):
                    yield raw, launcher.read(raw, group, pair)


@contextmanager
def _noting(side: Side, unanswered: list[SideFailed] | None) -> Iterator[None]:
    """Add a failure of the patch to ``unanswered`` instead of raising it."""
    try:
        yield
    except SideFailed as error:
        if unanswered is None or side is Side.BASE:
            raise
        unanswered.append(error)


def _facts_of(launches: Sequence[RawLaunch]) -> list[dict[str, Any]]:
    """Return the facts of each suite and side of a pair; all say whether it was disturbed."""
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
