"""Measures base and patch in pairs until every benchmark is decided or the budget is spent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.identity import Side
from service.domain.pair_record import RawLaunch, encode, read_pair
from service.domain.pairing import side_order
from service.domain.samples import Listing, compare_all, undecided_benchmarks
from service.domain.verdict import first_decisive_look, looks
from service.steps.launching import Launcher, SideFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.project_file import Job
    from service.domain.samples import Launch
    from service.ports import PairLog, Progress
    from service.steps.build_sides import Workshop

_STRETCH: Final = 4  # times the budget, until the first look that can find a difference


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured: enough to compare, and how long it took."""

    listings: tuple[Listing, ...]
    launches: tuple[Launch, ...]
    pairs: int
    seconds: float
    parent_failed: SideFailed | None = None  # it ended the measuring early


def measure(
    shop: Workshop,
    job: Job,
    trees: Mapping[Side, Path],
    seed: str,
    log: PairLog,
    progress: Progress,
    watch: Callable[[], None],
) -> Measurement:
    """Measure pair after pair; pairs that ``log`` already holds are continued, not repeated.

    Raises:
        SideFailed: a program of one side cannot be listed or measured.
    """
    launcher = Launcher(shop, job, trees, seed, watch)
    listings = _fix_listings(launcher, log)
    launches = [each for pair, raw in log.pairs() for each in read_pair(pair, raw, job.suites)]
    failure: SideFailed | None = None
    begun = shop.clock()
    pair = 1 + max((launch.pair for launch in launches), default=-1)
    # As at the last look, so that a worker that died in between changes nothing.
    looked = max((n for n in looks(job.policy.max_pairs) if n <= pair), default=0)
    wanted = _wanted(launcher, listings, [each for each in launches if each.pair < looked])
    _warm_up(launcher, wanted)
    while wanted and pair < job.policy.max_pairs:
        if _is_spent(job, pair, shop.clock() - begun):
            break
        progress.say(f"pair {pair + 1} of at most {job.policy.max_pairs}", pair / job.policy.max_pairs)
        try:
            raw = _launch_pair_or_repeat(launcher, pair, wanted)
        except SideFailed as error:
            if error.side is Side.PATCH or pair == 0:
                raise
            # The parent is no longer to be measured; what it gave before still counts.
            failure = error
            break
        record = encode(raw)
        log.record(pair, record, [_facts(each) for each in raw])
        launches.extend(read_pair(pair, record, job.suites))
        pair += 1
        if pair in looks(job.policy.max_pairs):
            wanted = _wanted(launcher, listings, launches)
    return Measurement(listings, tuple(launches), pair, shop.clock() - begun, failure)


def _is_spent(job: Job, pair: int, seconds: float) -> bool:
    """Whether the budget is used up; a slow-down that makes launches long must not escape by that."""
    is_decisive = pair >= first_decisive_look(job.policy)
    return seconds > job.policy.machine_time * (1 if is_decisive else _STRETCH)


def _wanted(
    launcher: Launcher, listings: Sequence[Listing], launches: Sequence[Launch]
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks that are still to be measured; suites without any are left out."""
    rows = compare_all(launcher.job.suites, listings, launches, launcher.job.policy)
    found = {listing.suite: undecided_benchmarks(rows, listing.suite) for listing in listings}
    return {suite: names for suite, names in found.items() if names}


def _warm_up(launcher: Launcher, wanted: Mapping[str, Sequence[str]]) -> None:
    """Launch each program once and forget it: the first launch reads from disk what later ones do not.

    One that fails here fails again where it counts.
    """
    for name, benchmarks in wanted.items():
        suite = replace(launcher.suites[name], repetitions=1)
        for side in side_order(launcher.seed, 0):
            with suppress(SideFailed):
                launcher.rehearse(suite, side, benchmarks)


def _launch_pair_or_repeat(
    launcher: Launcher, pair: int, wanted: Mapping[str, Sequence[str]]
) -> tuple[RawLaunch, ...]:
    """The launches of a pair; a pair in which a program failed is repeated once, whole."""
    try:
        return tuple(_launch_pair(launcher, pair, wanted))
    except SideFailed:
        return tuple(_launch_pair(launcher, pair, wanted))


def _launch_pair(launcher: Launcher, pair: int, wanted: Mapping[str, Sequence[str]]) -> Iterator[RawLaunch]:
    for name, benchmarks in wanted.items():
        for side in side_order(launcher.seed, pair):
            yield launcher.launch(launcher.suites[name], side, benchmarks, pair)


def _fix_listings(launcher: Launcher, log: PairLog) -> tuple[Listing, ...]:
    """What will be measured, fixed before the first launch; the patch is listed first, being on trial."""
    found = [
        {
            "suite": suite.name,
            "patch": launcher.names(suite, Side.PATCH),
            "base": launcher.names(suite, Side.BASE),
        }
        for suite in launcher.job.suites
    ]
    fixed: Sequence[Mapping[str, Any]] = log.fix_listing(found)
    return tuple(Listing(each["suite"], tuple(each["base"]), tuple(each["patch"])) for each in fixed)


def _facts(raw: RawLaunch) -> dict[str, Any]:
    return {"suite": raw.suite, "side": str(raw.side), "facts": dict(raw.facts)}
