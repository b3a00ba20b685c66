"""Decide during a measurement which benchmarks get another pair, and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.benchmark_names import is_chosen
from service.domain.runs.judge_build import decisive_pairs
from service.domain.runs.pair_cost import confirming_cost, cost_of_a_pair
from service.domain.values.text import duration
from service.domain.verdict.calibration.evidence import SESSION_PAIRS, change_found
from service.domain.verdict.comparison.counting_pairs import allowance
from service.domain.verdict.comparison.link_layout import may_be_suspected
from service.domain.verdict.comparison.suite import compare_suites, looks_of, policy_for, undecided_benchmarks
from service.domain.verdict.inference.estimate import MIN_PAIRS
from service.domain.verdict.inference.going_on import Stages, going_on
from service.domain.wording.outlook import cost, noise

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.measuring.machine_time import MachineTime


_MOST_RESERVED: Final = 0.5  # of the machine time: without pairs, there is nothing to confirm


@dataclass(frozen=True, slots=True)
class Wanted:
    """Benchmarks that get more pairs after a look, and the seconds kept for relinks."""

    benchmarks: dict[str, tuple[str, ...]]
    reserved: float


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a measurement, as fixed before its first pair.

    ``schedule`` has the looks; ``decisive`` is the first that can find a difference, ``last`` the most
    pairs. An undecided benchmark gets ``base_pairs`` if the machine time may decide it. ``building`` are the
    seconds that building relinks is expected to take.
    """

    spec: BuildSpec
    listings: tuple[Listing, ...]
    schedule: tuple[int, ...]
    decisive: int
    base_pairs: int
    last: int
    building: float

    @staticmethod
    def of(spec: BuildSpec, listings: tuple[Listing, ...], building: float = 0.0) -> Course:
        """Plan the measurement of a build."""
        job, policy = spec.judged, spec.job.policy
        last = spec.longer.pairs if spec.longer else policy.max_pairs
        last = min(SESSION_PAIRS, last) if spec.kind.has_fixed_pairs else last
        schedule = looks_of(job.benchmark.suites, listings, policy, last)
        decisive = decisive_pairs(job, listings)
        base_pairs = max(policy.base_pairs, decisive)
        return Course(spec, listings, schedule, decisive, base_pairs, last, building)

    def look(self, launches: Sequence[Launch], left: float) -> Wanted:
        """Return the benchmarks still to be measured, by suite; suites without any are left out.

        ``left`` are the seconds left for them and for the relinks that confirm what they find.

        A request to measure longer wants all undecided benchmarks that its filter chooses. Otherwise,
        benchmarks that cannot reach a verdict within a machine time of their own are dropped from the
        decisive look on, and after ``base_pairs``, only those continue that may still vote −1 within
        ``left`` seconds. A suite with the same program on both sides is dropped once its pairs are enough
        as evidence: its verdicts are known.
        """
        spec, listings = self.spec, self.listings
        if spec.kind.has_fixed_pairs:  # a fixed number of pairs, so that estimates have no bias
            common = {each.suite: each.common for each in listings if each.common}
            known = {each.suite for each in listings if each.is_same_program}
            return Wanted({suite: names for suite, names in common.items() if suite not in known}, 0.0)
        job, longer = spec.judged, spec.longer
        pairs = len({launch.pair for launch in launches})
        is_settled = bool(longer) or pairs >= (0 if spec.is_local else MIN_PAIRS)
        rows = compare_suites(job.benchmark.suites, listings, launches, job.policy)
        policy = policy_for(job.policy, listings)
        cost = cost_of_a_pair(job.benchmark.suites, listings, launches, is_charged=True)
        suspects = may_be_suspected(rows, policy)
        needed = confirming_cost(suspects, cost)
        # Without a person who waits, relinks may take one more machine time, and building comes on top.
        if not spec.is_time_asked:
            needed -= policy.machine_time
        elif suspects:
            needed += self.building
        reserved = min(max(needed, 0.0), _MOST_RESERVED * policy.machine_time)
        chosen: Collection[tuple[str, str]] | None = None
        if longer is None:
            stages = Stages(self.decisive, self.base_pairs)
            chosen = going_on(rows, pairs, stages, cost, left - reserved, policy)
        wanted = {
            each.suite: tuple(
                name
                for name in undecided_benchmarks(rows, each.suite)
                if (longer is None or is_chosen(longer.filter, name))
                and (chosen is None or (each.suite, name) in chosen)
            )
            for each in listings
            if not (each.is_same_program and is_settled)
        }
        return Wanted({suite: names for suite, names in wanted.items() if names}, reserved)

    def place(self, pair: int, count: int, time: MachineTime, measured: int) -> str:
        """Describe the progress: the next pair, and how much longer the pairs take.

        ``count`` pairs count so far. ``measured`` of all pairs took the time that was used: a worker that
        died measured the others.
        """
        most = allowance(max(self.spec.job.policy.base_pairs, count + 1))
        disturbed = f" ({pair - count} of at most {most} repeated)" if pair > count else ""
        last = self.last if self.spec.longer else min(self.last, self.base_pairs)
        left = time.wall_left
        if count >= last:
            return f"pair {count + 1}{disturbed}, at most {duration(left)} more"
        pace = time.elapsed / measured if measured else 0.0
        more = f", at most about {duration(min(pace * (last - count), left))} more" if pace and left else ""
        return f"pair {count + 1} of at most {last}{disturbed}{more}"

    def done(self, count: int, time: MachineTime) -> float:
        """Return the used share of the pairs or the time, whichever ends first."""
        used = 1 - time.left / time.seconds if time.seconds else 1.0
        return min(max(count / self.last, used), 1.0)

    def cost(self, seconds: float) -> str:
        """Say what a pair of everything listed costs if one took ``seconds``."""
        set_up = 2 * sum(each.set_up for each in self.listings if each.common)
        time, is_asked = self.spec.job.policy.machine_time, self.spec.is_time_asked
        return cost(seconds, time, self.decisive, set_up, is_asked=is_asked)

    def outlook(self, launches: Sequence[Launch], left: float) -> str:
        """Say how far pairs vary if ``left`` seconds cannot find a change of ``same_within``; else empty.

        ``launches`` are those of the first look that can find a difference.
        """
        job, policy = self.spec.judged, self.spec.job.policy
        rows = compare_suites(job.benchmark.suites, self.listings, launches, job.policy)
        spreads = [row.spread for row in rows if row.spread is not None and not row.verdict.is_decided]
        suites = job.benchmark.suites
        each = cost_of_a_pair(suites, self.listings, launches, is_charged=True).whole
        if not spreads or not each:
            return ""
        pairs = min(self.decisive + int(max(left, 0.0) / each), self.last)
        least = math.expm1(change_found(min(spreads), pairs, policy))
        return noise(min(spreads), max(spreads), least) if least > policy.same_within else ""
