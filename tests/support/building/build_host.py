"""A build host in memory: sources hold the speed of their programs, and a sandbox replays it."""

from __future__ import annotations

import json
import math
import random
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.domain.building.sandbox_command import Completed
from service.domain.building.spec import BuildSpec, Revision
from service.domain.machines.environment import Load
from service.domain.values.errors import LeaseLost
from service.domain.values.identity import RunKind
from service.kinds.comparing import explain_reported, measure_claimed
from service.kinds.runners import RUNNERS
from service.steps.building.session import BuildHost, BuildSession
from tests.support.building.memory_source import CODE
from tests.support.building.sampling import write_names, write_sample
from tests.support.memory.dependencies import MemoryDependencies
from tests.support.memory.files import (
    MemoryArtifacts,
    MemoryInspector,
    MemoryOpenedFiles,
    MemoryPacker,
    MemoryScratch,
)
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from service.domain.building.sandbox_command import Command
    from service.domain.building.spec import BinaryKey
    from service.domain.measuring.listing import Listing
    from service.domain.measuring.pair_record import PairRecord
    from service.domain.project.job import Job
    from service.ports.building import ByteSink
    from service.ports.machines import BuildOutput
    from tests.support.building.memory_source import MemorySource

PROGRAM = "build/bench"
NOISE = 0.001
SKIPPED = {False: {}, True: {"error_occurred": True, "error_message": "not this time"}}


@dataclass
class MemorySandbox:
    """Compiles by copying the code, and runs it as a benchmark program with small, repeatable noise.

    ``launches`` remembers (commit's code, filter) of every launch that measured, ``cpus`` where it ran,
    ``pads`` by how much its environment was larger, ``warm_ups`` the launches that do not count;
    ``before`` is called with the number of each launch that measured and may raise. ``counted`` has the
    filters of launches under callgrind, which follow the code's ``instructions`` per iteration;
    ``before_count`` is called with the code of each. ``seconds`` are what a launch that measured takes unless
    the code says otherwise, ``build_seconds`` what a command of the build takes, ``taken`` what all launches
    took so far. ``sampled`` has the codes and filters of launches that took samples, which the code's
    ``samples`` have by function. A code's ``spread`` is that of its launches, ``sets up`` the seconds of its
    rehearsals, and ``takes`` those of three repetitions of benchmarks.
    """

    commands: list[str] = field(default_factory=list)
    launches: list[tuple[str, str]] = field(default_factory=list)
    cpus: list[tuple[int, ...] | None] = field(default_factory=list)
    pads: list[int] = field(default_factory=list)
    warm_ups: list[tuple[str, str]] = field(default_factory=list)
    counted: list[str] = field(default_factory=list)
    sampled: list[tuple[str, str]] = field(default_factory=list)
    before: Callable[[int], None] = lambda _: None
    before_count: Callable[[str], None] = lambda _: None
    seconds: float = 0.0
    build_seconds: float = 0.0
    taken: float = 0.0

    @property
    def clock(self) -> float:
        """The seconds that all of them took."""
        return self.taken + self.build_seconds * len(self.commands)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        watch()
        sources = Path(command.mounts[0].source)
        if len(command.argv) == 3:
            assert not command.has_priority
            self.commands.append(command.argv[2])
            watch()  # as a real one does until the command has ended
            return self._compile(sources, command.env.get("BENCHGATE_RELINK_SEED", ""))
        if command.argv[3].endswith(".sh"):
            return self._relink(command, sources)
        output = Path(command.mounts[-1].source) / "result.json"
        is_naming = "c++filt" in command.argv[2]
        program = (sources / (PROGRAM if is_naming else command.argv[4])).read_text()
        flags = dict(re.findall(r"--(\w+)=(.*)", "\n".join(command.argv)))
        is_counted = "valgrind" in command.argv[2]
        is_measured = "benchmark_list_tests" not in flags and not is_counted and not is_naming
        assert command.has_priority == is_measured
        if "benchmark_list_tests" in flags:
            return self._list(program, flags, output)
        if is_counted or is_naming or "libprofiler" in command.argv[2]:
            return self._explain(command.argv[2], program, flags, output, log)
        if "BENCHGATE_PAD" not in command.env:
            self.warm_ups.append((program, flags["benchmark_filter"]))
            return _rehearse(program, flags, output)
        self.before(len(self.launches))
        self.launches.append((program, flags["benchmark_filter"]))
        self.cpus.append(command.cpus)
        self.pads.append(len(command.env["BENCHGATE_PAD"]))
        return self._measure(program, flags, output)

    def _explain(
        self, line: str, program: str, flags: Mapping[str, str], output: Path, log: ByteSink | None
    ) -> Completed:
        """Count, sample, or name what was sampled."""
        if "c++filt" in line:
            return write_names(program, output.with_name("names"))
        if "valgrind" in line:
            self.before_count(program)
            self.counted.append(flags["benchmark_filter"])
            of = _count_events if "cache-sim" in line else _count
            return of(program, flags, output.with_name("callgrind.out"), log)
        self.sampled.append((program, flags["benchmark_filter"]))
        self.taken += json.loads(program).get("samples take", 0.0)
        return write_sample(program, flags["benchmark_filter"], output.with_name("sampled"), log)

    def in_force(self) -> Mapping[str, str]:
        return {"isolation": "none"}

    def _compile(self, sources: Path, link_seed: str) -> Completed:
        program = json.loads((sources / CODE).read_text())
        if "does not compile" in program or ("does not link again" in program and link_seed):
            return Completed(2, 1.0)
        return self._make(
            sources, {**program, **(program.get("built again", {}) if link_seed else {})}, link_seed
        )

    def _relink(self, command: Command, sources: Path) -> Completed:
        """Run a script beside the linker: remove the program, or link it without the compile command."""
        script, link_seed = command.argv[3], command.env.get("BENCHGATE_RELINK_SEED", "")
        if script in {"link.sh", "remove.sh"}:
            (sources / PROGRAM).unlink(missing_ok=True)
        if script != "link.sh":
            return Completed(0, 0.1)  # no program has shared objects
        program = json.loads((sources / CODE).read_text())
        if not {"does not link again", "does not link alone"}.isdisjoint(program):
            return Completed(1, 1.0)
        return self._make(sources, {**program, **program.get("compiled for relinks", {})}, link_seed)

    def _make(self, sources: Path, program: dict[str, Any], link_seed: str) -> Completed:
        if link_seed and "links always alike" not in program:
            program = {**program, "link": link_seed, **program.get("linked again", {})}
        if "makes nothing" not in program:
            (sources / PROGRAM).write_text(json.dumps(program))
        return Completed(0, 1.0)

    def _list(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        behaviour = json.loads(program)
        if "does not list" in behaviour:
            return Completed(1, 0.1)
        lines = [*behaviour.get("prints", ()), *_chosen(program, flags.get("benchmark_filter", "."))]
        output.write_text("\n".join(lines))
        return Completed(0, 0.1)

    def _measure(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        behaviour = json.loads(program)
        seconds = behaviour.get("seconds", self.seconds)
        self.taken += seconds
        own_launches = sum(each == program for each, _ in self.launches)
        chosen = _chosen(program, flags["benchmark_filter"])
        self.taken += sum(behaviour.get("takes", {}).get(name, 0.0) for name in chosen)
        if "crashes" in behaviour or own_launches in behaviour.get("crashes at", ()):
            return Completed(139, 0.1)
        if "writes" in behaviour:
            output.write_text(behaviour["writes"])
            return Completed(0, 0.1)
        skipped = {name for name, every in behaviour.get("skips", {}).items() if own_launches % every == 0}
        noise = random.Random(len(self.launches))  # noqa: S311 - repeatable on purpose
        of_launch = random.Random(f"launch {len(self.launches)}")  # noqa: S311 - as above
        level = math.exp(of_launch.gauss(0.0, behaviour.get("spread", 0.0)))
        rows: list[dict[str, Any]] = [
            row(
                name,
                repetition_index=k,
                real_time=1e9 * value,
                cpu_time=1e9 * value,
                **SKIPPED[name in skipped],
                **behaviour.get("counters", {}),
            )
            for name in chosen
            for k in range(int(flags["benchmark_repetitions"]))
            for value in [level * behaviour["benchmarks"][name] * (1 + NOISE * noise.random())]
        ]
        output.write_bytes(whole(*rows, library_version="v1.9.4"))
        return Completed(0, seconds)


def _rehearse(program: str, flags: Mapping[str, str], output: Path) -> Completed:
    """Run each benchmark once; if its filter matches nothing, the library leaves an empty file."""
    behaviour = json.loads(program)
    if "crashes" in behaviour:
        return Completed(139, 0.1)
    names = _chosen(program, flags["benchmark_filter"])
    if not {*behaviour.get("crashes on", ())}.isdisjoint(names):
        return Completed(139, 0.0)
    takes = behaviour.get("takes", {})
    rows = [
        row(name, **({"real_time": 1e9 * takes[name] / 3, "iterations": 1} if name in takes else {}))
        for name in names
    ]
    output.write_text(behaviour.get("writes", whole(*rows).decode() if rows else ""))
    return Completed(0, behaviour.get("sets up", 0.0))


def _count(program: str, flags: Mapping[str, str], dumps: Path, log: ByteSink | None) -> Completed:
    """A hundred instructions around each loop; without a word on instructions, there is no Valgrind."""
    assert log is not None
    instructions = json.loads(program).get("instructions")
    if instructions is None:
        log.write(b"sh: 1: exec: valgrind: not found")
        return Completed(127, 0.1)
    (name,) = _chosen(program, flags["benchmark_filter"])
    parts = ["# callgrind format"]
    for number in (1, 10**6):
        log.write(f"-- LOG(2): Running {name} for {number}\n".encode())
        total = 100 + number * instructions[name]
        body = ("events: Ir", "ob=(1) /build/bench", "fn=(1) work(int)", f"1 {total}")
        parts += ["desc: Trigger: --dump-before=…", *body, f"totals: {total}"]
    dumps.write_text("\n".join(parts))
    return Completed(0, 1.0)


def _count_events(program: str, flags: Mapping[str, str], dumps: Path, log: ByteSink | None) -> Completed:
    """As :func:`_count`, with the code's ``events`` per iteration, and calls of malloc; others are none."""
    done = _count(program, flags, dumps, log)
    if not done.is_success:
        return done
    columns = "Ir I1mr D1mr D1mw ILmr DLmr DLmw Bcm Bim sysCount Ge"
    rates = json.loads(program).get("events", {})
    lines, number = [], 1
    for line in dumps.read_text().splitlines():
        more = "".join(f" {number * rates.get(name, 0)}" for name in columns.split()[1:])
        is_cost = line.startswith(("1 ", "totals: "))
        lines.append(f"{line}{more}" if is_cost else line.replace("events: Ir", f"events: {columns}"))
        if line.startswith("1 ") and "malloc" in rates:
            lines += ["cfn=(2) malloc", f"calls={number * rates['malloc']} 1", "1 0"]
        if line.startswith("totals: "):
            number = 10**6
    dumps.write_text("\n".join(lines))
    return done


def _chosen(program: str, pattern: str) -> list[str]:
    return [name for name in json.loads(program)["benchmarks"] if re.search(pattern, name)]


@dataclass
class MemoryClaimed:
    """A claimed build. ``fault`` is raised by the watch; once the lease is lost nothing can be written.

    ``records`` are its pairs in the order in which they were recorded, ``reads`` how often a worker asked for
    them. ``is_lost_at_last``: the lease is found to be lost only when the end is reported.
    """

    fixed: Sequence[Listing] = ()
    records: list[PairRecord] = field(default_factory=list)
    reads: int = 0
    spec: Mapping[str, Any] = field(default_factory=dict)
    seed: str = "seed"
    name: str = "perf/1"
    attempt: int = 1
    is_lost: bool = False
    is_lost_at_last: bool = False
    is_over: bool = False  # until a worker publishes its log again
    waits_at_last: bool = False  # for the artifacts
    watched_by: Callable[[], None] = lambda: None  # of publish
    fault: Exception | None = None
    binaries: dict[str, str] = field(default_factory=dict)
    phases: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    executions: list[Mapping[str, Any]] = field(default_factory=list)
    output: BuildOutput | None = None
    log: bytes = b""
    releases: list[float] = field(default_factory=list)
    explained: bytes = b""
    before_explaining: Callable[[], None] = lambda: None  # called once the build is reported

    def asked_by(self) -> Mapping[str, Any]:
        self._hold()
        return {}

    def watch(self) -> None:
        self._hold()
        if self.fault is not None:
            raise self.fault

    def enter(self, phase: str) -> None:
        self._hold()
        self.phases.append(phase)

    def tell(self, progress: str) -> None:
        self.told.append(progress)

    def fix_listings(self, listings: Sequence[Listing]) -> Sequence[Listing]:
        self._hold()
        self.fixed = self.fixed or listings
        return self.fixed

    def pairs(self) -> Sequence[PairRecord]:
        self._hold()
        self.reads += 1
        return self.measured

    @property
    def measured(self) -> Sequence[PairRecord]:
        """The pairs as the control plane reads them, which needs no lease."""
        return sorted(self.records, key=lambda each: (each.variant, each.pair))

    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        self._hold()
        before = sum(each.variant == pair.variant for each in self.records)
        assert pair.pair == before, "pairs are recorded in order, without gaps, once"
        self.records.append(pair)

    def find(self, key: BinaryKey) -> str | None:
        self._hold()
        return self.binaries.get(key.digest)

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        self._hold()
        self.binaries.setdefault(key.digest, artifact)

    @contextmanager
    def publish(self, log: BuildOutput, watch: Callable[[], None]) -> Iterator[None]:
        self.output, self.watched_by, self.is_over = log, watch, False
        yield

    def complete(self, execution: Mapping[str, Any]) -> None:
        self.is_lost |= self.is_lost_at_last
        self._hold()
        if self.waits_at_last:
            self.watched_by()
        self.executions.append(json.loads(json.dumps(execution)))
        self.log = b"" if self.output is None else self.output.kept()

    def report(self, execution: Mapping[str, Any], watch: Callable[[], None]) -> None:
        self.complete(execution)
        self.watched_by = watch
        self.before_explaining()

    def explain(self, packed: bytes) -> None:
        self._hold()
        self.explained = packed
        self.is_over = True

    def release(self, delay: float = 0.0) -> None:
        self.is_lost |= self.is_lost_at_last
        self._hold()
        self.releases.append(delay)
        self.is_over = True

    def close(self) -> None:
        pass

    def _hold(self) -> None:
        if self.is_lost or self.is_over:
            raise LeaseLost("another worker holds the build")


class Silence:
    """Progress that nobody reads."""

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        pass


def memory_host(source: MemorySource, sandbox: MemorySandbox, scratch: Path, **other: Any) -> BuildHost:  # noqa: ANN401
    """A build host in memory; its clock runs by the seconds of launches and builds."""
    nothing = Load(0.0, 0.0, 1, {}, {}, {}, 100)
    return BuildHost(
        source=source,
        sandbox=sandbox,
        artifacts=other.get("artifacts", MemoryArtifacts()),
        packer=other.get("packer", MemoryPacker()),
        inspector=other.get("inspector", MemoryInspector()),
        opened_files=other.get("opened_files", MemoryOpenedFiles()),
        toolchain="gcc 14",
        cpus=other.get("cpus", ()),
        host_cpus=other.get("host_cpus", ()),
        scratch=MemoryScratch(scratch),
        dependencies=other.get("dependencies", MemoryDependencies(scratch)),
        linkers=other.get("linkers", scratch),
        read_load=other.get("read_load", lambda: nothing),
        runners=RUNNERS,
        explain=explain_reported,
        measure_left_out=measure_claimed,
        clock=lambda: sandbox.clock,
        machine=other.get("machine", "perf-01"),
    )


def spec_of(job: Job, project: str = "kv") -> BuildSpec:
    """A check of two commits named base and patch."""
    base, patch = (Revision(name, f"tree of {name}", name, "reviewed") for name in ("base", "patch"))
    return BuildSpec(RunKind.CHECK, "gerrit", project, "master", base, patch, job)


def session_of(host: BuildHost, job: Job, claimed: MemoryClaimed | None = None) -> BuildSession:
    """A session in which steps work on a job, with nobody who follows."""
    return BuildSession(claimed or MemoryClaimed(), spec_of(job), host, Silence())
