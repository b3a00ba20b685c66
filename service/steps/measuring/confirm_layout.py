"""Confirm small changes: measure them again on programs linked in another order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.runs.judge_build import suspected_of_layout
from service.domain.runs.pair_cost import confirming_cost, cost_of_a_pair
from service.domain.values.errors import BenchgateError, CommandFailed
from service.domain.values.identity import Side
from service.domain.values.text import duration
from service.domain.verdict.comparison.counting_pairs import count_pairs
from service.domain.verdict.comparison.link_layout import (
    LOOKS,
    PAIRS,
    VARIANTS,
    left_open,
    most_pairs,
    pairs_short,
)
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import layout_not_checked, relink_failed, relinks_short
from service.domain.wording.outlook import confirming, relinks_cut_short, relinks_outlook
from service.domain.wording.reasons import side_name
from service.steps.building.build_sides import relinked_tree
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

# Times the estimate, if pairs left less of the machine time: some relinks are measured again.
_MARGIN: Final = 2


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
    that an earlier attempt recorded are not measured again. Launches take what is left of the machine time.
    If that is too short, they take one more machine time at most, except if a person chose the time. Building
    and linking come on top.
    """
    spec = session.spec
    suspected = suspected_of_layout(spec.judged, measured.listings, measured.launches, measured.counts)
    if not suspected or spec.kind.has_fixed_pairs or spec.base is None or spec.base.tree == spec.patch.tree:
        return Confirmation()
    session.claimed.enter("confirm")
    begun = session.host.clock()
    slower = [each for each in suspected if each.verdict is Verdict.SLOWER]
    cost = cost_of_a_pair(spec.judged.benchmark.suites, measured.listings, measured.launches)
    estimate, left = confirming_cost(slower, cost), measured.left
    if not spec.is_time_asked:
        left = max(left, min(_MARGIN * estimate, spec.job.policy.machine_time))
    relinks = _Relinks(
        Launcher(session, {}, measured.listings),
        {variant: [each for each in measured.relinked if each.variant == variant] for variant in VARIANTS},
        left,
    )
    if slower:
        session.note(confirming(spec.job.name, [each.row.benchmark for each in slower], estimate))
    # Gains come last, because their pairs must not use up the time of what votes −1.
    why = relinks.hindrance(slower)
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
        longest, place, begun, clock = 0.0, 0, None, self.launcher.session.host.clock
        try:
            for place, variant in enumerate(VARIANTS):
                relinked = replace(self.launcher, variant=variant)
                if not _missing(relinked, suspected, self.launches):
                    continue
                self._must_last(longest * (min(LOOKS) - place))
                # With building, which does not count against the machine time.
                whole = 0.0 if begun is None else clock() - begun
                begun = clock()
                seconds = _measure(
                    relinked, suspected, self.launches, self.left, relinks_outlook(place, whole)
                )
                self.left -= seconds
                longest = max(longest, seconds)
        except CommandFailed as error:
            return str(error)
        except SideFailed as error:
            return relink_failed(error.side, error.failure)
        except _Spent:
            needed = next(look for look in sorted(LOOKS) if look > place)
            is_asked = self.launcher.session.spec.is_time_asked
            return relinks_cut_short(needed, needed * longest, is_asked=is_asked)
        # They have too few complete pairs although all that are allowed were launched.
        names = left_open(suspected, self.launches, self.launcher.session.spec.judged.policy)
        return relinks_short(names) if names else ""

    def _must_last(self, seconds: float) -> None:
        """Raise _Spent if less is left: the first look needs all of its relinks."""
        if seconds > self.left:
            raise _Spent


def _missing(
    launcher: Launcher, suspected: Sequence[Comparison], by_variant: Mapping[int, list[Launch]]
) -> dict[str, tuple[str, ...]]:
    return pairs_short(suspected, by_variant, launcher.variant, launcher.session.spec.judged.policy)


def _measure(
    launcher: Launcher,
    suspected: Sequence[Comparison],
    by_variant: Mapping[int, list[Launch]],
    left: float,
    outlook: str,
) -> float:
    """Launch the missing pairs of the launcher's variant; return the seconds, building excluded.

    ``by_variant`` are the launches so far; the new ones are added. Progress reports ``outlook``. A
    benchmark that sometimes gives no result gets as many more pairs as on a disturbed machine.

    Raises:
        _Spent: more than ``left`` seconds are used.
    """
    session, variant = launcher.session, launcher.variant
    launches, wanted = by_variant[variant], _missing(launcher, suspected, by_variant)
    clock, progress = session.host.clock, session.progress
    place = f"{session.claimed.name}: relink {VARIANTS.index(variant) + 1} of up to {len(VARIANTS)}"
    progress.say(f"{place}, linking again{outlook}")
    with ExitStack() as stack:
        found = {side: _tree(session, stack, side, variant) for side in (Side.PATCH, Side.BASE)}
        trees = {side: tree for side, (tree, _) in found.items()}
        built_again = frozenset(side for side, (_, is_built_again) in found.items() if is_built_again)
        launcher = replace(launcher, trees=trees, built_again=built_again)
        begun = clock()
        warm_up(launcher, wanted)
        first = next_pair(launches)
        # A relinked program may not know a benchmark, so that it is wanted for ever.
        most = max(map(most_pairs, suspected))
        for pair in range(first, first + most):
            if not wanted:
                break
            if clock() - begun > left:
                raise _Spent
            more = duration(max(left - (clock() - begun), 0.0))
            progress.say(f"{place}, pair {pair + 1}, at most {more} more", (pair - first) / most)
            # As with the programs as built: a pair that is measured again keeps its order.
            draw = count_pairs(launches, PAIRS)
            launches.extend(measure_pair(launcher, pair, wanted, draw))
            wanted = _missing(launcher, suspected, by_variant)
        return clock() - begun


def _tree(session: BuildSession, stack: ExitStack, side: Side, variant: int) -> tuple[Path, bool]:
    spec = session.spec
    revision = spec.patch if side is Side.PATCH or spec.base is None else spec.base
    try:
        return stack.enter_context(relinked_tree(session, revision, variant))
    except CommandFailed as error:
        raise CommandFailed(f"{error.what} of the {side_name(side)}", error.end, error.tail) from error
