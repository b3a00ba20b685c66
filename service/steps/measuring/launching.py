"""Launches of benchmark programs: list the benchmarks of two built trees, and run those that are chosen."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Completed, Limits, Mount
from service.domain.machines.environment import load_between
from service.domain.measuring.callgrind import LOGGING
from service.domain.measuring.formats.foreign import as_gbench, recognise
from service.domain.measuring.formats.listing import names_in
from service.domain.measuring.formats.reader import ReadLimits, read_run
from service.domain.measuring.invocation import (
    RESULT,
    missing_of,
    ran_of,
    to_count,
    to_list,
    to_measure,
    to_run_whole,
    to_test,
)
from service.domain.measuring.launch_order import (
    environment_pad,
    filter_for,
    groups_of,
    side_order,
    threads_of,
)
from service.domain.measuring.pair_record import RESULT_BYTES, RawLaunch, launch_of, run_of
from service.domain.measuring.renaming import with_names
from service.domain.measuring.repetitions import SHORT, Rehearsed, repetitions_of
from service.domain.measuring.tests.timed import GROUP, TimedSuite, durations, ran_in, too_short
from service.domain.measuring.whole_programs import WHOLE_PROGRAMS, NotMeasured, read_whole
from service.domain.values.errors import BadResults, BenchgateError, CommandFailed
from service.domain.values.identity import Side
from service.domain.values.text import plain
from service.domain.verdict.comparison.counting_pairs import is_disturbed
from service.steps.building.build_sources import BUILD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from service.domain.measuring.formats.foreign import ForeignBenchmark, ForeignProgram
    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.measuring.invocation import Invocation
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.repetitions import Repetitions
    from service.domain.measuring.tests.cases import TestRun
    from service.domain.project.benchmark import Suite
    from service.steps.building.session import BuildSession

MAX_LISTED: Final = 10_000  # more rows than that are an attack on the database
# Rows beyond one for each repetition: statistics of a benchmark, and benchmarks that the filter did not name.
_STATISTICS: Final = 16
_SPARE_BENCHMARKS: Final = 100
_PAD: Final = "BENCHGATE_PAD"
_COUNTED_SECONDS: Final = 0.2  # of the last trial; a tenth of it is longer than Valgrind needs to translate


class SideFailed(BenchgateError):
    """A program of one side failed: it cannot be listed, or a launch of it failed."""

    def __init__(
        self,
        side: Side,
        suite: str,
        end: str,
        *,
        is_listing: bool = False,
        program: ForeignProgram | None = None,
    ) -> None:
        what = f"suite {suite} (listing)" if is_listing else f"suite {suite}"
        super().__init__(f"{side}: {what}: {end}")
        self.side = side
        self.suite = suite
        self.what = what
        self.failure = f"{what}: {end}"
        self.end = end
        self.program = program  # as far as its output shows


@dataclass(frozen=True, slots=True)
class Launcher:
    """The programs of both sides, ready to run."""

    session: BuildSession  # the build that measures them
    trees: Mapping[Side, Path]  # the built tree of each side
    long: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by suite, those of long repetitions
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by suite, old names by new ones
    multiples: Mapping[str, int] = field(default_factory=dict)  # by suite, of the usual repetitions
    variant: int = 0  # 0 as the project links them, else a relink

    @property
    def suites(self) -> dict[str, Suite]:
        """The suites of the job by name."""
        return {suite.name: suite for suite in self.session.spec.job.benchmark.suites}

    def names(self, suite: Suite, side: Side) -> tuple[str, ...]:
        """The lines that a side's program lists under the suite's filter; not all need be benchmarks.

        Raises:
            SideFailed: it does not list, or lists too much.
        """
        _, output, _ = self._run(suite, side, to_list(suite, self.session.host.cpus))
        printed = output.decode("utf-8", "replace")
        names = names_in(printed)
        if len(names) > MAX_LISTED:
            what = f"prints more than {MAX_LISTED} lines"
            raise SideFailed(side, suite.name, what, is_listing=True, program=recognise(printed))
        return names

    def groups(self, suite: Suite, benchmarks: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The benchmarks in groups that one launch each can take: repeated alike, and not too many."""
        if isinstance(suite, TimedSuite):
            return groups_of(benchmarks, *GROUP)
        if suite.format in WHOLE_PROGRAMS:
            return groups_of(benchmarks, MAX_LISTED, RESULT_BYTES)
        long = self.long.get(suite.name, frozenset())
        names = tuple(benchmarks)
        return (
            *groups_of(name for name in names if name not in long),
            *groups_of(name for name in names if name in long),
        )

    def launch(
        self, suite: Suite, side: Side, benchmarks: Sequence[str], pair: int, *, is_renewed: bool
    ) -> RawLaunch:
        """Measure these benchmarks once, as a part of that pair.

        Args:
            suite: whose program is launched.
            side: of which tree.
            benchmarks: one of its groups.
            pair: the number that decides about the environment.
            is_renewed: whether the program was copied anew for this pair.

        Raises:
            SideFailed: the program did not end well, or left no result.
        """
        cpus = self._cpus(suite, benchmarks)
        env = {_PAD: "x" * environment_pad(self.session.claimed.seed, pair, self.variant)}
        read_load = self.session.host.read_load
        before = read_load()
        done, output = self._times(suite, side, benchmarks, env)
        around = load_between(before, read_load(), cpus, done.cpu_seconds)
        facts = {
            "seconds": round(done.seconds, 3),
            "steal": around.steal_share,
            "foreign": around.foreign_share,
            "elsewhere": around.elsewhere_share,
            "disturbed": is_disturbed(around),
            **({} if is_renewed else {"kept_in_place": True}),
        }
        return RawLaunch(suite.name, side, output, facts)

    def read(self, raw: RawLaunch, benchmarks: Sequence[str], pair: int) -> Launch:
        """Read a launch of these benchmarks.

        Raises:
            SideFailed: its results cannot be read, or not all of these benchmarks ran.
        """
        suite, side = self.suites[raw.suite], raw.side
        try:
            run = run_of(raw, pair, self.variant, self._read_limits(suite, benchmarks))
        except BadResults as error:
            # Before the pair is stored: what cannot be read now could not be read later either.
            raise SideFailed(side, suite.name, f"{RESULT}: {error.what}") from None
        own = [self.own_name(suite.name, side, name) for name in benchmarks]
        if problem := _too_many(run) or missing_of(run, own, RESULT):
            raise SideFailed(side, suite.name, problem)
        return self._as_compared(launch_of(raw, run, suite, pair, self.variant))

    def own_name(self, suite: str, side: Side, benchmark: str) -> str:
        """The name that a side's program has for a benchmark, which the patch may have renamed."""
        renamed = self.renamed.get(suite, {}) if side is Side.BASE else {}
        return renamed.get(benchmark, benchmark)

    def renew(self, draw: int) -> bool:
        """Put new copies in the place of both sides' programs, in the order in which a pair launches them.

        A file keeps its place in memory for as long as it is cached, and some places make a program slower
        for good. Drawn anew for every pair that becomes noise, as with the environment.

        Returns:
            False if they are too large to be copied for every pair.

        Raises:
            Transient: they cannot be copied.
        """
        first, second = self.order(draw)
        builds = (self.trees[first] / BUILD, self.trees[second] / BUILD)
        host = self.session.host
        return host.packer.renew(host.sandbox, builds, self.session.watch)

    def order(self, draw: int) -> tuple[Side, Side]:
        """Draw the order of the sides in a pair."""
        return side_order(self.session.claimed.seed, draw, self.variant)

    def rehearse(self, suite: Suite, side: Side, benchmarks: Sequence[str]) -> Rehearsed:
        """Run these benchmarks once.

        Raises:
            SideFailed: the program did not end well, or left no result that can be read.
        """
        once = replace(suite, repetitions=1, min_time=suite.min_time or SHORT.min_time)
        done, output = self._times(once, side, benchmarks, {})
        if not output.strip():
            # What the library leaves if its filter matches nothing, because no name is a benchmark's.
            return Rehearsed(seconds=done.seconds)
        try:
            run = read_run(output, source=RESULT, limits=self._read_limits(once, benchmarks))
        except BadResults as error:
            raise SideFailed(side, suite.name, str(error)) from None
        if problem := _too_many(run) or (run.damage and f"{RESULT}: {run.damage}"):
            raise SideFailed(side, suite.name, problem)
        return Rehearsed.of(run, ran_of(run, benchmarks), done.seconds)

    def run_whole(self, suite: Suite, side: Side) -> tuple[str, ...]:
        """Run all benchmarks of a program that lists none, once: their names in its order.

        Raises:
            SideFailed: the program did not end well, left no result that can be read, or has too many.
        """
        _, found = self._benchmarks(suite, side, (), {})
        if len(found) > MAX_LISTED:
            raise SideFailed(side, suite.name, f"has more than {MAX_LISTED} benchmarks")
        return tuple(each.name for each in found)

    def try_tests(self, suite: TimedSuite, side: Side) -> TestRun:
        """Run all tests of a suite once.

        Raises:
            SideFailed: the program left no results that can be read, failed although no test did, or has too
                many long tests.
        """
        _, found = self._tried(suite, side, (), {})
        if len(ran_in(found)) - len(too_short(found)) > MAX_LISTED:
            raise SideFailed(side, suite.name, f"has more than {MAX_LISTED} tests to compare")
        return found

    def count(self, suite: Suite, side: Side, benchmark: str, seconds: float) -> tuple[bytes, bytes]:
        """Run one benchmark under callgrind for at most ``seconds``: the dumps, and the library's log.

        Raises:
            SideFailed: the program or Valgrind did not end well, or left no dumps.
        """
        counted = replace(
            suite, repetitions=1, min_time=_COUNTED_SECONDS, timeout=min(suite.timeout, seconds)
        )
        cpus = self._cpus(suite, (benchmark,))
        flags = (*self._flags(counted, side, (benchmark,)), *LOGGING)
        _, dumps, log = self._run(counted, side, to_count(counted, flags, cpus))
        return dumps, log

    def _times(
        self, suite: Suite, side: Side, benchmarks: Sequence[str], env: Mapping[str, str]
    ) -> tuple[Completed, bytes]:
        """Run these benchmarks: the program's end, and the times as Google Benchmark's JSON."""
        if isinstance(suite, TimedSuite):
            done, tests = self._tried(suite, side, benchmarks, env)
            return done, durations(tests, benchmarks)
        if suite.format in WHOLE_PROGRAMS:
            done, found = self._benchmarks(suite, side, benchmarks, env)
            return done, as_gbench(found, {self.own_name(suite.name, side, name) for name in benchmarks})
        flags, cpus = self._flags(suite, side, benchmarks), self._cpus(suite, benchmarks)
        done, output, _ = self._run(suite, side, to_measure(suite, flags, cpus, env))
        return done, output

    def _benchmarks(
        self, suite: Suite, side: Side, names: Sequence[str], env: Mapping[str, str]
    ) -> tuple[Completed, tuple[ForeignBenchmark, ...]]:
        """Run all benchmarks of a program of another library, on the CPUs that these need."""
        invocation = to_run_whole(suite, self._cpus(suite, names), env)
        done, output, log = self._run(suite, side, invocation)
        try:
            return done, read_whole(suite.format, output, "" if done.is_success else _end_of(done, log))
        except NotMeasured as error:
            raise SideFailed(side, suite.name, error.what, program=error.program) from None

    def _tried(
        self, suite: TimedSuite, side: Side, names: Sequence[str], env: Mapping[str, str]
    ) -> tuple[Completed, TestRun]:
        """Run these tests, or else all. A test that fails is a result, as a benchmark with an error is."""
        invocation = to_test(suite, names, self._cpus(suite, names), env)
        done, output, _ = self._run(suite, side, invocation)
        try:
            tests = suite.read(output)
        except BadResults as error:
            raise SideFailed(side, suite.name, f"{RESULT}: {error.what}") from None
        if not done.is_success and not any(case.has_failed for case in tests.cases):
            raise SideFailed(side, suite.name, f"{done.end}, although no test failed")
        return done, tests

    def _as_compared(self, launch: Launch) -> Launch:
        names = {old: new for new, old in self.renamed.get(launch.suite, {}).items()}
        return with_names(launch, names) if launch.side is Side.BASE and names else launch

    def _flags(self, suite: Suite, side: Side, benchmarks: Sequence[str]) -> tuple[str, ...]:
        repetitions = self._repetitions(suite, benchmarks)
        return (
            "--benchmark_out_format=json",
            f"--benchmark_filter={filter_for(self.own_name(suite.name, side, name) for name in benchmarks)}",
            f"--benchmark_repetitions={repetitions.count}",
            # A plain number is the one form that needs no probing: versions before 1.8 refuse a unit, later
            # ones want one (0.05s), take the number as seconds nevertheless, and say so on standard error.
            f"--benchmark_min_time={repetitions.min_time:g}",
        )

    def _read_limits(self, suite: Suite, benchmarks: Sequence[str]) -> ReadLimits:
        """Limit the rows of a launch, each of which takes time of this process and room in the database."""
        repetitions = self._repetitions(suite, benchmarks).count
        return ReadLimits(rows=(len(benchmarks) + _SPARE_BENCHMARKS) * (repetitions + _STATISTICS))

    def _repetitions(self, suite: Suite, benchmarks: Sequence[str]) -> Repetitions:
        is_long = not self.long.get(suite.name, frozenset()).isdisjoint(benchmarks)
        return repetitions_of(suite, is_long=is_long, multiple=self.multiples.get(suite.name, 1))

    def _cpus(self, suite: Suite, benchmarks: Sequence[str]) -> tuple[int, ...]:
        """As many CPUs of the measured set as the suite and its threads ask for, the same for both sides.

        The last ones, because interrupts and the service mostly use the first. If the set is too small, the
        whole machine is used: threads that share a CPU measure the scheduler, which is worse than
        sharing with the service.
        """
        measured, everywhere = self.session.host.cpus, self.session.host.host_cpus
        if isinstance(suite, TimedSuite):  # the number of its threads is not known
            return measured
        wanted = cpus_wanted(suite, benchmarks)
        return measured[-wanted:] if wanted <= len(measured) else everywhere or measured

    def _run(self, suite: Suite, side: Side, invocation: Invocation) -> tuple[Completed, bytes, bytes]:
        """Run a program of a side: its end, the file it leaves, standard error."""
        host = self.session.host
        tree = self.trees[side]
        with ExitStack() as stack:
            mounts = [Mount(tree, "/src"), Mount(tree / BUILD, "/build"), *self.session.dependency_mounts]
            # The rest stays as it is, so that no launch changes the next.
            for path in invocation.written:
                empty = stack.enter_context(host.scratch.directory())
                mounts.append(Mount(empty, f"/src/{path}", writable=True))
            out = stack.enter_context(host.scratch.directory())
            command = Command(
                ("sh", "-c", invocation.line, "sh", *invocation.arguments),
                mounts=(*mounts, Mount(out, "/out", writable=True)),
                cwd="/src",
                env=invocation.env,
                cpus=invocation.cpus or None,
                aslr=False,
                limits=invocation.limits or Limits(suite.timeout, file_bytes=RESULT_BYTES),
            )
            tail = BytesIO()
            done = host.sandbox.run(command, log=tail, watch=self.session.watch)
            output, problem = b"", ""
            try:
                output = host.packer.read_output(out / invocation.file, RESULT_BYTES)
            except (BadResults, CommandFailed) as error:
                problem = f"left no result: {error}"
        log = tail.getvalue()
        if done.stopped_by or not (done.is_success or invocation.may_fail) or problem:
            end = problem if done.is_success else _end_of(done, log)
            printed = (output + b"\n" + log).decode("utf-8", "replace")
            # Those that may fail are tests, and programs whose library the suite names.
            program = None if invocation.may_fail else recognise(printed)
            raise SideFailed(side, suite.name, end, program=program)
        return done, output, log


def _end_of(done: Completed, log: bytes) -> str:
    """Describe how a program ended, with the last lines that it wrote to standard error."""
    lines = plain(log[-2000:].decode("utf-8", "replace"), 300)
    return f"{done.end}: {lines}" if lines else done.end


def cpus_wanted(suite: Suite, benchmarks: Iterable[str]) -> int:
    """The number of CPUs that a launch asks for: the suite's, or one for each thread if that is more."""
    return max(suite.cpus, *(threads_of(name) for name in benchmarks), 1)


def _too_many(run: GBenchRun) -> str:
    """A sentence if the results have more rows than the launched benchmarks can have; else empty."""
    return f"{RESULT} has far more rows than the launched benchmarks" if run.is_cut else ""
