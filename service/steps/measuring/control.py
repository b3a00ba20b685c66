"""Measure the control: the parent against itself, for slow-downs that are about to vote −1."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch import ITSELF
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.runs.judge_build import slow_downs
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
    if not wanted_in_control(slower, counting_launches(measured.itself, policy.base_pairs)):
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
            _measure(launcher, measured, slower, left)
    except (CommandFailed, OutOfTime) as error:
        return (control_ended(str(error)),)
    except SideFailed as error:
        return (control_ended(error.failure),)
    return ()


def _measure(launcher: Launcher, measured: Measurement, slower: Sequence[Comparison], left: float) -> None:
    """Launch the missing pairs.

    Raises:
        OutOfTime: more than ``left`` seconds are used.
        SideFailed: the parent fails twice in a pair.
    """
    session, launches = launcher.session, [*measured.itself]
    clock, most = session.host.clock, session.spec.judged.policy.base_pairs
    last, begun = max(map(control_pairs, slower)), clock()
    wanted = wanted_in_control(slower, counting_launches(launches, most))
    warm_up(launcher, wanted)
    pair = next_pair(launches)
    while wanted:
        if clock() - begun > left:
            raise OutOfTime(OUT_OF_MACHINE_TIME)
        count = count_pairs(launches, most)
        session.progress.say(f"{session.claimed.name}: control, pair {count + 1}", min(count / last, 1.0))
        launches.extend(measure_pair(launcher, pair, wanted, count))
        pair += 1
        wanted = wanted_in_control(slower, counting_launches(launches, most))
