"""Measure the control: the parent against itself, for slow-downs that are about to vote −1."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch import ITSELF
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.runs.judge_build import controls_of, slow_downs
from service.domain.runs.pair_cost import control_cost, cost_of_a_pair, worst_in
from service.domain.values.errors import CommandFailed, OutOfTime
from service.domain.values.identity import Side
from service.domain.values.text import duration
from service.domain.verdict.calibration.control import ENOUGH, control_pairs, missing_in_control
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.domain.verdict.inference.verdict import by_suite
from service.domain.wording.build_causes import OUT_OF_MACHINE_TIME, control_ended, control_too_long
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import measure_pair, next_pair
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.verdict.inference.going_on import PairCost
    from service.domain.verdict.inference.verdict import Comparison
    from service.steps.building.session import BuildSession
    from service.steps.measuring.confirm_layout import Confirmation
    from service.steps.measuring.measure import Measurement

_MOST: Final = 0.5  # of the machine time, if pairs left less of it


def measure_control(session: BuildSession, measured: Measurement, confirmed: Confirmation) -> tuple[str, ...]:
    """Measure the benchmarks that vote −1 with the parent on both sides; return why not all, if so.

    Each gets as many pairs as found its slow-down, in an order drawn anew. Pairs that an earlier attempt or
    build recorded are continued. They take what the pairs of the programs as built left of the machine time,
    or half of a machine time if that is more. If this is too short for all, the worst have one. Only the
    parent runs, and only its launches are the estimate, so a patch can neither fail here nor prevent it.

    A job without a probation and a local gate are judged without a history, and need no control.
    """
    spec = session.spec
    if not spec.judged.policy.probation or spec.is_local or spec.kind.has_fixed_pairs or spec.base is None:
        return ()
    record = MeasuredPairs(relinked=confirmed.launches, counts=measured.counts)
    slower = slow_downs(spec.judged, measured.listings, measured.launches, record)
    pairs = _Pairs(session, measured, slower)
    missing = pairs.missing()
    if not missing:
        return ()
    session.claimed.enter("control")
    begun = session.host.clock()
    parents = [each for each in measured.launches if each.side is Side.BASE]
    cost = cost_of_a_pair(spec.judged.benchmark.suites, measured.listings, parents)
    left = max(measured.left, _MOST * spec.judged.policy.machine_time)
    chosen = worst_in(left, missing, cost) or _worst_of(missing, cost, left)
    causes = ()
    if len(chosen) < len(missing):
        needed = control_cost(missing, cost)
        causes = (control_ended(control_too_long(needed, left, len(chosen), len(missing))),)
    if not chosen:
        return causes
    try:
        with ExitStack() as stack:
            # The patch's side is unpacked after the parent's, as the programs as built were.
            trees = {
                side: stack.enter_context(built_tree(session, spec.base)) for side in (Side.BASE, Side.PATCH)
            }
            launcher = Launcher(session, trees, measured.listings, ITSELF)
            _measure(launcher, _Pairs(session, measured, chosen), begun + left)
    except (CommandFailed, OutOfTime) as error:
        return (*causes, control_ended(str(error)))
    except SideFailed as error:
        return (*causes, control_ended(error.failure))
    return causes


def _worst_of(missing: Mapping[Comparison, int], cost: PairCost, left: float) -> tuple[Comparison, ...]:
    """Choose the worst row if as many of its pairs fit as a control needs at least."""
    worst = max(missing, key=lambda each: each.worsening)
    return (worst,) if ENOUGH * control_cost({worst: missing[worst]}, cost) <= left else ()


class _Pairs:
    """The launches of the control so far, and how many pairs each slow-down gets."""

    def __init__(self, session: BuildSession, measured: Measurement, slower: Sequence[Comparison]) -> None:
        self._job, self._listings, self._slower = session.spec.judged, measured.listings, slower
        self.launches = [*measured.itself]
        self.pairs = {row: control_pairs(row) for row in slower}

    @property
    def count(self) -> int:
        """Number of pairs that count."""
        return count_pairs(self.launches, self._job.policy.base_pairs)

    def missing(self) -> dict[Comparison, int]:
        """Return how many pairs each slow-down lacks; one that has them may prove to need more."""
        counting = counting_launches(self.launches, self._job.policy.base_pairs)
        if missing := missing_in_control(self.pairs, counting):
            return missing
        found = controls_of(self._job, self._listings, self._slower, self.launches)
        self.pairs = {row: control_pairs(row, found.get(row.row)) for row in self._slower}
        return missing_in_control(self.pairs, counting)


def _measure(launcher: Launcher, pairs: _Pairs, end: float) -> None:
    """Launch the missing pairs.

    Raises:
        OutOfTime: the clock is past ``end``.
        SideFailed: the parent fails twice in a pair.
    """
    session, clock = launcher.session, launcher.session.host.clock
    wanted = by_suite(pairs.missing())
    warm_up(launcher, wanted)
    while wanted:
        if (left := end - clock()) < 0:
            raise OutOfTime(OUT_OF_MACHINE_TIME)
        count, last = pairs.count, max(pairs.pairs.values())
        place = f"{session.claimed.name}: control, pair {count + 1}, at most {duration(left)} more"
        session.progress.say(place, min(count / last, 1.0))
        pairs.launches.extend(measure_pair(launcher, next_pair(pairs.launches), wanted, count))
        wanted = by_suite(pairs.missing())
