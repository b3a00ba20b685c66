"""Launch the programs of two built trees: list their benchmarks, and run the chosen ones."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.machines.environment import load_between
from service.domain.measuring.callgrind import trials
from service.domain.measuring.callgrind_events import loop_events
from service.domain.measuring.callgrind_functions import functions
from service.domain.measuring.formats.program import (
    RESULT,
    Invocation,
    NotMeasured,
    Output,
    missing_of,
    ran_of,
    recognise,
)
from service.domain.measuring.formats.reader import ReadLimits, read_run
from service.domain.measuring.formats.suites import format_of
from service.domain.measuring.launch import ITSELF
from service.domain.measuring.launch_order import environment_pad, side_order, threads_of
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import RESULT_BYTES, RawLaunch, launch_of, run_of
from service.domain.measuring.renaming import under_new_names
from service.domain.measuring.repetitions import SHORT, Rehearsed, Repetitions, repetitions_of
from service.domain.measuring.sampled_stacks import NAMES, NAMING, named, naming_arguments
from service.domain.project.benchmark import ALL_CPUS
from service.domain.values.errors import BadResults, BenchgateError, CommandFailed
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import is_disturbed
from service.steps.building.build_sources import BUILD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.domain.measuring.callgrind import Trial
    from service.domain.measuring.callgrind_events import LoopEvents
    from service.domain.measuring.callgrind_functions import FunctionCount
    from service.domain.measuring.formats.program import ForeignProgram, Listed
    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.sampled_stacks import Profile, Sampled
    from service.domain.project.benchmark import Suite
    from service.steps.building.session import BuildHost, BuildSession

# Rows beyond one per repetition: statistics of a benchmark, and benchmarks that the filter did not name.
_STATISTICS: Final = 16
_SPARE_BENCHMARKS: Final = 100
_PAD: Final = "BENCHGATE_PAD"


class SideFailed(BenchgateError):
    """A program of one side failed to list its benchmarks, or in a launch."""

    def __init__(
        self,
        side: Side,
        suite: str,
        end: str,
        *,
        is_listing: bool = False,
        program: ForeignProgram | None = None,
    ) -> None:
        self.what = f"suite {suite} (listing)" if is_listing else f"suite {suite}"
        self.failure = f"{self.what}: {end}"
        super().__init__(f"{side}: {self.failure}")
        self.side, self.suite, self.end = side, suite, end
        self.program = program  # as far as its output shows


@dataclass(frozen=True, slots=True)
class Launcher:
    """Both sides' programs, ready to run.

    ``variant`` is 0 as the project links them, ``ITSELF`` if both sides are the parent, else a relink;
    ``built_again`` has the sides whose relinks the build commands made.
    """

    session: BuildSession  # the build that measures them
    trees: Mapping[Side, Path]  # the built tree of each side
    listings: tuple[Listing, ...] = ()  # once they are fixed: how benchmarks are repeated and named
    variant: int = 0
    built_again: frozenset[Side] = frozenset()

    @property
    def suites(self) -> dict[str, Suite]:
        """The suites of the job by name."""
        return {suite.name: suite for suite in self.session.spec.job.benchmark.suites}

    def list(self, suite: Suite, side: Side, before: Sequence[str] = ()) -> Listed:
        """List the benchmarks of a side; ``before`` has the parent's.

        Raises:
            SideFailed: the program did not end well, or lists nothing that can be read, or too much.
        """
        of, host = format_of(suite), self.session.host
        # What a program lists without running may depend on how many CPUs it sees.
        cpus = cpus_for(host, suite, ()) if of.lists_by_running else host.cpus
        output = self._run(suite, side, of.list(suite), cpus)
        try:
            return of.listed(output, before)
        except NotMeasured as error:
            what, is_listing = error.what, not of.lists_by_running
            raise SideFailed(side, suite.name, what, is_listing=is_listing, program=error.program) from None

    def groups(self, suite: Suite, benchmarks: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Divide benchmarks into groups that one launch each can take: repeated alike, and not too many."""
        return format_of(suite).group(benchmarks, self._listing(suite).long)

    def launch(
        self, suite: Suite, side: Side, benchmarks: Sequence[str], pair: int, *, is_renewed: bool
    ) -> RawLaunch:
        """Measure these benchmarks once, as a part of a pair.

        Args:
            suite: its program is launched.
            side: chooses the tree.
            benchmarks: one of its groups.
            pair: the number; it decides about the environment.
            is_renewed: whether the program was copied anew for this pair.

        Raises:
            SideFailed: the program did not end well, or left no result.
        """
        host = self.session.host
        env = {_PAD: "x" * environment_pad(self.session.claimed.seed, pair, self.variant)}
        before = host.read_load()
        repetitions = _repetitions(suite, self._listing(suite), benchmarks)
        done, output = self._times(suite, side, benchmarks, repetitions, env)
        around = load_between(before, host.read_load(), cpus_for(host, suite, benchmarks), done.cpu_seconds)
        facts = {
            "seconds": round(done.seconds, 3),
            "steal": around.steal_share,
            "foreign": around.foreign_share,
            "elsewhere": around.elsewhere_share,
            "disturbed": is_disturbed(around),
            "voluntary_switches": done.voluntary_switches,
            "machine": host.machine,
            **({} if is_renewed else {"kept_in_place": True}),
            **({"built_again": True} if side in self.built_again else {}),
        }
        return RawLaunch(suite.name, side, output, facts)

    def read(self, raw: RawLaunch, benchmarks: Sequence[str], pair: int) -> Launch:
        """Read a launch of these benchmarks.

        Raises:
            SideFailed: its results cannot be read, or not all of these benchmarks ran.
        """
        suite, side = self.suites[raw.suite], raw.side
        listing = self._listing(suite)
        limits = _read_limits(benchmarks, _repetitions(suite, listing, benchmarks))
        try:
            run = run_of(raw, pair, self.variant, limits)
        except BadResults as error:
            # Before the pair is stored: what cannot be read now could not be read later either.
            raise SideFailed(side, suite.name, f"{RESULT}: {error.what}") from None
        if problem := _too_many(run) or missing_of(run, self._own_names(suite, side, benchmarks)):
            raise SideFailed(side, suite.name, problem)
        (launch,) = under_new_names([launch_of(raw, run, suite, pair, self.variant)], [listing])
        return launch

    def renew(self, draw: int) -> bool:
        """Replace both sides' programs by new copies, in launch order.

        A file keeps its place in memory for as long as it is cached, and some places make a program slower
        for good. New copies for every pair turn that into noise, as with the environment.

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
        once = Repetitions(1, suite.min_time or SHORT.min_time)
        done, output = self._times(suite, side, benchmarks, once, {})
        if not output.strip():
            # The library leaves this if its filter matches no benchmark.
            return Rehearsed(seconds=done.seconds)
        try:
            run = read_run(output, source=RESULT, limits=_read_limits(benchmarks, once))
        except BadResults as error:
            raise SideFailed(side, suite.name, str(error)) from None
        if problem := _too_many(run) or (run.damage and f"{RESULT}: {run.damage}"):
            raise SideFailed(side, suite.name, problem)
        return Rehearsed.of(run, ran_of(run, benchmarks), done.seconds)

    def count(
        self, suite: Suite, side: Side, benchmark: str, seconds: float
    ) -> tuple[tuple[Trial, ...], tuple[FunctionCount, ...]]:
        """Count the instructions of each timed loop of one benchmark, for at most ``seconds``.

        Returns:
            The loops, and the functions of the last one; none if the dumps do not show them.

        Raises:
            SideFailed: the program or Valgrind did not end well, or left no dumps.
            BadResults: the dumps cannot be read.
        """
        output, own = self._count(suite, side, benchmark, seconds)
        loops = trials(output.file, output.log, own)
        with suppress(BadResults):  # the counts do not need them
            return loops, functions(output.file)
        return loops, ()

    def count_events(self, suite: Suite, side: Side, benchmark: str, seconds: float) -> LoopEvents:
        """Count the events of the last timed loop of one benchmark; limits and errors as :meth:`count`."""
        output, own = self._count(suite, side, benchmark, seconds, has_events=True)
        return loop_events(output.file, output.log, own)

    def run_tool(self, suite: Suite, side: Side, invocation: Invocation) -> bytes:
        """Run another program beside a side's in the sandbox; return its file.

        Raises:
            SideFailed: it did not end well, or left no file.
        """
        return self._run(suite, side, invocation, cpus_for(self.session.host, suite, ())).file

    def sample(
        self, suite: Suite, side: Side, benchmark: str, pair: int, seconds: float, repetitions: int = 1
    ) -> Profile:
        """Sample the stacks of one benchmark; limits and errors as :meth:`count`."""
        limited = replace(suite, timeout=min(suite.timeout, seconds))
        (own,) = self._own_names(suite, side, (benchmark,))
        pad = {_PAD: "x" * environment_pad(self.session.claimed.seed, pair, self.variant)}
        of, cpus = format_of(suite), cpus_for(self.session.host, suite, (benchmark,))
        invocation = replace(of.sample(limited, own, repetitions), env=pad)
        return of.profile(self._run(limited, side, invocation, cpus, has_priority=True), own)

    def name(
        self,
        suite: Suite,
        side: Side,
        profiles: Sequence[Profile],
        seconds: float,
        timed: Collection[str] = (),
    ) -> tuple[Sampled, ...]:
        """Name the functions that were sampled, and keep the samples of the timed loop, as :func:`named`.

        The tools of binutils read programs of the patch, so they run in the sandbox; errors as :meth:`count`.
        """
        limits = Limits(seconds, file_bytes=RESULT_BYTES)
        naming = Invocation(NAMING, naming_arguments(profiles), limits, file=NAMES)
        return named(profiles, self.run_tool(suite, side, naming), timed)

    def _count(
        self, suite: Suite, side: Side, benchmark: str, seconds: float, *, has_events: bool = False
    ) -> tuple[Output, str]:
        """Run a benchmark under Valgrind; return its output, and the benchmark's name on this side."""
        limited = replace(suite, timeout=min(suite.timeout, seconds))
        (own,) = self._own_names(suite, side, (benchmark,))
        cpus = cpus_for(self.session.host, suite, (benchmark,))
        invocation = format_of(suite).count(limited, own, has_events=has_events)
        return self._run(limited, side, invocation, cpus), own

    def _listing(self, suite: Suite) -> Listing:
        known = (each for each in self.listings if each.suite == suite.name)
        return next(known, Listing(suite.name, (), ()))

    def _own_names(self, suite: Suite, side: Side, benchmarks: Iterable[str]) -> tuple[str, ...]:
        side = Side.BASE if self.variant == ITSELF else side
        return self._listing(suite).own_names(side, benchmarks)

    def _times(
        self,
        suite: Suite,
        side: Side,
        benchmarks: Sequence[str],
        repetitions: Repetitions,
        env: Mapping[str, str],
    ) -> tuple[Completed, bytes]:
        """Run these benchmarks; return the program's end, and the times as Google Benchmark's JSON."""
        of, own = format_of(suite), self._own_names(suite, side, benchmarks)
        cpus = cpus_for(self.session.host, suite, benchmarks)
        invocation = of.invoke(suite, own, repetitions)
        invocation = replace(invocation, env={**invocation.env, **env})
        output = self._run(suite, side, invocation, cpus, has_priority=True)
        try:
            return output.done, of.read(output, own)
        except NotMeasured as error:
            raise SideFailed(side, suite.name, error.what, program=error.program) from None

    def _run(
        self,
        suite: Suite,
        side: Side,
        invocation: Invocation,
        cpus: tuple[int, ...],
        *,
        has_priority: bool = False,
    ) -> Output:
        """Run a program of a side."""
        host, of, tree = self.session.host, format_of(suite), self.trees[side]
        build, limits = self.session.spec.job.configuration.build, invocation.limits
        with ExitStack() as stack:
            mounts = [Mount(tree, "/src"), Mount(tree / BUILD, "/build"), *self.session.dependency_mounts]
            # The rest stays as it is, so that no launch changes the next.
            for path in of.written:
                empty = stack.enter_context(host.scratch.directory())
                mounts.append(Mount(empty, f"/src/{path}", writable=True))
            out = stack.enter_context(host.scratch.directory())
            command = Command(
                ("sh", "-c", invocation.line, "sh", *invocation.arguments),
                mounts=(*mounts, Mount(out, "/out", writable=True)),
                cwd="/src",
                env={**suite.env, **invocation.env},
                cpus=cpus or None,
                aslr=False,
                limits=replace(limits, disk_bytes=build.disk) if build else limits,
                has_priority=has_priority,
            )
            log = BytesIO()
            done = host.sandbox.run(command, log=log, watch=self.session.watch)
            file, problem = b"", ""
            try:
                file = host.packer.read_output(out / invocation.file, RESULT_BYTES)
            except (BadResults, CommandFailed) as error:
                problem = f"left no result: {error}"
        output = Output(done, file, log.getvalue())
        if done.stopped_by or not (done.is_success or of.may_fail) or problem:
            printed = (file + b"\n" + output.log).decode("utf-8", "replace")
            # Those that may fail are tests, and programs if the suite names their library.
            program = None if of.may_fail else recognise(printed)
            raise SideFailed(side, suite.name, problem if done.is_success else output.end, program=program)
        return output


def cpus_for(host: BuildHost, suite: Suite, benchmarks: Iterable[str]) -> tuple[int, ...]:
    """Choose the launch's CPUs from the measured set, the same for both sides.

    The last ones, because interrupts and the service mostly use the first. If the set is too small, the whole
    machine is used: threads that share a CPU measure the scheduler, which is worse than sharing with the
    service.
    """
    wanted = cpus_wanted(suite, benchmarks)
    if wanted == ALL_CPUS:
        return host.cpus
    return host.cpus[-wanted:] if wanted <= len(host.cpus) else host.host_cpus or host.cpus


def cpus_wanted(suite: Suite, benchmarks: Iterable[str]) -> int:
    """Return how many CPUs a launch asks for: the suite's, or one per thread if that is more."""
    if suite.cpus == ALL_CPUS:
        return ALL_CPUS
    return max(suite.cpus, *(threads_of(name) for name in benchmarks), 1)


def _repetitions(suite: Suite, listing: Listing, benchmarks: Iterable[str]) -> Repetitions:
    is_long = not listing.long.isdisjoint(benchmarks)
    return repetitions_of(suite, is_long=is_long, multiple=listing.multiple)


def _read_limits(benchmarks: Sequence[str], repetitions: Repetitions) -> ReadLimits:
    """Limit the rows of a launch: each takes time of this process and room in the database."""
    return ReadLimits(rows=(len(benchmarks) + _SPARE_BENCHMARKS) * (repetitions.count + _STATISTICS))


def _too_many(run: GBenchRun) -> str:
    """Return a sentence if there are more rows than the benchmarks can have; else an empty text."""
    return f"{RESULT} has far more rows than the launched benchmarks" if run.is_cut else ""
