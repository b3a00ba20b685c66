"""Measure the control: the parent against itself, for slow-downs that are about to vote −1."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch import ITSELF
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.runs.judge_build import controls_of, machines_of, slow_downs
from service.domain.runs.pair_cost import control_cost, cost_of_a_pair, worst_in
from service.domain.values.errors import CommandFailed, OutOfTime
from service.domain.values.identity import RunKind, Side
from service.domain.values.text import duration
from service.domain.verdict.calibration.control import ENOUGH, control_pairs, missing_in_control, pairs_wanted
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.domain.verdict.inference.verdict import by_suite
from service.domain.wording.build_causes import (
    OUT_OF_MACHINE_TIME,
    SEVERAL_MACHINES,
    control_ended,
    control_too_long,
)
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import measure_pair, next_pair
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.verdict.calibration.control import Control
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison
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

    A job without a probation and a local gate are judged without a history, and need no control. Nor does a
    check that casts no vote. A merged commit has one even then: it decides on the list of its regressions.
    """
    spec, base = session.spec, session.spec.base
    is_judged_alone = not spec.judged.policy.probation or spec.is_local or spec.kind.has_fixed_pairs
    if is_judged_alone or base is None or not (spec.job.voting or spec.kind is not RunKind.CHECK):
        return ()
    record = MeasuredPairs(relinked=confirmed.launches, counts=measured.counts)
    slower = slow_downs(spec.judged, measured.listings, measured.launches, record)
    missing = _Pairs(session, measured, slower).missing()
    if not missing:
        return ()
    session.claimed.enter("control")
    end = session.host.clock() + max(measured.left, _MOST * spec.judged.policy.machine_time)
    chosen, causes = _chosen(session, measured, missing, end - session.host.clock())
    if not chosen:
        return causes
    try:
        with ExitStack() as stack:
            # The patch's side is unpacked after the parent's, as the programs as built were.
            trees = {side: stack.enter_context(built_tree(session, base)) for side in (Side.BASE, Side.PATCH)}
            launcher = Launcher(session, trees, measured.listings, ITSELF)
            _measure(launcher, _Pairs(session, measured, chosen), end)
    except (CommandFailed, OutOfTime) as error:
        return (*causes, control_ended(str(error)))
    except SideFailed as error:
        return (*causes, control_ended(error.failure))
    return causes


def _chosen(
    session: BuildSession, measured: Measurement, missing: Mapping[Comparison, int], left: float
) -> tuple[Sequence[Comparison], tuple[str, ...]]:
    """Choose the rows to measure, the worst that fit into ``left`` seconds; say why not all, if so.

    If none fits, it is the worst one if the pairs fit that a control needs at least. Rows that another
    machine measured have none: this one may differ from it.
    """
    causes = list[str]()
    known = machines_of((*measured.launches, *measured.stored.itself))
    own = {
        row: count
        for row, count in missing.items()
        if known[row.row.suite, row.row.benchmark] == {session.host.machine}
    }
    if len(own) < len(missing):
        causes.append(control_ended(SEVERAL_MACHINES))
    parents = [each for each in measured.launches if each.side is Side.BASE]
    cost = cost_of_a_pair(session.spec.judged.benchmark.suites, measured.listings, parents)
    chosen: Sequence[Comparison] = worst_in(left, own, cost)
    if own and not chosen:
        worst = max(own, key=lambda each: each.worsening)
        chosen = worst_in(left / ENOUGH, {worst: own[worst]}, cost)
    if len(chosen) < len(own):
        why = control_too_long(control_cost(own, cost), left, len(chosen), len(own))
        causes.append(control_ended(why))
    return chosen, tuple(causes)


class _Pairs:
    """The launches of the control so far, and how many pairs each slow-down gets."""

    def __init__(self, session: BuildSession, measured: Measurement, slower: Sequence[Comparison]) -> None:
        self._job, self._listings, self._slower = session.spec.judged, measured.listings, slower
        self.as_built, self.launches = measured.launches, [*measured.stored.itself]
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
        found = self._found()
        self.pairs = {row: pairs_wanted(row, found.get(row.row)) for row in self._slower}
        return missing_in_control(self.pairs, counting)

    @property
    def are_enough(self) -> bool:
        """Each slow-down has the pairs without which its control says nothing."""
        found = self._found()
        return all(row.row in found and found[row.row].covers(row) for row in self._slower)

    def _found(self) -> Mapping[ComparedRow, Control]:
        return controls_of(self._job, self._listings, self._slower, self.as_built, self.launches)


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
            if pairs.are_enough:
                return
            raise OutOfTime(OUT_OF_MACHINE_TIME)
        count, last = pairs.count, max(pairs.pairs.values())
        place = f"{session.claimed.name}: control, pair {count + 1}, at most {duration(left)} more"
        session.progress.say(place, min(count / last, 1.0))
        pairs.launches.extend(measure_pair(launcher, next_pair(pairs.launches), wanted, count))
        wanted = by_suite(pairs.missing())
