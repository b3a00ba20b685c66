"""Profiles written by hand, in gperftools' format."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.sampled_stacks import (
    Frame,
    Function,
    Place,
    Profile,
    Sampled,
    named,
    naming_arguments,
    profile_of,
    repetitions_of,
)
from service.domain.values.errors import BadResults
from tests.support.building.sampling import BEGIN, OBJECT, OFFSET, profile_bytes
from tests.unit.domain.gbench_files import row, whole

PATH = OBJECT.encode()
LIBC = b"/lib/libc.so.6"
LOOP, WORK, COPY = Frame(PATH, 1), Frame(PATH, 2), Frame(LIBC, 3)
NAMES = {LOOP: b"BM_a(benchmark::State&)", WORK: b"std::vector<int> lib::work<int>(int)", COPY: b"memcpy"}


def output(profile: bytes, **fields: object) -> bytes:
    times = whole(row("BM_a", **{"real_time": 1e9, "cpu_time": 5e8, "iterations": 4, **fields}))
    return b"  %d\n%b%b" % (len(times), times, profile)


def profile(*stacks: tuple[int, list[int]], maps: str = "") -> Profile:
    return profile_of(output(profile_bytes(stacks, maps)), "BM_a")


def sampled(of: Profile, names: dict[Frame, bytes]) -> Sampled:
    lines = [b"object %b\n%d %b" % (frame.path, frame.offset, name) for frame, name in names.items()]
    (found,) = named([of], b"\n".join([b"odd", *lines]))
    return found


def test_addresses_become_offsets_in_files_and_callers_those_of_their_calls() -> None:
    found = profile((3, [BEGIN + 8, BEGIN + 5]), (4, [BEGIN + 8, BEGIN + 5]), (1, [0x10]))
    assert found.stacks == {
        (Frame(PATH, OFFSET + 4), Frame(PATH, OFFSET + 8)): 7,
        (Frame(b"", 0),): 1,
    }
    assert (found.time, found.timed) == (0.5, 4.0), "by the benchmark's own clock, and elapsed"


def test_only_executable_mappings_of_files_have_functions() -> None:
    maps = "1000-2000 rw-p 00000000 00:00 1 /data\n2000-3000 r-xp 00000000 00:00 0 [vdso]\nodd\n"
    assert profile((1, [0x1800]), (1, [0x2800]), maps=maps).stacks == {(Frame(b"", 0),): 2}


def test_arguments_stay_below_the_limits_of_the_kernel() -> None:
    maps = "".join(
        f"{k << 44:x}-{k + 1 << 44:x} r-xp 00000000 00:00 1 /{k}{'x' * 3000}\n" for k in range(1, 15)
    )
    most = 9 * 10**11
    stacks = ((1, [(k << 44) + at for k in range(1, 15)]) for at in range(most, most + 9000))
    huge = (1, [(1 << 44) + 10**12])
    arguments = naming_arguments([profile(*stacks, huge, maps=maps)])
    assert max(map(len, arguments)) < 128 << 10
    assert 1 << 20 < sum(map(len, arguments)) < 15 << 17


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        profile_bytes([])[:40],
        profile_bytes([(1, [])]),
        profile_bytes([(1, [5] * 300)]),
        profile_bytes([(1_000_001, [5])]),
        profile_bytes([(1, [5])])[:64],
        b"\x01" + profile_bytes([(1, [5])]),
        profile_bytes([(1, [5])], "\n" * 10_001),
        bytes((16 << 20) + 1),
    ],
    ids=["empty", "no end", "no frame", "deep", "many samples", "cut", "header", "mappings", "large"],
)
def test_a_damaged_profile_is_refused(damaged: bytes) -> None:
    with pytest.raises(BadResults):
        profile_of(output(damaged), "BM_a")


@given(st.binary(max_size=200))
def test_whatever_follows_the_header_raises_nothing_else(tail: bytes) -> None:
    with suppress(BadResults):
        profile_of(output(profile_bytes([(1, [BEGIN])])[:40] + tail), "BM_a")


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (b"", "left no profile"),
        (b"12345678901\n", "left no profile"),
        (output(profile_bytes([]), error_occurred=True, error_message="no file"), "not measured"),
    ],
    ids=["empty", "length", "failed"],
)
def test_a_launch_without_results_is_refused(damaged: bytes, why: str) -> None:
    with pytest.raises(BadResults, match=why):
        profile_of(damaged, "BM_a")


def test_each_file_is_named_once_with_the_sampled_offsets_in_order() -> None:
    one = Profile({(LOOP, WORK, COPY): 1, (LOOP,): 5, (Frame(b"", 0),): 9}, 1.0, 1.0)
    assert naming_arguments([one, one]) == (OBJECT, "1,2", LIBC.decode(), "3")


def test_what_is_outside_of_the_timed_function_is_cut_off() -> None:
    main = Frame(PATH, 9)
    found = sampled(Profile({(main, LOOP, WORK, COPY): 2, (main, WORK): 7}, 0.5, 1.0), NAMES)
    frames = Function("BM_a"), Function("lib::work<int>"), Function("memcpy", is_library=True)
    assert (found.stacks, found.time) == ({frames: 2}, 0.5)


def test_what_a_function_that_is_not_counted_in_the_timed_loop_calls_is_set_up() -> None:
    set_up, main = Frame(PATH, 4), Frame(PATH, 9)
    names = {**NAMES, set_up: b"make_input(int)", main: b"main"}
    stacks = {(main, LOOP, WORK, COPY): 2, (main, LOOP, set_up, WORK): 2500, (main, LOOP, COPY): 1}
    lines = [b"object %b\n%d %b" % (frame.path, frame.offset, name) for frame, name in names.items()]
    (found,) = named([Profile(stacks, 0.5, 1.0)], b"\n".join(lines), {"BM_a", "lib::work<int>"})
    assert {tuple(each.name for each in stack): count for stack, count in found.stacks.items()} == {
        ("BM_a", "lib::work<int>", "memcpy"): 2,
        ("BM_a", "memcpy"): 1,
    }


def test_set_up_that_is_left_out_is_no_sleep() -> None:
    set_up, sleep = Frame(PATH, 4), Frame(LIBC, 5)
    names = {**NAMES, set_up: b"make_input(int)", sleep: b"nanosleep"}
    stacks = {(LOOP, WORK): 390, (LOOP, WORK, sleep): 10, (LOOP, set_up): 600}
    lines = [b"object %b\n%d %b" % (frame.path, frame.offset, name) for frame, name in names.items()]
    launch = Profile(stacks, 0.5, timed=1.0, real=1.0, cpu=0.5)
    (found,) = named([launch], b"\n".join(lines), {"BM_a", "lib::work<int>"})
    assert found.waited == 10 / 400
    asleep = launch._replace(stacks={**stacks, (LOOP, set_up): 100})
    (found,) = named([asleep], b"\n".join(lines), {"BM_a", "lib::work<int>"})
    assert found.waited == 0.5, "half of a second has no sample"


def test_a_stack_too_deep_for_the_profiler_is_in_the_timed_function() -> None:
    deep = (WORK,) * 63
    assert sampled(Profile({deep: 2}, 1.0, 1.0), NAMES).stacks.values()
    with pytest.raises(BadResults):
        sampled(Profile({(COPY,) * 63: 2}, 1.0, 1.0), NAMES)


@pytest.mark.parametrize("samples", [300, 3000])
def test_a_function_that_only_sets_up_may_call_the_one_with_the_loop(samples: int) -> None:
    inner = Frame(PATH, 7)
    names = {**NAMES, inner: b"epilogue(benchmark::State&, World&)"}
    set_up: dict[tuple[Frame, ...], int] = {(LOOP, WORK): samples, (LOOP, inner, COPY): 900}
    found = sampled(Profile(set_up, 1e-6, 1.0), names)
    assert [[each.name for each in stack] for stack in found.stacks] == [["epilogue", "memcpy"]]
    with pytest.raises(BadResults, match="outside of its timed loop"):
        sampled(Profile({(LOOP, WORK): 3000, (LOOP, inner, COPY): 90}, 1e-6, 1.0), names)


@pytest.mark.parametrize(("seconds", "is_refused"), [(0.9, False), (1.1, True)])
def test_a_function_that_is_mostly_not_timed_is_refused(seconds: float, *, is_refused: bool) -> None:
    """At 1,000 samples a second; trials with fewer iterations take up to the time of the last one."""
    launch = Profile({(LOOP, WORK): int(2000 * seconds)}, 1e-6, 1.0)
    if is_refused:
        with pytest.raises(BadResults, match="outside of its timed loop"):
            sampled(launch, NAMES)
    else:
        assert sampled(launch, NAMES).time == 1e-6


MODEL = "Catch::Benchmark::Detail::BenchmarkFunction::model<TEST_0()::{lambda(%s)#%d}>::call(Catch::Benchmark"


def catch2(takes: str, *numbers: int) -> dict[Frame, bytes]:
    """Name a loop for each of these numbers of code of a test case."""
    return {Frame(PATH, 10 * k): (MODEL % (takes, k)).encode() for k in numbers} | {WORK: b"work()"}


BENCH = b"ankerl::nanobench::Bench& ankerl::nanobench::Bench::"
OWN = b"ankerl::nanobench::Bench::run<%s>(%s)::{lambda()#1}"
LAMBDA, FUNCTION = (b"main::{lambda()#1}", b"main::{lambda()#1}&&"), (b"void (&)()", b"void (&)()")


@pytest.mark.parametrize(
    "name",
    [
        b"run<main::{lambda()#1}>(main::{lambda()#1}&&)",
        b"runImpl<%s, main::{lambda()#1}>(main::{lambda()#1}&, main::{lambda()#1}&&)" % (OWN % LAMBDA),
        b"runImpl<%s, void (&)()>(void (&)(), void (&)())" % (OWN % FUNCTION),
    ],
    ids=["up to 4.3", "from 4.4 on", "of a function"],
)
def test_the_loop_of_nanobench_is_its_function_that_runs_the_code(name: bytes) -> None:
    name = BENCH + name
    found = sampled(Profile({(LOOP, WORK): 9000, (WORK,): 5}, 1e-6, math.inf), {LOOP: name, WORK: b"work()"})
    assert [stack[1].name for stack in found.stacks] == ["work"]
    assert [*found.stacks.values()] == [9000]


@pytest.mark.parametrize("op", [b"main::{lambda()#4}", b"std::function<void ()>&"])
def test_a_benchmark_of_nanobench_that_sets_its_epochs_up_is_refused(op: bytes) -> None:
    """Without end, it has a single epoch: the code sorts, for example, what it sorted before."""
    name = BENCH + b"runImpl<main::{lambda()#3}, %s>(main::{lambda()#3}&, %s)" % (op, op)
    with pytest.raises(BadResults, match=r"setup\(\) runs only once"):
        sampled(Profile({(LOOP, WORK): 9000}, 1e-6, math.inf), {LOOP: name, WORK: b"work()"})


def test_a_benchmark_of_catch2_has_the_loop_of_its_place() -> None:
    stacks: dict[tuple[Frame, ...], int] = {(Frame(PATH, 10 * k), WORK): k for k in (2, 9, 10)}
    launch = Profile(stacks, 1e-6, math.inf, place=Place(1, 3))
    assert [*sampled(launch, catch2("int", 10, 2, 9)).stacks.values()] == [9]


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (catch2("int", 1, 2), Place(0, 3)),  # one is a BENCHMARK_ADVANCED, or in another function
        (catch2("int", 1, 2), Place(0, 1)),
        (catch2("Catch::Benchmark::Chronometer", 1), Place()),
        (
            {**catch2("int", 1), Frame(PATH, 20): catch2("int", 2)[Frame(PATH, 20)].replace(b"_0", b"_1")},
            Place(0, 2),
        ),
    ],
    ids=["fewer loops", "more loops", "set-up in the code", "two test cases"],
)
def test_loops_of_catch2_that_are_not_those_of_its_results_are_refused(
    names: dict[Frame, bytes], place: Place
) -> None:
    stacks: dict[tuple[Frame, ...], int] = {(frame, WORK): 5 for frame in names}
    with pytest.raises(BadResults, match="timed loop"):
        sampled(Profile(stacks, 1e-6, math.inf, place=place), names)


def test_a_stack_that_is_too_deep_is_of_none_of_several_benchmarks() -> None:
    stacks = {(Frame(PATH, 10), WORK): 5, (Frame(PATH, 20),): 5, (WORK,) * 63: 1}
    with pytest.raises(BadResults, match="too deep"):
        sampled(Profile(stacks, 1e-6, math.inf, place=Place(0, 2)), catch2("int", 1, 2))


def test_a_loop_that_waits_is_refused_if_its_cpu_time_is_not_known() -> None:
    """A signal ends a sleep, so the samples do not have the time that was measured without them."""
    names = {**catch2("int", 1), COPY: b"nanosleep"}
    with pytest.raises(BadResults, match="waits"):
        sampled(Profile({(Frame(PATH, 10), WORK, COPY): 5}, 1e-6, math.inf), names)


@pytest.mark.parametrize(
    ("name", "timed", "repetitions"),
    [
        ("BM_a/iterations:1000/threads:2", 0.02, 25),
        ("BM_a/iterations:1000", 0.7, 1),
        ("BM_a/iterations:1000", 1e-6, 50),
        ("BM_a/threads:2", 0.02, 1),
    ],
)
def test_a_benchmark_that_fixes_its_iterations_is_repeated(name: str, timed: float, repetitions: int) -> None:
    assert repetitions_of(name, lambda: Profile({}, 1e-6, timed)) == repetitions
