"""Measures base and patch in pairs until every benchmark is decided or the budget is spent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from service.domain.command import Command, Completed, Limits, Mount
from service.domain.errors import BadResults, BenchgateError, CommandFailed
from service.domain.gbench import read_run
from service.domain.gbench_text import clean
from service.domain.identity import Side
from service.domain.machine import load_between
from service.domain.pair_record import RawLaunch, encode, read_pair
from service.domain.pairing import environment_pad, filter_for, side_order, threads_of
from service.domain.samples import Listing, compare_all, undecided_benchmarks
from service.domain.text import plain
from service.domain.verdict import first_decisive_look, looks
from service.steps.build_sides import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.project_file import Job, Suite
    from service.domain.samples import Launch
    from service.ports import PairLog, Progress
    from service.steps.build_sides import Workshop

_RESULT: Final = "result.json"
_MAX_LISTED: Final = 10_000  # more rows than that are an attack on the database
_MAX_NAME: Final = 1024  # as long as a name in results may be
_MAX_OUTPUT: Final = 256 << 20  # bytes: a hundred thousand rows with all their repetitions
_STRETCH: Final = 4  # times the budget, until the first look that can find a difference
_PAD: Final = "BENCHGATE_PAD"
# Standard output is thrown away: a program may flood it, and the results come as a file. Without a sandbox
# the runner says in BENCHGATE_OUT where /out is.
_MEASURE: Final = f'exec "$@" --benchmark_out="${{BENCHGATE_OUT:-/out}}/{_RESULT}" >/dev/null'
_LIST: Final = f'exec "$@" >"${{BENCHGATE_OUT:-/out}}/{_RESULT}"'


class SideFailed(BenchgateError):
    """A suite of one side cannot be listed or does not end well; the other side is not to blame."""

    def __init__(self, side: Side, what: str, end: str) -> None:
        super().__init__(f"{side}: {what}: {end}")
        self.side = side
        self.what = what
        self.end = end


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured: enough to compare, and how long it took."""

    listings: tuple[Listing, ...]
    launches: tuple[Launch, ...]
    pairs: int
    seconds: float
    parent_failed: SideFailed | None = None  # it ended the measuring early


@dataclass(slots=True)
class _Session:
    shop: Workshop
    job: Job
    trees: Mapping[Side, Path]
    seed: str
    watch: Callable[[], None]
    suites: dict[str, Suite] = field(init=False)

    def __post_init__(self) -> None:
        self.suites = {suite.name: suite for suite in self.job.suites}


def measure(
    shop: Workshop,
    job: Job,
    trees: Mapping[Side, Path],
    seed: str,
    log: PairLog,
    progress: Progress,
    watch: Callable[[], None],
) -> Measurement:
    """Measure pair after pair; pairs that ``log`` already holds are continued, not repeated.

    Raises:
        SideFailed: a program of one side cannot be listed or measured.
    """
    session = _Session(shop, job, trees, seed, watch)
    listings = _fix_listings(session, log)
    launches = [each for pair, raw in log.pairs() for each in read_pair(pair, raw, job.suites)]
    failure: SideFailed | None = None
    begun = shop.clock()
    pair = 1 + max((launch.pair for launch in launches), default=-1)
    # As at the last look, so that a worker that died in between changes nothing.
    looked = max((n for n in looks(job.policy.max_pairs) if n <= pair), default=0)
    wanted = _wanted(session, listings, [each for each in launches if each.pair < looked])
    _warm_up(session, wanted)
    while wanted and pair < job.policy.max_pairs:
        if _is_spent(job, pair, shop.clock() - begun):
            break
        progress.say(f"pair {pair + 1} of at most {job.policy.max_pairs}", pair / job.policy.max_pairs)
        try:
            raw = _launch_pair_or_repeat(session, pair, wanted)
        except SideFailed as error:
            if error.side is Side.PATCH or pair == 0:
                raise
            # The parent is no longer to be measured; what it gave before still counts.
            failure = error
            break
        record = encode(raw)
        log.record(pair, record, [_facts(each) for each in raw])
        launches.extend(read_pair(pair, record, job.suites))
        pair += 1
        if pair in looks(job.policy.max_pairs):
            wanted = _wanted(session, listings, launches)
    return Measurement(listings, tuple(launches), pair, shop.clock() - begun, failure)


def _is_spent(job: Job, pair: int, seconds: float) -> bool:
    """Whether the budget is used up; a slow-down that makes launches long must not escape by that."""
    is_decisive = pair >= first_decisive_look(job.policy)
    return seconds > job.policy.machine_time * (1 if is_decisive else _STRETCH)


def _wanted(
    session: _Session, listings: Sequence[Listing], launches: Sequence[Launch]
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks that are still to be measured; suites without any are left out."""
    rows = compare_all(session.job.suites, listings, launches, session.job.policy)
    found = {listing.suite: undecided_benchmarks(rows, listing.suite) for listing in listings}
    return {suite: names for suite, names in found.items() if names}


def _warm_up(session: _Session, wanted: Mapping[str, Sequence[str]]) -> None:
    """Launch each program once and forget it: the first launch reads from disk what later ones do not.

    One that fails here fails again where it counts.
    """
    for name, benchmarks in wanted.items():
        suite = replace(session.suites[name], repetitions=1)
        chosen = filter_for(benchmarks, suite.filter)
        for side in side_order(session.seed, 0):
            with suppress(SideFailed):
                _run(session, suite, side, _flags(suite, chosen), _MEASURE, _cpus(session, suite, benchmarks))


def _launch_pair_or_repeat(
    session: _Session, pair: int, wanted: Mapping[str, Sequence[str]]
) -> tuple[RawLaunch, ...]:
    """The launches of a pair; a pair in which a program failed is repeated once, whole."""
    try:
        return tuple(_launch_pair(session, pair, wanted))
    except SideFailed:
        return tuple(_launch_pair(session, pair, wanted))


def _launch_pair(session: _Session, pair: int, wanted: Mapping[str, Sequence[str]]) -> Iterator[RawLaunch]:
    for name, benchmarks in wanted.items():
        suite = session.suites[name]
        for side in side_order(session.seed, pair):
            cpus = _cpus(session, suite, benchmarks)
            pad = environment_pad(session.seed, pair)
            yield _launch(session, suite, side, filter_for(benchmarks, suite.filter), cpus, pad)


def _cpus(session: _Session, suite: Suite, benchmarks: Sequence[str]) -> tuple[int, ...]:
    """As many CPUs of the measured set as the suite and its threads ask for, the same for both sides.

    The last ones: interrupts and the service itself tend to the first.
    """
    wanted = max(suite.cpus, *(threads_of(name) for name in benchmarks))
    return session.shop.cpus[-wanted:]


def _launch(
    session: _Session, suite: Suite, side: Side, chosen: str, cpus: tuple[int, ...], pad: int
) -> RawLaunch:
    before = session.shop.read_load()
    done, output = _run(session, suite, side, _flags(suite, chosen), _MEASURE, cpus, pad)
    try:
        read_run(output, source=_RESULT)
    except BadResults as error:
        # Before the pair is stored: what cannot be read now could not be read later either.
        raise SideFailed(side, f"suite {suite.name}", str(error)) from None
    around = load_between(before, session.shop.read_load(), cpus, done.cpu_seconds)
    facts = {"seconds": round(done.seconds, 3), "steal": around.steal_share, "foreign": around.foreign_share}
    return RawLaunch(suite.name, side, output, facts)


def _flags(suite: Suite, chosen: str) -> tuple[str, ...]:
    return (
        "--benchmark_out_format=json",
        f"--benchmark_filter={chosen}",
        f"--benchmark_repetitions={suite.repetitions}",
        # A plain number: versions before 1.8 know no unit, later ones still accept it.
        f"--benchmark_min_time={suite.min_time:g}",
    )


def _run(
    session: _Session,
    suite: Suite,
    side: Side,
    flags: Sequence[str],
    how: str,
    cpus: tuple[int, ...],
    pad: int | None = None,
) -> tuple[Completed, bytes]:
    """Run a program of a side; what it wrote to its result file.

    ``pad`` is by how many bytes its environment is made larger for a launch that counts.

    Raises:
        SideFailed: it did not end well, or left no result.
    """
    shop = session.shop
    tree = session.trees[side]
    program = "./" + suite.program.removeprefix("./")
    with TemporaryDirectory(dir=shop.scratch) as spare:
        out = shop.scratch / spare
        command = Command(
            ("sh", "-c", how, "sh", program, *flags, *suite.args),
            mounts=(Mount(tree, "/src"), Mount(tree / BUILD, "/build"), Mount(out, "/out", writable=True)),
            cwd="/src",
            env={} if pad is None else {_PAD: "x" * pad},
            cpus=cpus or None,
            aslr=False,
            limits=Limits(wall_seconds=suite.timeout, file_bytes=_MAX_OUTPUT),
        )
        tail = BytesIO()
        done = shop.sandbox.run(command, log=tail, watch=session.watch)
        if not done.is_success:
            raise SideFailed(side, f"suite {suite.name}", _end(done, tail))
        try:
            return done, shop.packer.read_output(out / _RESULT, _MAX_OUTPUT)
        except (BadResults, CommandFailed) as error:
            raise SideFailed(side, f"suite {suite.name}", f"left no result: {error}") from None


def _end(done: Completed, tail: BytesIO) -> str:
    lines = plain(tail.getvalue()[-2000:].decode("utf-8", "replace"), 300)
    return f"{done.end}: {lines}" if lines else done.end


def _fix_listings(session: _Session, log: PairLog) -> tuple[Listing, ...]:
    """What will be measured, fixed before the first launch; the patch is listed first, being on trial."""
    found = [
        {
            "suite": suite.name,
            "patch": _list(session, suite, Side.PATCH),
            "base": _list(session, suite, Side.BASE),
        }
        for suite in session.job.suites
    ]
    fixed: Sequence[Mapping[str, Any]] = log.fix_listing(found)
    return tuple(Listing(each["suite"], tuple(each["base"]), tuple(each["patch"])) for each in fixed)


def _list(session: _Session, suite: Suite, side: Side) -> list[str]:
    flags = ["--benchmark_list_tests=true"]
    if suite.filter:
        flags.append(f"--benchmark_filter={suite.filter}")
    _, output = _run(session, suite, side, flags, _LIST, session.shop.cpus)
    # Not splitlines(): it also splits at characters that the reader of results keeps in a name. A name that
    # the reader would change is left out on both sides, since results could not be told to be its own.
    names = [name for name in output.decode("utf-8", "replace").split("\n") if name == clean(name)]
    if len(names) > _MAX_LISTED or any(len(name) > _MAX_NAME for name in names):
        what = f"lists more than {_MAX_LISTED} benchmarks, or a name of more than {_MAX_NAME} characters"
        raise SideFailed(side, f"suite {suite.name} (listing)", what)
    # A filter that matches nothing makes the library print a sentence instead of names.
    return [name for name in names if name and not name.startswith("Failed to match any benchmarks")]


def _facts(raw: RawLaunch) -> dict[str, Any]:
    return {"suite": raw.suite, "side": str(raw.side), "facts": dict(raw.facts)}
