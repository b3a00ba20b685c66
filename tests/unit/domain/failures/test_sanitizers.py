"""Reports of sanitizers: recorded ones, cut ones, and those of several stacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.output.log_lines import cleaned
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.output.sanitizer_reports import SanitizerReports
from service.domain.failures.output.source_names import SANDBOX
from service.domain.failures.output.stack_frames import frame_of, plain_function

SAMPLES = Path(__file__).parents[3] / "samples" / "failures"
LOCKS = "lock-order-inversion (potential deadlock)"


def headlines(log: bytes) -> list[str]:
    reports = SanitizerReports(SANDBOX)
    found = [failure for line in log.splitlines() for failure in reports.read(cleaned(line).text)]
    return [failure.headline for failure in (*found, *reports.end())]


@pytest.mark.parametrize(
    ("name", "headline"),
    [
        ("tsan", "ThreadSanitizer: data race: main (r.cpp), operator() (r.cpp)"),
        (
            "tsan_lock_order",
            f"ThreadSanitizer: {LOCKS}: backward (lock.cpp), forward (lock.cpp)",
        ),
        (
            "asan_use_after_free",
            "AddressSanitizer: heap-use-after-free: drop (uaf.cpp), fill (uaf.cpp), use (uaf.cpp)",
        ),
    ],
)
def test_a_report_is_its_kind_and_the_first_own_function_of_each_stack(name: str, headline: str) -> None:
    assert headlines((SAMPLES / f"gcc12_{name}.log").read_bytes()) == [headline]


@pytest.mark.parametrize(
    "name", ["tsan", "tsan_lock_order", "asan_use_after_free", "asan", "asan_segv", "lsan"]
)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_report_that_the_end_of_the_log_cuts_is_a_failure(name: str, share: float) -> None:
    log = (SAMPLES / f"gcc12_{name}.log").read_bytes()
    assert len(headlines(log[: int(share * len(log))])) == 1


@pytest.mark.parametrize(
    ("line", "headline"),
    [
        (
            "SUMMARY: ThreadSanitizer: data race /src/lib/a.cc:4:7 in ns::f(int)",
            "ThreadSanitizer: data race: ns::f (a.cc)",
        ),
        ("SUMMARY: AddressSanitizer: SEGV (/src/build/prog+0x1234) in f", "AddressSanitizer: SEGV: f"),
        ("SUMMARY: AddressSanitizer: 10 byte(s) leaked in 1 allocation(s).", "LeakSanitizer: leak"),
        (
            "==7==WARNING: MemorySanitizer: use-of-uninitialized-value",
            "MemorySanitizer: use-of-uninitialized-value",
        ),
        (
            "FATAL: ThreadSanitizer: unexpected memory mapping 0x55-0x66",
            "ThreadSanitizer: unexpected memory mapping",
        ),
        (
            "==7==ERROR: AddressSanitizer: attempting double-free on 0x6020 in thread T0:",
            "AddressSanitizer: attempting double-free",
        ),
        (
            "==7==ERROR: AddressSanitizer: stack-overflow on address 0x7ffc (pc 0x55 bp 0x7f sp 0x7f T0)",
            "AddressSanitizer: stack-overflow",
        ),
        (
            "/src/a.cc:1:2: runtime error: load of null pointer of type 'int'",
            "runtime error: load of null pointer of type 'int'",
        ),
    ],
)
def test_one_line_alone_is_a_failure(line: str, headline: str) -> None:
    assert headlines(line.encode()) == [headline]


def test_each_direct_leak_is_a_failure_and_its_consequences_are_not() -> None:
    log = b"""\
==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 10 byte(s) in 1 object(s) allocated from:
    #0 0x7f in malloc (/usr/lib/libasan.so.8+0x1)
    #1 0x55 in f() /src/a.cc:2
Indirect leak of 20 byte(s) in 2 object(s) allocated from:
    #0 0x55 in g() /src/a.cc:3
Direct leak of 10 byte(s) in 1 object(s) allocated from:
    #0 0x55 in h() /src/a.cc:4
SUMMARY: AddressSanitizer: 40 byte(s) leaked in 4 allocation(s).
"""
    assert headlines(log) == ["LeakSanitizer: leak: f (a.cc)", "LeakSanitizer: leak: h (a.cc)"]


@pytest.mark.parametrize(
    "line",
    [
        "ThreadSanitizer: reported 1 warnings",
        "==7==ABORTING",
        "AddressSanitizer:DEADLYSIGNAL",
        "runtime error: x",
    ],
)
def test_other_lines_of_sanitizers_are_no_failures(line: str) -> None:
    assert headlines(line.encode()) == []


@pytest.mark.parametrize(
    ("frame", "shown"),
    [
        ("    #0 main /src/r.cpp:4 (r+0x1296)", "main (r.cpp)"),
        (
            "    #2 main::$_0::operator()() const /src/a.cc:4:44 (r+0xd1) (BuildId: ab)",
            "main::$_0::operator() (a.cc)",
        ),
        ("#1 0x12 in (anonymous namespace)::f(int) (/src/prog+0x12)", "(anonymous namespace)::f"),
        ("    #2 0x1 in A<int, B<3> >::bar(int, char*) const C:\\ws\\a.cc:12", "A::bar (a.cc)"),
        ("    #0 Worker::run() <null> (prog+0x123)", "Worker::run"),
        ("    #2 0x55 in area_free /src/area.c:9", "area_free (area.c)"),
    ],
)
def test_a_frame_of_the_project_names_its_function_without_arguments(frame: str, shown: str) -> None:
    found = frame_of(frame.encode(), SANDBOX)
    assert found
    assert (found.shown(), found.is_foreign) == (shown, False)


@pytest.mark.parametrize(
    "frame",
    [
        "    #6 <null> <null> (libstdc++.so.6+0xd44a2)",
        "    #0 0x7f in operator new(unsigned long) ../../x/asan_new_delete.cpp:95",
        "    #1 std::vector<int>::push_back(int&&) <null> (prog+0x1)",
        "    #1 memcpy (libc.so.6+0x1)",
        "    #1 0x55 in xmalloc /src/memory.c:7",
        "    #0 0x7f in _ZdlPv ??:0",
        "    #0 0x7f in _Znwm ??:0",
        "    #1 0x55 in cb_free /src/memory.c:9",
        "    #1 0x7f in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58",
        "    #1 run /usr/include/c++/12/bits/std_thread.h:210 (r+0x15ce)",
        "    #1 0x7f in testing::Test::Run() (/src/build/t+0x1)",
        "    #1 0x7f in f /src/third_party/googletest/src/gtest.cc:3",
    ],
)
def test_a_frame_of_a_library_is_foreign(frame: str) -> None:
    found = frame_of(frame.encode(), SANDBOX)
    assert found
    assert found.is_foreign


@given(st.text("af<>()[]: ,#0123456789_~"))
def test_any_name_of_a_function_is_reduced(name: str) -> None:
    assert len(plain_function(name)) <= len(name)


@pytest.mark.parametrize("place", ["??:0", "??:?", "??:0:0", "<null>"])
def test_a_function_of_a_library_without_a_file_is_still_foreign(place: str) -> None:
    """Otherwise all cycles of locks were one failure, of pthread_mutex_lock."""
    log = (
        "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=7)\n"
        f"    #0 pthread_mutex_lock {place} (a.out+0x4f2)\n"
        "    #1 lock_both /src/a.cc:3 (a.out+0x5a1)\n\n"
    )
    [failure] = failures_in(log.encode().splitlines())
    assert failure.headline == (
        "ThreadSanitizer: lock-order-inversion (potential deadlock): lock_both (a.cc)"
    )
