from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import MorePairs
from service.domain.measuring.launch_order import side_order
from service.domain.measuring.pair_record import decode, read_pairs
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.values.errors import Cancelled
from service.domain.values.identity import RunKind, Side
from service.domain.verdict.calibration.evidence import SESSION_PAIRS
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.course import Course
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import Measurement, measure
from service.steps.measuring.rehearse import NOTHING_KNOWN, fix_listings, rehearse
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import CODE, MemorySource, code
from tests.support.memory.files import MemoryPacker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from service.domain.measuring.launch import Launch

SUITE = Suite("bench", "build/bench")
JOB = Job("perf", JobKind("benchmark"), BenchmarkConfiguration(suites=(SUITE,)))
# One is decided at the first look, one at the second.
BASE = code(BM_slow=1e-6, BM_same=1e-6)
PATCH = code(BM_slow=1.1e-6, BM_same=1e-6)


class Killed(BaseException):
    """The worker is gone; nothing catches this."""


def measuring(*suites: Suite, job: Job = JOB) -> Job:
    return replace(job, configuration=replace(job.benchmark, suites=suites))


def measure_trees(launcher: Launcher) -> Measurement:
    """Rehearse both sides if nothing is measured yet, and measure them.

    Raises:
        SideFailed: a side fails; in the rehearsal, the first suite of it that does.
    """
    claimed = launcher.session.claimed
    stored = read_pairs(claimed.pairs(), tuple(launcher.suites.values()))
    rehearsals = dict.fromkeys(Side, NOTHING_KNOWN)
    if not stored.as_built:
        base = rehearse(launcher, Side.BASE)
        rehearsals = {Side.BASE: base, Side.PATCH: rehearse(launcher, Side.PATCH, base)}
    for side, rehearsal in rehearsals.items():
        for suite, end in rehearsal.ends.items():
            is_listing = end.what.endswith("(listing)")
            raise SideFailed(side, suite, end.end, is_listing=is_listing)
    listings = fix_listings(launcher.session, rehearsals)
    course = Course.of(launcher.session.spec, listings)
    return measure(replace(launcher, listings=listings), course, stored)


class Bench:
    """Two built trees and a log of pairs that outlives each worker."""

    def __init__(self, scratch: Path, base: str = BASE, patch: str = PATCH) -> None:
        self.source = MemorySource()
        self.source.commit("base", None, {CODE: base})
        self.source.commit("patch", "base", {CODE: patch})
        self.scratch = scratch
        self.sandbox = MemorySandbox()
        self.log = MemoryClaimed()
        self.conditions: dict[str, Any] = {}

    def measure(self, job: Job = JOB, seed: str = "seed", **spec: Any) -> Measurement:  # noqa: ANN401
        host = memory_host(self.source, self.sandbox, self.scratch, **self.conditions)
        self.log.seed = seed
        session = session_of(host, job, self.log)
        session = replace(session, spec=replace(session.spec, **spec))
        with ExitStack() as stack:
            trees = {side: stack.enter_context(self._tree(side)) for side in Side}
            return measure_trees(Launcher(session, trees))

    @contextmanager
    def _tree(self, side: Side) -> Iterator[Path]:
        with self.source.checkout("kv", side) as tree:
            (tree / "build").mkdir()
            for program in ("bench", "other"):
                (tree / "build" / program).write_text((tree / CODE).read_text())
            yield tree

    @property
    def launches(self) -> list[tuple[Side, str]]:
        """Side and filter of every launch that measured."""
        sides = {BASE: Side.BASE, PATCH: Side.PATCH}
        return [(sides[program], pattern) for program, pattern in self.sandbox.launches]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Measurement]:
    bench = Bench(tmp_path_factory.mktemp("unharmed"))
    return bench, bench.measure()


def verdicts(found: Measurement, job: Job = JOB) -> Mapping[str, Verdict]:
    rows = compare_suites(job.benchmark.suites, found.listings, found.launches, job.policy)
    return {row.row.benchmark: row.verdict for row in rows}


class TestPairs:
    def test_the_order_within_each_pair_follows_the_seed(self, bench: Bench) -> None:
        bench.measure(seed="a seed")
        sides = [side for side, _ in bench.launches]

        assert sides == [side for pair in range(len(sides) // 2) for side in side_order("a seed", pair)]

    def test_a_pair_is_read_after_both_launches(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reading the results of a hundred benchmarks takes as long as starting the next program."""
        events: list[str] = []
        read = Launcher.read

        def noted(*given: Any) -> Launch:  # noqa: ANN401 - as it is called
            events.append("read")
            return read(*given)

        monkeypatch.setattr(Launcher, "read", noted)
        bench.sandbox.before = lambda _: events.append("launch")
        bench.measure()

        counting = events[-4 * len(bench.log.records) :]
        assert counting == ["launch", "launch", "read", "read"] * len(bench.log.records)

    def test_decided_benchmarks_drop_out_at_the_looks(self, bench: Bench) -> None:
        found = bench.measure()
        filters = [pattern for _, pattern in bench.launches[::2]]

        assert filters == ["^(BM_same|BM_slow)$"] * 5 + ["^(BM_slow)$"] * 9
        assert verdicts(found) == {"BM_slow": Verdict.SLOWER, "BM_same": Verdict.SAME}

    def test_measuring_ends_when_all_is_decided(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(BM_a=1e-6), code(BM_a=1e-6))
        found = bench.measure()

        assert found.pairs == 5
        assert verdicts(found) == {"BM_a": Verdict.SAME}

    def test_the_record_of_a_pair_holds_what_the_programs_wrote(self, bench: Bench) -> None:
        bench.measure()
        launches = decode(bench.log.records[0].raw)

        assert [each.side for each in launches] == list(side_order("seed", 0))
        assert all(json.loads(each.output)["benchmarks"] for each in launches)
        assert set(launches[0].facts) == {
            "seconds",
            "steal",
            "foreign",
            "elsewhere",
            "disturbed",
            "voluntary_switches",
            "machine",
        }

    def test_nothing_is_launched_where_no_benchmark_is_common(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(BM_old=1e-6), code(BM_new=1e-6))
        found = bench.measure()

        assert (found.pairs, bench.sandbox.launches) == (0, [])
        assert verdicts(found) == {"BM_new": Verdict.NEW, "BM_old": Verdict.REMOVED}

    def test_both_launches_of_a_pair_have_the_same_environment_and_pairs_differ(self, bench: Bench) -> None:
        bench.measure()
        pads = bench.sandbox.pads

        assert pads[::2] == pads[1::2]
        assert len(set(pads)) > len(pads) / 4

    def test_each_pair_gets_new_copies_in_the_order_of_its_launches(self, bench: Bench) -> None:
        packer = MemoryPacker()
        bench.conditions["packer"] = packer
        found = bench.measure()
        codes = {Side.BASE: BASE, Side.PATCH: PATCH}

        assert packer.renewed == [
            (2 * pair, tuple(codes[side] for side in side_order("seed", pair))) for pair in range(found.pairs)
        ]

    def test_each_program_is_launched_once_before_any_counts(self, bench: Bench) -> None:
        bench.sandbox.before = lambda number: (
            warm.append(len(bench.sandbox.warm_ups)) if number == 0 else None
        )
        warm: list[int] = []
        bench.measure()

        assert warm == [2]
        assert {program for program, _ in bench.sandbox.warm_ups} == {BASE, PATCH}

    def test_nothing_is_warmed_up_once_all_is_decided(self, bench: Bench) -> None:
        bench.measure()
        bench.measure()

        assert len(bench.sandbox.warm_ups) == 2


class TestCalibrations:
    def test_every_benchmark_is_measured_in_all_of_them(self, bench: Bench) -> None:
        found = bench.measure(kind=RunKind.CALIBRATION)

        assert found.pairs == SESSION_PAIRS
        assert {pattern for _, pattern in bench.launches} == {"^(BM_same|BM_slow)$"}

    def test_they_are_never_more_than_the_policy_allows(self, bench: Bench) -> None:
        job = replace(JOB, policy=Policy(max_pairs=10))

        assert bench.measure(job, kind=RunKind.CALIBRATION).pairs == 10

    def test_a_killed_worker_measures_the_missing_pairs(self, bench: Bench) -> None:
        bench.sandbox.before = _kill_at(5)
        with pytest.raises(Killed):
            bench.measure(kind=RunKind.CALIBRATION)
        bench.sandbox.before = lambda _: None

        assert bench.measure(kind=RunKind.CALIBRATION).pairs == SESSION_PAIRS
        assert [each.pair for each in bench.log.records] == list(range(SESSION_PAIRS))


class TestLonger:
    BRIEF = replace(JOB, policy=Policy(max_pairs=14, false_alarms=1e-5))

    def test_continued_pairs_decide_as_if_there_had_been_no_end(self, bench: Bench, tmp_path: Path) -> None:
        brief = bench.measure(self.BRIEF)
        longer = bench.measure(self.BRIEF, longer=MorePairs("BM_slow", 40))
        (tmp_path / "whole").mkdir()
        whole = Bench(tmp_path / "whole").measure(replace(JOB, policy=Policy(false_alarms=1e-5)))

        assert verdicts(brief, self.BRIEF)["BM_slow"] is Verdict.UNDECIDED
        assert verdicts(longer, self.BRIEF)["BM_slow"] is Verdict.SLOWER
        assert 14 < longer.pairs == whole.pairs < 40

    def test_only_what_the_filter_chooses_is_launched(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(BM_a=1e-6, BM_b=1e-6), code(BM_a=1.1e-6, BM_b=1.1e-6))
        bench.measure(self.BRIEF)
        bench.sandbox.launches.clear()
        bench.measure(self.BRIEF, longer=MorePairs("BM_b", 40))

        assert {pattern for _, pattern in bench.sandbox.launches} == {"^(BM_b)$"}

    def test_a_worker_that_takes_over_asks_for_no_more_pairs(self, bench: Bench) -> None:
        bench.measure(self.BRIEF)
        first = bench.measure(self.BRIEF, longer=MorePairs("BM_slow", 16))
        again = bench.measure(self.BRIEF, longer=MorePairs("BM_slow", 16))

        assert first.pairs == again.pairs == 16

    def test_a_later_check_keeps_what_the_longer_one_decided(self, bench: Bench) -> None:
        bench.measure(self.BRIEF)
        longer = bench.measure(self.BRIEF, longer=MorePairs("BM_slow", 40))
        bench.sandbox.launches.clear()
        again = bench.measure(self.BRIEF)

        assert bench.sandbox.launches == []
        assert verdicts(again, self.BRIEF) == verdicts(longer, self.BRIEF)


class TestBudget:
    def test_the_number_of_pairs_is_bounded(self, bench: Bench) -> None:
        found = bench.measure(replace(JOB, policy=Policy(max_pairs=10, floor=0.0)))

        assert found.pairs <= 10

    def test_machine_time_is_bounded(self, bench: Bench) -> None:
        """A launch takes ten seconds; the pair that is begun in time is finished."""
        bench.sandbox.seconds = 10.0
        found = bench.measure(replace(JOB, policy=Policy(machine_time=65.0)))

        assert (found.pairs, found.seconds) == (14, 280.0)

    def test_launches_that_became_long_do_not_escape_the_verdict(self, bench: Bench) -> None:
        """The budget is stretched to the first look that can find a difference, and no further."""
        bench.sandbox.seconds = 10.0
        enough = bench.measure(replace(JOB, policy=Policy(machine_time=65.0)))
        assert Verdict.SLOWER in verdicts(enough).values()

    def test_the_stretched_budget_ends_too(self, bench: Bench) -> None:
        bench.sandbox.seconds = 10.0
        found = bench.measure(replace(JOB, policy=Policy(machine_time=15.0)))

        assert (found.pairs, found.seconds) == (4, 80.0)
        assert set(verdicts(found).values()) == {Verdict.UNDECIDED}

    def test_no_time_measures_nothing(self, bench: Bench) -> None:
        bench.sandbox.seconds = 10.0

        assert bench.measure(replace(JOB, policy=Policy(machine_time=0.0))).pairs == 1


class TestAfterAKill:
    @pytest.mark.parametrize("launch", range(28))
    def test_a_killed_worker_is_continued_as_if_nothing_had_happened(
        self, bench: Bench, unharmed: tuple[Bench, Measurement], launch: int
    ) -> None:
        killed, (whole, expected) = bench, unharmed
        killed.sandbox.before = _kill_at(launch)
        with pytest.raises(Killed):
            killed.measure()
        killed.sandbox.before = lambda _: None
        found = killed.measure()

        assert len(killed.log.records) == len(whole.log.records)
        assert (found.pairs, verdicts(found)) == (expected.pairs, verdicts(expected))
        redone = launch % 2  # half a pair is repeated whole
        assert killed.launches[: launch - redone] == whole.launches[: launch - redone]
        assert killed.launches[launch:] == whole.launches[launch - redone :]

    def test_the_first_listing_says_what_is_measured(self, bench: Bench) -> None:
        bench.sandbox.before = _kill_at(2)
        with pytest.raises(Killed):
            bench.measure()
        bench.sandbox.before = lambda _: None
        bench.source.commit("patch", "base", {CODE: code(BM_other=1e-6, BM_slow=1.1e-6, BM_same=1e-6)})
        found = bench.measure()

        assert found.listings[0].patch == ("BM_slow", "BM_same")
        assert verdicts(found) == {"BM_slow": Verdict.SLOWER, "BM_same": Verdict.SAME}

    def test_a_decided_sequence_is_not_measured_again(self, bench: Bench) -> None:
        first = bench.measure()
        bench.sandbox.launches.clear()
        again = bench.measure()

        assert bench.sandbox.launches == []
        assert verdicts(again) == verdicts(first)

    def test_cancelling_ends_the_launch_and_keeps_whole_pairs(self, bench: Bench) -> None:
        def cancel(launch: int) -> None:
            if launch == 7:
                raise Cancelled("a newer patch set")

        bench.sandbox.before = cancel
        with pytest.raises(Cancelled):
            bench.measure()

        assert [each.pair for each in bench.log.records] == [0, 1, 2]


def _kill_at(launch: int) -> Callable[[int], None]:
    def before(number: int) -> None:
        if number == launch:
            raise Killed

    return before


class TestSuites:
    def test_a_decided_suite_is_no_longer_launched(self, tmp_path: Path) -> None:
        job = measuring(
            Suite("same", "build/bench", filter="BM_same"), Suite("slow", "build/other", filter="BM_slow")
        )
        bench = Bench(tmp_path)
        bench.measure(job)

        per_pair = [[each.suite for each in decode(pair.raw)] for pair in bench.log.records]
        assert per_pair == [["same", "same", "slow", "slow"]] * 5 + [["slow", "slow"]] * 9

    def test_a_filter_limits_the_listing(self, bench: Bench) -> None:
        found = bench.measure(measuring(replace(SUITE, filter="sl")))

        assert found.listings[0].patch == found.listings[0].base == ("BM_slow",)
