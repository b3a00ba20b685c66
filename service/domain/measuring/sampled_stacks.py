"""Read the stacks that gperftools' CPU profiler sampled in a launch, and keep those of the timed loop.

A patch's process writes the profile, and binutils name functions by the patch's programs: neither is trusted.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.callgrind_loop import is_library
from service.domain.measuring.formats.reader import ReadLimits, read_run
from service.domain.measuring.function_names import file_name, function_name
from service.domain.measuring.launch_order import threads_of
from service.domain.measuring.metric import own_clock
from service.domain.measuring.waits import share_of_waits, waited, weighed
from service.domain.values.errors import BadResults
from service.domain.values.text import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence
    from collections.abc import Set as AbstractSet

FREQUENCY: Final = 1000  # samples per second of elapsed time
# Real profiles of a second have a few hundred KiB.
_MOST_BYTES: Final = 4 << 20
_MOST_NAMED: Final = 4 << 20  # bytes of names
_MOST_SAMPLES: Final = 1_000_000
ENOUGH: Final = 0.5  # seconds of the timed loop
_FIXED: Final = re.compile("/iterations:[1-9][0-9]*(?:/|$)")
_MOST_REPETITIONS: Final = 50  # each sets the benchmark up
_MOST_ROWS: Final = 1000  # of repetitions that the program asks for, and statistics
_MOST_MAPPINGS: Final = 10_000
_DEEPEST: Final = 254  # frames that the format allows
_CUT: Final = 63  # frames from which the profiler may have left out the outermost
# Linux takes 128 KiB as one argument, and 2 MiB as all arguments.
_MOST_OBJECTS: Final = 12  # whose functions are named
_MOST_ADDRESSES: Final = 8_000  # of an object
_LARGEST: Final = 10**12  # offset in a file
_WORD: Final = 8
_SIZE: Final = re.compile(rb"[0-9]{1,9}")
_MAPPING: Final = re.compile(
    rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) [r-][w-]x[ps] ([0-9a-f]{1,16}) [0-9a-f:]{1,16} [0-9]+ +(/[ -~]+)"
)
_NAMED: Final = re.compile(rb"([0-9]{1,16}) (.+)")
_WAITS: Final = 0.05  # of the samples of a loop whose CPU time is not known
# Google Benchmark calls such a function, which has the timed loop; no other takes the state. So does that of
# nanobench have it, for each type of code that it runs.
_LOOP: Final = re.compile(rb"\(benchmark::State&[,)]|ankerl::nanobench::Bench::run(?:Impl)?<")
# From 4.4 on, its first type is the code given to setup(), or without that an empty function of Bench::run.
_SET_UP: Final = re.compile(rb"ankerl::nanobench::Bench::runImpl<(?!ankerl::nanobench::Bench::run<)")
# Catch2's, for each BENCHMARK of a test case. The code of a BENCHMARK_ADVANCED takes another type: it also
# has what is not timed.
_CATCH2_LOOP: Final = re.compile(
    rb"Benchmark::Detail::BenchmarkFunction::model<(.{1,500})::\{lambda\(int\)#([0-9]{1,6})\}>::call\("
)

SAMPLED: Final = "sampled"  # file of a launch: see :func:`profile_of`
NAMES: Final = "names"
NAMING: Final = r"""
while [ $# -gt 1 ]; do
    printf 'object %s\n' "$1"
    { readelf -lW "$1"; nm -nSt d "$1"; nm -nSDt d "$1"; } 2>/dev/null | awk -v wanted="$2" '
        function number(hex, i, n) {
            for (i = 3; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
            return n
        }
        BEGIN { count = split(wanted, offset, ",") }
        $1 == "LOAD" {
            for (i = 1; i <= count; i++)
                if (number($2) <= offset[i] && offset[i] < number($2) + number($5))
                    address[i] = offset[i] - number($2) + number($3)
        }
        NF == 4 && $3 ~ /^[tTwWiu]$/ {
            if ($1 + 0 < last) next_one = 0
            last = $1 + 0
            while (next_one < count && address[next_one + 1] < last) next_one++
            for (i = next_one + 1; i <= count && address[i] < last + $2; i++)
                if (!(i in name) || name[i] ~ /^__/) name[i] = $4
        }
        END { for (i = 1; i <= count; i++) if (i in name) print offset[i], name[i] }' | c++filt
    shift 2
done >"${BENCHGATE_OUT:-/out}/names"
"""
"""Shell script that writes the functions of files (arguments: a file, its offsets, …) to ``NAMES``."""


class Frame(NamedTuple):
    """A place in a mapped file; ``path`` is empty outside of files, as in the kernel's vDSO."""

    path: bytes
    offset: int


class Function(NamedTuple):
    """A sampled function, named as Callgrind's."""

    name: str
    is_library: bool = False


class Place(NamedTuple):
    """Number of a benchmark's timed loop among those that the program ran, in the order of its sources."""

    number: int = 0
    loops: int = 1


class Profile(NamedTuple):
    """Samples of a launch by stack, from the outermost frame, and what its timed repetitions took.

    ``time`` is seconds per iteration by the benchmark's own clock, ``timed`` the elapsed seconds of all
    iterations of the last trials, infinite if the loop took samples outside of them and CPU time is unknown;
    ``real`` and ``cpu`` are seconds of a thread per iteration.
    """

    stacks: Mapping[tuple[Frame, ...], int]
    time: float
    timed: float
    real: float = 0.0
    cpu: float = 0.0
    threads: int = 1
    place: Place = Place()


class Sampled(NamedTuple):
    """Samples of a launch in the timed function and below it, by stack, and its seconds per iteration.

    Of several threads, it is the program's first that is sampled. ``waited`` is the share of the elapsed time
    ``real`` that it waited.
    """

    stacks: Mapping[tuple[Function, ...], int]
    time: float
    real: float = 0.0
    waited: float = 0.0

    def by_real_time(self) -> Sampled:
        """Divide elapsed time: waits that took too few samples weigh more."""
        share = max(self.waited, share_of_waits(self.stacks))
        return self._replace(stacks=weighed(self.stacks, share, 1 - share), time=self.real)

    def by_cpu_time(self) -> Sampled:
        """Divide CPU time: calls that wait take what they do not wait, as to copy what they write."""
        share = share_of_waits(self.stacks)
        return self._replace(stacks=weighed(self.stacks, max(share - self.waited, 0.0), 1 - share))


def profile_of(output: bytes, benchmark: str) -> Profile:
    """Read the file of a launch of one benchmark: the length of its results, those, and a profile.

    Raises:
        BadResults: the file is damaged or too large, or the benchmark was not measured.
    """
    results, profile = results_and_profile(output)
    run = read_run(results, source=SAMPLED, limits=ReadLimits(rows=_MOST_ROWS))
    rows = [row for row in run.rows if row.is_measured and row.name == benchmark]
    real, cpu = (sum(row.values[of] * row.iterations for row in rows) for of in ("real_time", "cpu_time"))
    if real <= 0:
        raise BadResults("the benchmark was not measured")
    own = real if own_clock(benchmark) == "real_time" else cpu
    done, stacks = sum(row.iterations for row in rows), _stacks(profile)
    return Profile(stacks, own / done, real, real / done, cpu / done, threads_of(benchmark))


def repetitions_of(benchmark: str, once: Callable[[], Profile]) -> int:
    """Return how many repetitions take samples for long enough; ``once`` samples a single one.

    Benchmarks run for a minimum time, unless they fix their iterations, which may take a few milliseconds.
    """
    if not _FIXED.search(benchmark):
        return 1
    return min(max(math.ceil(ENOUGH / once().timed), 1), _MOST_REPETITIONS)


def results_and_profile(output: bytes) -> tuple[bytes, bytes]:
    """Divide the file of a launch; raises BadResults if it does not begin with the length of its results."""
    length, _, rest = output.partition(b"\n")
    if not _SIZE.fullmatch(length.strip()):
        raise BadResults("the launch left no profile")
    return rest[: int(length)], rest[int(length) :]


def _stacks(profile: bytes) -> Counter[tuple[Frame, ...]]:
    """Read the legacy format of gperftools ("Profile data file format"): 64-bit words, then the mappings."""
    if len(profile) > _MOST_BYTES:
        raise BadResults(f"the profile has more than {_MOST_BYTES >> 20} MiB")
    words = memoryview(profile[: len(profile) // _WORD * _WORD]).cast("Q")
    found, at, samples = Counter[tuple[int, ...]](), 5, 0
    if len(words) < at or words[:3].tolist() != [0, 3, 0]:
        raise BadResults("the profile has no header")
    while True:
        count, depth = words[at : at + 2].tolist() if at + 2 < len(words) else (0, 0)
        samples += count
        if not 0 < depth <= _DEEPEST or at + 2 + depth > len(words) or samples > _MOST_SAMPLES:
            raise BadResults("the profile is damaged")
        addresses = words[at + 2 : at + 2 + depth].tolist()
        at += 2 + depth
        if not count:
            break
        # All but the innermost are return addresses: the call is before them.
        found[addresses[0], *(max(each - 1, 0) for each in addresses[1:])] += count
    mappings = _mappings(profile[at * _WORD :])
    stacks = Counter[tuple[Frame, ...]]()
    for sampled_at, count in found.items():
        stacks[tuple(_frame(mappings, each) for each in reversed(sampled_at))] += count
    return stacks


def _mappings(text: bytes) -> list[tuple[int, int, int, bytes]]:
    """Read the executable mappings of a process (proc(5), /proc/pid/maps): begin, end, offset and path."""
    lines = text.splitlines()
    if len(lines) > _MOST_MAPPINGS:
        raise BadResults("the profile has too many mappings")
    found = (each for line in lines if (each := _MAPPING.fullmatch(line[:LINE_BYTES])))
    return sorted((int(each[1], 16), int(each[2], 16), int(each[3], 16), each[4]) for each in found)


def _frame(mappings: Sequence[tuple[int, int, int, bytes]], address: int) -> Frame:
    at = bisect_right(mappings, address, key=itemgetter(0)) - 1
    begin, end, offset, path = mappings[at] if at >= 0 else (0, 0, 0, b"")
    place = address - begin + offset
    return Frame(path, place) if address < end and place < _LARGEST else Frame(b"", 0)


def naming_arguments(profiles: Sequence[Profile]) -> tuple[str, ...]:
    """List the files of sampled frames, each with its offsets, for :data:`NAMING`, without rare ones."""
    counts = defaultdict[bytes, Counter[int]](Counter)
    for each in profiles:
        for stack, count in each.stacks.items():
            for frame in set(stack):
                counts[frame.path][frame.offset] += count
    counts.pop(b"", None)
    chosen = sorted(counts, key=lambda path: -counts[path].total())[:_MOST_OBJECTS]
    offsets = {path: sorted(at for at, _ in counts[path].most_common(_MOST_ADDRESSES)) for path in chosen}
    return tuple(chain(*((path.decode("ascii"), ",".join(map(str, of))) for path, of in offsets.items())))


def named(profiles: Sequence[Profile], output: bytes, timed: Collection[str] = ()) -> tuple[Sampled, ...]:
    """Name functions by what :data:`NAMING` wrote, and keep the stacks from the timed function inwards.

    Args:
        profiles: launches of one program.
        output: the names.
        timed: the functions that were counted in the timed loop, if that is known. Samples in other functions
            of the program, and in what these call, are set-up and left out.

    Raises:
        BadResults: it is too large; or no sample of a launch is in a timed function, or most are where it is
            not timed.
    """
    if len(output) > _MOST_NAMED:
        raise BadResults(f"the names of the sampled functions have more than {_MOST_NAMED >> 20} MiB")
    names: dict[Frame, bytes] = {}
    path = b""
    for line in output.splitlines():
        if line.startswith(b"object "):
            path = line.removeprefix(b"object ")
        elif each := _NAMED.fullmatch(line):
            names[Frame(path, int(each[1]))] = each[2]
    frames = {frame for profile in profiles for stack in profile.stacks for frame in stack}
    functions = {frame: _function(frame, names.get(frame, b"")) for frame in frames}
    loops = _loops(names, {each.place for each in profiles})
    own = {frame for frame in names if frame in functions and not functions[frame].is_library}
    set_up = {frame for frame in own if functions[frame].name not in timed} if timed else frozenset[Frame]()
    return tuple(_sampled(each, functions, loops, own, set_up) for each in profiles)


def _loops(names: Mapping[Frame, bytes], places: AbstractSet[Place]) -> AbstractSet[Frame]:
    """Choose the frames with the timed loop; of Catch2, the benchmark's if all loops are of one test case.

    A test case runs its benchmarks in the order of its sources, in which compilers number their code. One
    that runs some repeatedly, or that has one of another form, has other numbers of loops and results.
    """
    numbered = defaultdict[tuple[bytes, int], set[Frame]](set)
    for frame, name in names.items():
        if each := _CATCH2_LOOP.search(name[:LINE_BYTES]):
            numbered[each[1], int(each[2])].add(frame)
    if not numbered:
        found = {frame for frame, name in names.items() if _LOOP.search(name)}
        if any(_SET_UP.search(names[frame]) for frame in found):
            raise BadResults("its setup() runs only once before the loop that is sampled")
        return found
    place, *others = places
    if others or len(numbered) != place.loops or len({case for case, _ in numbered}) > 1:
        raise BadResults("the timed loops are not those of the benchmarks that ran")
    return numbered[sorted(numbered)[place.number]]


def _sampled(
    profile: Profile,
    functions: Mapping[Frame, Function],
    loops: Container[Frame],
    own: Container[Frame],
    set_up: AbstractSet[Frame],
) -> Sampled:
    found, taken = Counter[tuple[Function, ...]](), 0
    for stack, count in profile.stacks.items():
        begin = next((k for k, frame in enumerate(stack) if frame in loops), None)
        inside = stack[begin + 1 :] if begin is not None else ()
        if begin is None and len(stack) >= _CUT and any(frame in own for frame in stack):
            if profile.place.loops > 1:
                raise BadResults("stacks are too deep to tell the timed loop")
            begin = 0
        if begin is not None:
            taken += count
            if set_up.isdisjoint(inside):
                found[tuple(functions[frame] for frame in stack[begin:])] += count
    if not found:
        raise BadResults("no sample is in the timed loop")
    # Trials with fewer iterations precede the last one, and take less time than it.
    most = 2 * profile.timed * FREQUENCY
    # The function may set up, and call another one that takes the state and has the loop.
    inner = _innermost(found, {functions[frame] for frame in functions if frame in loops})
    if most / 4 < inner.total() <= most:
        found, taken = inner, inner.total()
    if found.total() > most:
        raise BadResults("the benchmark spends more time outside of its timed loop than in it")
    if math.isinf(profile.timed) and share_of_waits(found) > _WAITS:
        raise BadResults("the benchmark waits, and its CPU time is not known")
    # Google Benchmark divides elapsed time by the iterations of all threads, and so CPU time by one of them.
    idle = max(1 - profile.cpu / profile.real / profile.threads, 0.0) if profile.real else 0.0
    # What was left out as set-up was sampled: it did not sleep.
    kept = found.total() / taken
    expected = profile.timed * FREQUENCY * kept if profile.threads == 1 else 0.0
    return Sampled(found, profile.time, profile.real, waited(found, expected, idle))


def _innermost(
    stacks: Mapping[tuple[Function, ...], int], loops: Container[Function]
) -> Counter[tuple[Function, ...]]:
    """Keep the stacks in which one function that may have the loop calls another, from the innermost on."""
    found = Counter[tuple[Function, ...]]()
    for stack, count in stacks.items():
        last = max((k for k, each in enumerate(stack) if each in loops), default=0)
        if last > 0:
            found[stack[last:]] += count
    return found


def _function(frame: Frame, name: bytes) -> Function:
    path = frame.path
    foreign = not path or is_library(path[:LINE_BYTES], path[-LINE_BYTES:])
    return Function(function_name(name, file_name(path)), is_library=foreign)
