"""Ask for a second opinion: measure slow-downs that vote −1 again, in a sequence of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.measuring.launch import SECOND
from service.domain.measuring.machine_time import MachineTime
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.runs.judge_build import decisive_pairs, slow_downs
from service.domain.verdict.comparison.counting_pairs import count_pairs
from service.domain.verdict.comparison.second_opinion import wanted_again
from service.domain.wording.build_causes import OUT_OF_MACHINE_TIME, second_opinion_ended
from service.steps.measuring.launching import SideFailed
from service.steps.measuring.measure import measure_pair, next_pair
from service.steps.measuring.rehearse import warm_up

if TYPE_CHECKING:
    from service.steps.measuring.launching import Launcher
    from service.steps.measuring.measure import Measurement


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """A second opinion's end: why it ended early (may be empty), and how long it took."""

    causes: tuple[str, ...] = ()
    seconds: float = 0.0


def ask_again(launcher: Launcher, measured: Measurement) -> SecondOpinion:
    """Measure a fresh sequence of pairs of the slow-downs that vote −1, if the build asks for it.

    It has as many pairs as the first; their order is drawn anew. Pairs that an earlier attempt or build
    recorded are continued, so a sequence has one second opinion only. It may take the machine time once
    more, or, like the first, a multiple of it up to the first look that can find a difference.
    """
    session = launcher.session
    spec, clock = session.spec, session.host.clock
    if not spec.second:
        return SecondOpinion()
    policy, listings = spec.judged.policy, measured.listings
    record = MeasuredPairs(relinked=measured.stored.relinked, counts=measured.counts)
    first = slow_downs(spec.judged, listings, measured.launches, record)
    launches, begun = [*measured.stored.second], clock()
    pair, count = next_pair(launches), count_pairs(launches, policy.base_pairs)
    last = max((row.pairs for row in first), default=0)
    if count >= last:
        return SecondOpinion()
    least = min(last, decisive_pairs(spec.judged, listings))
    session.claimed.enter("second opinion")
    launcher = replace(launcher, variant=SECOND)
    warm_up(launcher, wanted_again(first, count))
    while wanted := wanted_again(first, count):
        time = MachineTime.after(
            policy.machine_time, clock() - begun, launches[len(measured.stored.second) :]
        )
        if time.is_overdrawn or (count >= least and time.left < 0):
            return SecondOpinion((second_opinion_ended(OUT_OF_MACHINE_TIME),), clock() - begun)
        session.progress.say(f"second opinion, pair {count + 1} of {last}", count / last)
        try:
            launches.extend(measure_pair(launcher, pair, wanted, count))
        except SideFailed as error:
            return SecondOpinion((second_opinion_ended(str(error)),), clock() - begun)
        pair, count = pair + 1, count_pairs(launches, policy.base_pairs)
    return SecondOpinion((), clock() - begun)
