"""Measure the control: the parent against itself, for slow-downs that are about to vote −1."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch import ITSELF
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.runs.judge_build import controls_of, slow_downs
from service.domain.runs.pair_cost import control_cost, cost_of_a_pair
from service.domain.values.errors import CommandFailed, OutOfTime
from service.domain.values.identity import Side
from service.domain.verdict.calibration.control import control_pairs, wanted_in_control
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.domain.wording.build_causes import OUT_OF_MACHINE_TIME, control_ended, control_too_long
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import measure_pair, next_pair
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.verdict.inference.verdict import Comparison
    from service.steps.building.session import BuildSession
    from service.steps.measuring.confirm_layout import Confirmation
    from service.steps.measuring.measure import Measurement

_MARGIN: Final = 2  # times the estimate, if less of the machine time is left: disturbed pairs are repeated
_MOST: Final = 0.5  # of the machine time that it may take beyond it


def measure_control(session: BuildSession, measured: Measurement, confirmed: Confirmation) -> tuple[str, ...]:
    """Measure the benchmarks that vote −1 with the parent on both sides; return why not all, if so.

    Each gets as many pairs as found its slow-down, in an order drawn anew. Pairs that an earlier attempt or
    build recorded are continued. They take what is left of the machine time, or at most half of one more.
    Only the parent runs, so a patch can neither fail here nor use up the time.

    A job without a probation and a local gate are judged without a history, and need no control.
    """
    spec = session.spec
    policy, base = spec.judged.policy, spec.base
    if not policy.probation or spec.is_local or spec.kind.has_fixed_pairs or base is None:
        return ()
    record = MeasuredPairs(relinked=confirmed.launches, counts=measured.counts)
    slower = slow_downs(spec.judged, measured.listings, measured.launches, record)
    if not _Pairs(session, measured, slower).wanted():
        return ()
    session.claimed.enter("control")
    cost = cost_of_a_pair(spec.judged.benchmark.suites, measured.listings, measured.launches)
    needed = control_cost(slower, cost)
    left = max(measured.left - confirmed.seconds, min(_MARGIN * needed, _MOST * policy.machine_time))
    try:
        if needed > left:
            raise OutOfTime(control_too_long(needed, left))  # noqa: TRY301 - as if it ended meanwhile
        with ExitStack() as stack:
            # The patch's side is unpacked after the parent's, as the programs as built were.
            trees = {side: stack.enter_context(built_tree(session, base)) for side in (Side.BASE, Side.PATCH)}
            launcher = Launcher(session, trees, measured.listings, ITSELF)
            _measure(launcher, _Pairs(session, measured, slower), left)
    except (CommandFailed, OutOfTime) as error:
        return (control_ended(str(error)),)
    except SideFailed as error:
        return (control_ended(error.failure),)
    return ()


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

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Return the benchmarks that lack pairs; those that have them may prove to need more."""
        counting = counting_launches(self.launches, self._job.policy.base_pairs)
        if wanted := wanted_in_control(self.pairs, counting):
            return wanted
        found = controls_of(self._job, self._listings, self._slower, self.launches)
        self.pairs = {row: control_pairs(row, found.get(row.row)) for row in self._slower}
        return wanted_in_control(self.pairs, counting)


def _measure(launcher: Launcher, pairs: _Pairs, left: float) -> None:
    """Launch the missing pairs.

    Raises:
        OutOfTime: more than ``left`` seconds are used.
        SideFailed: the parent fails twice in a pair.
    """
    session, clock = launcher.session, launcher.session.host.clock
    begun, wanted = clock(), pairs.wanted()
    warm_up(launcher, wanted)
    while wanted:
        if clock() - begun > left:
            raise OutOfTime(OUT_OF_MACHINE_TIME)
        count, last = pairs.count, max(pairs.pairs.values())
        session.progress.say(f"{session.claimed.name}: control, pair {count + 1}", min(count / last, 1.0))
        pairs.launches.extend(measure_pair(launcher, next_pair(pairs.launches), wanted, count))
        wanted = pairs.wanted()
