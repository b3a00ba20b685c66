"""Confirm small changes: measure them again on programs linked in another order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.runs.judge_build import suspected_of_layout
from service.domain.values.errors import BenchgateError, CommandFailed
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import count_pairs
from service.domain.verdict.comparison.link_layout import PAIRS, VARIANTS, left_open, most_pairs, pairs_short
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import (
    OUT_OF_MACHINE_TIME,
    layout_not_checked,
    relink_failed,
    relinks_short,
)
from service.domain.wording.reasons import side_name
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import measure_pair, next_pair
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from service.domain.measuring.launch import Launch
    from service.domain.verdict.inference.verdict import Comparison
    from service.steps.building.session import BuildSession
    from service.steps.measuring.measure import Measurement

# Times the machine time: twelve relinks take at most 3 times the pairs that found a slow-down, if these are
# 32 or more, and seven less than twice as many.
_STRETCH: Final = 3


class _Spent(BenchgateError):
    """The machine time of the confirmation is used up."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The end of confirming: why it was not possible, empty if it was, and how long it took."""

    causes: tuple[str, ...] = ()
    seconds: float = 0.0


def confirm_layout(session: BuildSession, measured: Measurement) -> Confirmation:
    """Measure every small slow-down and gain on relinks of both sides, and only these benchmarks.

    The pairs are recorded beside those of the programs as built, and ``confirm`` decides from them. Pairs
    that an earlier attempt recorded are not measured again. Launching takes at most :data:`_STRETCH` times
    the machine time; building comes on top, bounded by its own timeouts.
    """
    spec = session.spec
    suspected = suspected_of_layout(spec.judged, measured.listings, measured.launches, measured.counts)
    if not suspected or spec.base is None or spec.base.tree == spec.patch.tree:
        return Confirmation()
    session.claimed.enter("confirm")
    begun = session.host.clock()
    relinks = _Relinks(
        Launcher(session, {}, measured.listings),
        {variant: [each for each in measured.relinked if each.variant == variant] for variant in VARIANTS},
        _STRETCH * session.spec.job.policy.machine_time,
    )
    # Gains come last, because their pairs must not use up the time of what votes −1.
    why = relinks.hindrance([each for each in suspected if each.verdict is Verdict.SLOWER])
    if not why:
        # A gain that cannot be checked blocks nobody, and its row says so.
        relinks.hindrance([each for each in suspected if each.verdict is not Verdict.SLOWER])
    return Confirmation((layout_not_checked(why),) if why else (), session.host.clock() - begun)


@dataclass(slots=True)
class _Relinks:
    """A build's relinks: the launchers, their launches by variant, and the seconds left."""

    launcher: Launcher
    launches: dict[int, list[Launch]]
    left: float

    def hindrance(self, suspected: Sequence[Comparison]) -> str:
        """Measure the variants in turn; return why that cannot decide every suspect, or an empty text."""
        try:
            for variant in VARIANTS:
                relinked = replace(self.launcher, variant=variant)
                self.left -= _measure(relinked, suspected, self.launches, self.left)
        except CommandFailed as error:
            return str(error)
        except SideFailed as error:
            return relink_failed(error.side, error.failure)
        except _Spent:
            return OUT_OF_MACHINE_TIME
        # They have too few complete pairs although all that are allowed were launched.
        names = left_open(suspected, self.launches, self.launcher.session.spec.judged.policy)
        return relinks_short(names) if names else ""


def _measure(
    launcher: Launcher,
    suspected: Sequence[Comparison],
    by_variant: Mapping[int, list[Launch]],
    left: float,
) -> float:
    """Launch the missing pairs of the launcher's variant; return the seconds, building excluded.

    ``by_variant`` are the launches so far; the new ones are added. A benchmark that sometimes gives no
    result gets as many more pairs as on a disturbed machine.

    Raises:
        _Spent: more than ``left`` seconds are used.
    """
    session, variant = launcher.session, launcher.variant
    policy, launches = session.spec.judged.policy, by_variant[variant]
    wanted = pairs_short(suspected, by_variant, variant, policy)
    if not wanted:
        return 0.0
    clock, progress = session.host.clock, session.progress
    place = f"{session.claimed.name}: relink {VARIANTS.index(variant) + 1} of up to {len(VARIANTS)}"
    progress.say(f"{place}, linking again")
    with ExitStack() as stack:
        trees = {side: _tree(session, stack, side, variant) for side in (Side.PATCH, Side.BASE)}
        launcher = replace(launcher, trees=trees)
        begun = clock()
        warm_up(launcher, wanted)
        first = next_pair(launches)
        # A relinked program may not know a benchmark, so that it is wanted for ever.
        for pair in range(first, first + max(map(most_pairs, suspected))):
            if not wanted:
                break
            if clock() - begun > left:
                raise _Spent
            progress.say(f"{place}, pair {pair + 1}")
            # As with the programs as built: a pair that is measured again keeps its order.
            draw = count_pairs(launches, PAIRS)
            launches.extend(measure_pair(launcher, pair, wanted, draw))
            wanted = pairs_short(suspected, by_variant, variant, policy)
        return clock() - begun


def _tree(session: BuildSession, stack: ExitStack, side: Side, variant: int) -> Path:
    spec = session.spec
    revision = spec.patch if side is Side.PATCH or spec.base is None else spec.base
    try:
        return stack.enter_context(built_tree(session, revision, variant))
    except CommandFailed as error:
        raise CommandFailed(f"{error.what} of the {side_name(side)}", error.end, error.tail) from error
