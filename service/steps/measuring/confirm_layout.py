"""Confirm small changes: measure them again on programs linked in another order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from service.domain.runs.judge_build import suspected_of_layout
from service.domain.runs.pair_cost import RelinkCost, confirming_cost, cost_of_a_pair
from service.domain.values.errors import CommandFailed, OutOfTime
from service.domain.values.identity import Side
from service.domain.values.text import duration
from service.domain.verdict.comparison.counting_pairs import count_pairs
from service.domain.verdict.comparison.link_layout import (
    LOOKS,
    PAIRS,
    VARIANTS,
    left_open,
    most_pairs,
    next_look,
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


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The end of confirming: why it was not possible, empty if it was, how long it took, and all launches."""

    causes: tuple[str, ...] = ()
    seconds: float = 0.0
    launches: tuple[Launch, ...] = ()


def confirm_layout(session: BuildSession, measured: Measurement, building: float = 0.0) -> Confirmation:
    """Measure every small slow-down and gain on relinks of both sides, and only these benchmarks.

    The pairs are recorded beside those of the programs as built, and ``confirm`` decides from them. Pairs
    that an earlier attempt recorded are not measured again. Launches take what is left of the machine time.
    If that is too short, they take one more machine time at most, and building comes on top. If a person
    chose the time, building and launches take what is left of it, and end with it.

    Args:
        session: the build.
        measured: its pairs.
        building: an estimate of the seconds that building seven relinks of both sides takes.
    """
    spec = session.spec
    suspected = suspected_of_layout(spec.judged, measured.listings, measured.launches, measured.counts)
    if not suspected or spec.kind.has_fixed_pairs or spec.base is None or spec.base.tree == spec.patch.tree:
        return Confirmation(launches=measured.stored.relinked)
    session.claimed.enter("confirm")
    begun = session.host.clock()
    slower = [each for each in suspected if each.verdict is Verdict.SLOWER]
    gains = [each for each in suspected if each.verdict is not Verdict.SLOWER]
    cost = cost_of_a_pair(spec.judged.benchmark.suites, measured.listings, measured.launches)
    estimate, left = confirming_cost(slower, cost), measured.left
    if spec.is_time_asked:
        session = replace(session, deadline=begun + left)
    else:
        left = max(left, min(_MARGIN * estimate, spec.job.policy.machine_time))
    relinks = _Relinks(
        Launcher(session, {}, measured.listings),
        {
            variant: [each for each in measured.stored.relinked if each.variant == variant]
            for variant in VARIANTS
        },
        left,
        RelinkCost(0.0, building),
    )
    if slower and left > 0:
        names = [each.row.benchmark for each in slower]
        session.note(confirming(spec.job.name, names, estimate + building))
    # Gains come last, because their pairs must not use up the time of what votes −1.
    why = relinks.hindrance(slower, estimate)
    if not why:
        # A gain that cannot be checked blocks nobody, and its row says so.
        relinks.hindrance(gains, confirming_cost(gains, cost))
    launches = tuple(chain.from_iterable(relinks.launches.values()))
    return Confirmation((layout_not_checked(why),) if why else (), session.host.clock() - begun, launches)


@dataclass(slots=True)
class _Relinks:
    """A build's relinks: the launchers, their launches by variant, the seconds left, and what they cost."""

    launcher: Launcher
    launches: dict[int, list[Launch]]
    left: float
    cost: RelinkCost

    is_known: bool = False  # what measuring a relink takes
    is_built: bool = False  # the building time is no estimate any more

    def hindrance(self, suspected: Sequence[Comparison], estimate: float) -> str:
        """Measure the variants in turn; return why that cannot decide every suspect, or an empty text.

        ``estimate`` is the time of the first look's launches.
        """
        spec, clock = self.launcher.session.spec, self.launcher.session.host.clock
        self.cost, self.is_known = replace(self.cost, each=estimate / min(LOOKS)), False
        place, begun = 0, clock()
        try:
            for place, variant in enumerate(VARIANTS):
                relinked = replace(self.launcher, variant=variant)
                if _missing(relinked, suspected, self.launches):
                    self._measure_next(relinked, suspected, place)
        except CommandFailed as error:
            return str(error)
        except SideFailed as error:
            return relink_failed(error.side, error.failure)
        except OutOfTime:
            look, is_asked = next_look(place), spec.is_time_asked
            spent = clock() - begun if is_asked else 0.0
            return relinks_cut_short(look, self._charged.seconds(0, look), spent, is_asked=is_asked)
        # They have too few complete pairs although all that are allowed were launched.
        names = left_open(suspected, self.launches, spec.judged.policy)
        return relinks_short(names) if names else ""

    @property
    def _charged(self) -> RelinkCost:
        """The cost in machine time, which contains building only if a person chose it."""
        return self.cost if self.launcher.session.spec.is_time_asked else replace(self.cost, building=0.0)

    def _measure_next(self, relinked: Launcher, suspected: Sequence[Comparison], place: int) -> None:
        """Measure the variant at this place.

        Raises:
            OutOfTime: the time ends meanwhile, or is too short for the next look.
        """
        clock, look = relinked.session.host.clock, next_look(place)
        # Later ones may refute the change at once, and are begun without the time for all of them.
        is_whole = place < min(LOOKS) or (self._charged.building and RelinkCost.begins_batch(place))
        if self.left <= 0 or (self.is_known and is_whole and self._charged.seconds(place, look) > self.left):
            raise OutOfTime("the machine time is too short for the next relinks")
        outlook = relinks_outlook(look, self.cost.seconds(place, look))
        begun = clock()
        seconds = _measure(relinked, suspected, self.launches, self.left, outlook)
        whole = clock() - begun
        self.left -= whole if relinked.session.spec.is_time_asked else seconds
        longest = max(seconds, self.cost.each) if self.is_known else seconds
        # Those that were kept take no time; what the first one took counts for the next batch.
        building = max(self.cost.building, whole - seconds) if self.is_built else whole - seconds
        self.cost, self.is_known, self.is_built = RelinkCost(longest, building), True, True


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
        OutOfTime: more than ``left`` seconds are used.
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
        left = min(left, session.deadline - begun)
        warm_up(launcher, wanted)
        first = next_pair(launches)
        # A relinked program may not know a benchmark, so that it is wanted for ever.
        most = max(map(most_pairs, suspected))
        for pair in range(first, first + most):
            if not wanted:
                break
            if clock() - begun > left:
                raise OutOfTime("the machine time is used up")
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
