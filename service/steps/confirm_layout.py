"""Measures what is slower by little once more, on programs that are linked in another order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.errors import BenchgateError, CommandFailed
from service.domain.identity import Side
from service.domain.layout import PAIRS, VARIANTS, number_of, pairs_short, variant_of
from service.domain.measured import suspected_of_layout
from service.domain.pair_record import encode, read_pair
from service.domain.text import plain
from service.steps.build_sides import built_tree
from service.steps.launching import Launcher, SideFailed
from service.steps.measure import facts_of, launch_pair_or_repeat, long_by_suite, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from service.domain.samples import Launch, Listing
    from service.domain.spec import BuildSpec
    from service.domain.verdict import Comparison
    from service.ports import Claimed, Progress
    from service.steps.build_sides import Workshop


class _Spent(BenchgateError):
    """The machine time of the confirmation is used up."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How confirming went: why it was not possible, in a sentence where it was not, and how long it took."""

    causes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Work:
    """What is confirmed, with what, and until when on the workshop's clock."""

    shop: Workshop
    spec: BuildSpec
    claimed: Claimed
    suspected: Sequence[Comparison]
    long: Mapping[str, frozenset[str]]
    log: BinaryIO
    progress: Progress
    watch: Callable[[], None]
    until: float


def confirm_layout(
    shop: Workshop,
    spec: BuildSpec,
    listings: Sequence[Listing],
    claimed: Claimed,
    log: BinaryIO,
    progress: Progress,
    watch: Callable[[], None],
) -> Confirmation:
    """Measure every small slow-down on relinks of both sides, and only these benchmarks.

    The pairs are recorded beside those of the programs as built; what they mean is decided from them by
    :func:`service.domain.layout.confirm`. Pairs that are recorded already are not measured again. It takes
    as much machine time as the measuring may, at most, and building comes on top.
    """
    suspected = suspected_of_layout(spec.judged, listings, claimed.pairs())
    if not suspected or spec.base is None or spec.base.tree == spec.patch.tree:
        return Confirmation()
    claimed.enter("confirm")
    begun = shop.clock()
    until = begun + spec.job.policy.machine_time
    work = _Work(shop, spec, claimed, suspected, long_by_suite(listings), log, progress, watch, until)
    causes = tuple(f"layout not checked by relinking: {plain(why, 500)}" for why in _hindrances(work))
    return Confirmation(causes, shop.clock() - begun)


def _hindrances(work: _Work) -> tuple[str, ...]:
    """Measure the variants in turn; what ended that early."""
    try:
        for variant in VARIANTS:
            _measure(work, variant)
    except CommandFailed as error:
        return (str(error),)
    except SideFailed as error:
        return (f"linked again, the {_name(error.side)} fails ({error.what}: {error.end})",)
    except _Spent:
        return ("the machine time is used up",)
    return ()


def _name(side: Side) -> str:
    return "parent" if side is Side.BASE else "patch"


def _measure(work: _Work, variant: int) -> None:
    """The pairs of a variant that are missing.

    A benchmark that reports nothing now and then gets no more pairs for it than it takes without.
    """
    launches, recorded = _recorded(work, variant)
    wanted = pairs_short(work.suspected, launches)
    if not wanted:
        return
    with ExitStack() as stack:
        trees = {side: _tree(work, stack, side, variant) for side in (Side.PATCH, Side.BASE)}
        launcher = Launcher(work.shop, work.spec.judged, trees, work.claimed.seed, work.watch, work.long)
        warm_up(launcher, wanted)
        for index in range(recorded, recorded + PAIRS):
            if not wanted:
                break
            if work.shop.clock() > work.until:
                raise _Spent
            work.progress.say(f"{work.claimed.name}: relink {variant} of {len(VARIANTS)}, pair {index + 1}")
            pair = number_of(variant, index)
            raw = launch_pair_or_repeat(launcher, pair, wanted)
            work.claimed.record(pair, encode(raw), facts_of(raw))
            launches.extend(read_pair(pair, encode(raw), work.spec.job.suites))
            wanted = pairs_short(work.suspected, launches)


def _tree(work: _Work, stack: ExitStack, side: Side, variant: int) -> Path:
    shop, spec = work.shop, work.spec
    revision = spec.patch if side is Side.PATCH or spec.base is None else spec.base
    try:
        return stack.enter_context(
            built_tree(shop, spec.project, revision, spec.job, work.claimed, work.log, work.watch, variant)
        )
    except CommandFailed as error:
        raise CommandFailed(f"{error.what} of the {_name(side)}", error.end, error.tail) from error


def _recorded(work: _Work, variant: int) -> tuple[list[Launch], int]:
    """The launches of a variant so far, and how many pairs they are."""
    pairs = [(pair, raw) for pair, raw in work.claimed.pairs() if variant_of(pair) == variant]
    return [each for pair, raw in pairs for each in read_pair(pair, raw, work.spec.job.suites)], len(pairs)
