"""Launches the benchmark programs of two built trees: lists what they have, and runs what is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from service.domain.command import Command, Completed, Limits, Mount
from service.domain.errors import BadResults, BenchgateError, CommandFailed
from service.domain.gbench import read_run
from service.domain.gbench_text import clean
from service.domain.machine import load_between
from service.domain.pair_record import RawLaunch
from service.domain.pairing import environment_pad, filter_for, threads_of
from service.domain.text import plain
from service.steps.build_sides import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from service.domain.identity import Side
    from service.domain.project_file import Job, Suite
    from service.steps.build_sides import Workshop

RESULT: Final = "result.json"
MAX_LISTED: Final = 10_000  # more rows than that are an attack on the database
_MAX_NAME: Final = 1024  # as long as a name in results may be
_MAX_OUTPUT: Final = 256 << 20  # bytes: a hundred thousand rows with all their repetitions
_PAD: Final = "BENCHGATE_PAD"
# Standard output is thrown away: a program may flood it, and the results come as a file. Without a sandbox
# the runner says in BENCHGATE_OUT where /out is.
_MEASURE: Final = f'exec "$@" --benchmark_out="${{BENCHGATE_OUT:-/out}}/{RESULT}" >/dev/null'
_LIST: Final = f'exec "$@" >"${{BENCHGATE_OUT:-/out}}/{RESULT}"'


class SideFailed(BenchgateError):
    """A suite of one side cannot be listed or does not end well; the other side is not to blame."""

    def __init__(self, side: Side, what: str, end: str) -> None:
        super().__init__(f"{side}: {what}: {end}")
        self.side = side
        self.what = what
        self.end = end


@dataclass(frozen=True, slots=True)
class Launcher:
    """The programs of both sides, ready to run.

    Args:
        shop: where they run.
        job: whose suites they are.
        trees: the built tree of each side.
        seed: of every random choice.
        watch: called several times a second while a program runs; ends it by raising.
    """

    shop: Workshop
    job: Job
    trees: Mapping[Side, Path]
    seed: str
    watch: Callable[[], None]
    suites: dict[str, Suite] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "suites", {suite.name: suite for suite in self.job.suites})

    def names(self, suite: Suite, side: Side) -> list[str]:
        """The benchmarks that a side's program lists under the suite's filter.

        Raises:
            SideFailed: it does not list, or lists too much.
        """
        flags = ["--benchmark_list_tests=true"]
        if suite.filter:
            flags.append(f"--benchmark_filter={suite.filter}")
        _, output = self._run(suite, side, flags, _LIST, self.shop.cpus)
        # Not splitlines(): it also splits at characters that the reader of results keeps in a name. A name
        # that the reader would change is left out on both sides: results could not be told to be its own.
        names = [name for name in output.decode("utf-8", "replace").split("\n") if name == clean(name)]
        if len(names) > MAX_LISTED or any(len(name) > _MAX_NAME for name in names):
            what = f"lists more than {MAX_LISTED} benchmarks, or a name of more than {_MAX_NAME} characters"
            raise SideFailed(side, f"suite {suite.name} (listing)", what)
        # A filter that matches nothing makes the library print a sentence instead of names.
        return [name for name in names if name and not name.startswith("Failed to match any benchmarks")]

    def launch(self, suite: Suite, side: Side, benchmarks: Sequence[str], pair: int) -> RawLaunch:
        """Measure these benchmarks once, as a part of that pair.

        Raises:
            SideFailed: the program did not end well, or left no result that can be read.
        """
        cpus = self._cpus(suite, benchmarks)
        pad = environment_pad(self.seed, pair)
        before = self.shop.read_load()
        done, output = self._run(suite, side, _flags(suite, benchmarks), _MEASURE, cpus, pad)
        try:
            read_run(output, source=RESULT)
        except BadResults as error:
            # Before the pair is stored: what cannot be read now could not be read later either.
            raise SideFailed(side, f"suite {suite.name}", str(error)) from None
        around = load_between(before, self.shop.read_load(), cpus, done.cpu_seconds)
        facts = {
            "seconds": round(done.seconds, 3),
            "steal": around.steal_share,
            "foreign": around.foreign_share,
        }
        return RawLaunch(suite.name, side, output, facts)

    def rehearse(self, suite: Suite, side: Side, benchmarks: Sequence[str]) -> None:
        """Run these benchmarks and forget what they say.

        Raises:
            SideFailed: the program did not end well, or left no result.
        """
        self._run(suite, side, _flags(suite, benchmarks), _MEASURE, self._cpus(suite, benchmarks))

    def _cpus(self, suite: Suite, benchmarks: Sequence[str]) -> tuple[int, ...]:
        """As many CPUs of the measured set as the suite and its threads ask for, the same for both sides.

        The last ones: interrupts and the service itself tend to the first.
        """
        wanted = max(suite.cpus, *(threads_of(name) for name in benchmarks))
        return self.shop.cpus[-wanted:]

    def _run(
        self,
        suite: Suite,
        side: Side,
        flags: Sequence[str],
        how: str,
        cpus: tuple[int, ...],
        pad: int | None = None,
    ) -> tuple[Completed, bytes]:
        """Run a program of a side; what it wrote to its result file.

        ``pad`` is by how many bytes its environment is made larger for a launch that counts.
        """
        shop = self.shop
        tree = self.trees[side]
        program = "./" + suite.program.removeprefix("./")
        with TemporaryDirectory(dir=shop.scratch) as spare:
            out = shop.scratch / spare
            command = Command(
                ("sh", "-c", how, "sh", program, *flags, *suite.args),
                mounts=(
                    Mount(tree, "/src"),
                    Mount(tree / BUILD, "/build"),
                    Mount(out, "/out", writable=True),
                ),
                cwd="/src",
                env={} if pad is None else {_PAD: "x" * pad},
                cpus=cpus or None,
                aslr=False,
                limits=Limits(wall_seconds=suite.timeout, file_bytes=_MAX_OUTPUT),
            )
            tail = BytesIO()
            done = shop.sandbox.run(command, log=tail, watch=self.watch)
            if not done.is_success:
                raise SideFailed(side, f"suite {suite.name}", _end(done, tail))
            try:
                return done, shop.packer.read_output(out / RESULT, _MAX_OUTPUT)
            except (BadResults, CommandFailed) as error:
                raise SideFailed(side, f"suite {suite.name}", f"left no result: {error}") from None


def _flags(suite: Suite, benchmarks: Sequence[str]) -> tuple[str, ...]:
    return (
        "--benchmark_out_format=json",
        f"--benchmark_filter={filter_for(benchmarks, suite.filter)}",
        f"--benchmark_repetitions={suite.repetitions}",
        # A plain number: versions before 1.8 know no unit, later ones still accept it.
        f"--benchmark_min_time={suite.min_time:g}",
    )


def _end(done: Completed, tail: BytesIO) -> str:
    lines = plain(tail.getvalue()[-2000:].decode("utf-8", "replace"), 300)
    return f"{done.end}: {lines}" if lines else done.end
