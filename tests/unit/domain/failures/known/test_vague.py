"""Vague failures: what Benchgate itself writes around the failing thing is no pattern of a known failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.findings import Finding
from service.domain.building.sandbox_command import KILLED, Completed, StoppedBy
from service.domain.failures.configured import ConfiguredPattern, ConfiguredPatterns
from service.domain.failures.failure import NO_END, Failure, FailureKind
from service.domain.failures.known import line_of, pattern_of
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.patterns import failures_in
from service.domain.measuring.lint.clang_format import TEXT, format_failure
from service.domain.measuring.lint.clang_tidy import TidyFinding, error_failure, finding_failure
from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.failed import OPENING_OF_OTHERS, failures_of, failures_of_ctest
from service.domain.runs.side_end import Stage
from service.domain.runs.tested import Tested, Try, failures_of_tests
from service.domain.values.errors import BadInput, CommandFailed
from service.kinds.command import failures_of_command
from service.steps.building.build_sources import NotBuilt, failures_of_build
from service.steps.measuring.run_tests import Launched

if TYPE_CHECKING:
    from collections.abc import Iterator

THING: Final = "Quux"  # the failing thing, and all that programs say of it
LOGS: Final = (  # each is one failure
    "1/1 Test #1: Quux ....***Failed    1.00 sec",
    "1/1 Test #1: Quux ....***Not Run   0.00 sec",
    "1/1 Test #1: Quux ....***Timeout   1.00 sec",
    "1/1 Test #1: Quux ....***Exception: SegFault   1.00 sec",
    "1/1 Test #1: Quux ....Subprocess aborted***Exception:   1.00 sec",
    "  7/120 Test  #99: Quux ....***Exception: Illegal  10.25 sec",
    " 12/120 Test #112: Quux ....***Exception: Numerical 123.50 sec",
    "1/1 Test #1: Quux ....Child aborted***Exception:   1.00 sec",
    "1/1 Test #1: Quux ....Bus error***Exception:   1.00 sec",
    "1/1 Test #1: Quux ....Exit code 0xc0000409",
    "1/1 Test #1: Quux ....***Failed  Required regular expression not found. Regex=[Quux]  1.00 sec",
    "0% tests passed, 1 tests failed out of 1\n\t  1 - Quux (Failed)",
    "0% tests passed, 1 tests failed out of 1\n\t  1 - Quux (Timeout)",
    "0% tests passed, 1 tests failed out of 1\n\t  1 - Quux (ILLEGAL)",
    "0% tests passed, 1 tests failed out of 1\n\t  1 - Quux (Subprocess aborted)",
    "[ RUN      ] Quux.Quux\n[  FAILED  ] Quux.Quux (1 ms)",
    "[ RUN      ] Quux.Quux\n",
    "not ok 1 - Quux",
    "FAIL: Quux (Quux.Quux)",
    "FAILED Quux::Quux - Quux",
    "/src/Quux.cc:1:2: runtime error: Quux",
    "==1==ERROR: AddressSanitizer: Quux\n    #0 0x1 in Quux /src/Quux.cc:1\nSUMMARY: AddressSanitizer: Quux",
    "WARNING: ThreadSanitizer: Quux (pid=1)\n    #0 Quux /src/Quux.cc:1 (Quux+0x1)",
    "SUMMARY: AddressSanitizer: 1 byte(s) leaked in 1 allocation(s).",
    "Segmentation fault (core dumped)",
    "Aborted (core dumped)",
    "terminate called after throwing an instance of 'Quux'\n  what():  Quux",
    "Quux: virtual memory exhausted",
    "Build timed out (after 60 minutes). Marking the build as aborted.",
    "Quux: stopped after 7 s, Quux",
    "Quux.cc:1:2: error: Quux",
    "Quux.cc(1): error C1: Quux",
    "Quux.cc:1: undefined reference to `Quux'",
    "ld.lld: error: undefined symbol: Quux",
    "collect2: error: ld returned 1 exit status",
    "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
    "CMake Error at Quux.txt:1 (Quux):\n  Quux",
    "CMake Error: Quux",
    "-- Configuring incomplete, errors occurred!",
    "make: *** [Makefile:1: Quux] Error 2",
    "ninja: build stopped: subcommand failed.",
)
ENDS: Final = (
    *(Completed(code, 1.0) for code in (1, 2, 99, KILLED, 139)),
    *(Completed(143, 4711.0, limit) for limit in StoppedBy),
)
FAILED = TestRun((TestCase(f"{THING}.{THING}", CaseStatus.FAILED, 1.0, THING, f"{THING}.cc:1"),))
UNRUN = TestRun((TestCase(THING, CaseStatus.NOT_RUN, 0.0, THING),))
ENDED = TestRun((TestCase(THING, CaseStatus.FAILED, 0.0, NO_END),))
SKIPPED = TestRun((TestCase(THING, CaseStatus.SKIPPED, 0.0),))


def of_ends() -> Iterator[Failure]:
    for end in ENDS:
        for output in (b"", f"{THING}\n".encode()):
            yield from failures_of_command(THING, [Launched(end, b"", "", output, is_cut=False)], "/src")
        for what in ("configure failed", "compile failed"):
            error = CommandFailed(what, end.end, limit=end.stopped_by or "")
            yield from failures_of_build(NotBuilt(Stage.COMPILE, error), b"")[0]
        for each in (Try(end), Try(end, problem=THING), Try(end, TestRun(()))):
            yield from Tested(THING, (each,)).failures()
        yield from Tested(THING, (Try(end),), unfinished=(THING,)).failures()
    yield from failures_of_tests([Tested(THING, (Try(Completed(0, 1.0), SKIPPED),))])[0]


def of_results() -> Iterator[Failure]:
    for run in (FAILED, UNRUN, ENDED):
        yield from failures_of_ctest(run)
        yield from failures_of(run)
        yield from failures_of(run, "", OPENING_OF_OTHERS)
    found = Finding(f"{THING}.cc", 1, f"warning: {THING} [{THING}-{THING}]")
    yield finding_failure(TidyFinding(found, THING))
    yield error_failure(Finding(f"{THING}.cc", 1, THING))
    yield format_failure(Finding(f"{THING}.cc", 1, f"{TEXT}: {THING}"))


def of_logs() -> Iterator[Failure]:
    for log in LOGS:
        yield from failures_in(log.encode().split(b"\n"))
    yield from ConfiguredPatterns([ConfiguredPattern(THING, Pattern(THING))]).failures_in([THING.encode()])[0]


def samples() -> list[Failure]:
    return [*of_ends(), *of_results(), *of_logs()]


def own_words(failure: Failure) -> list[str]:
    """Return the parts of a failure's line between names and numbers."""
    parts = re.split(r"Quux(?:\.\w+)?|[0-9]+", line_of(failure))
    return [words for part in parts if len(words := part.strip(" .:;,'`\"()[]#*")) > 3]


def test_the_samples_are_of_every_kind() -> None:
    assert {failure.kind for failure in samples()} == set(FailureKind)


@pytest.mark.parametrize("log", LOGS)
def test_each_log_names_a_failure(log: str) -> None:
    assert list(failures_in(log.encode().split(b"\n")))


@pytest.mark.parametrize("words", sorted({words for each in samples() for words in own_words(each)}))
def test_text_around_the_failing_thing_is_no_pattern(words: str) -> None:
    with pytest.raises(BadInput, match="failures of any kind"):
        pattern_of(re.escape(words))


@pytest.mark.parametrize("line", sorted({line_of(each) for each in of_ends()} - {THING}))
def test_the_end_of_a_program_is_no_pattern(line: str) -> None:
    own = [re.escape(part) for part in line.split(THING) if part.strip(" :")]
    for part in own:
        with pytest.raises(BadInput, match="failures of any kind"):
            pattern_of(part)


@pytest.mark.parametrize(
    "text",
    [
        "exit code",
        "exit code 77",
        "exit code 3221225477",
        r"exit code [2-9]",
        r"stopped after \d+ s",
        "stopped after 5400 s",
        "limit on (wall time|memory)",
        "Error [23]",
        r"Failure of a GoogleTest test \w+\.\w+",
        r"^[\w/]+\.cc:",
        "left no results",
        "code should be clang-formatted",
        "did not check everything",
        "Exception: Illegal",
        "Exception: (Numerical|Other)",
        r"\((ILLEGAL|NUMERICAL|Subprocess aborted|Child aborted)\)",
        r"\(OTHER_FAULT\)",
        "Subprocess killed",
        "Exit code 0xc0000409",
        r"Exit code 0x[0-9a-f]+",
        "regular expression (not )?found",
        r"\d\d\.\d+ sec",
        r"\d{3}\.\d+ sec",
        r"Timeout +1500\.",
        r"Test +#\d\d",
        r"Test  #\d+",
        r"Test +#[2-9]\d:",
        r"\d+/409 Test",
        "1 error generated",
        r"exit code \d+: 12 errors generated",
        "ABORTING",
        "SUMMARY: ThreadSanitizer",
        "compilation terminated",
        "warnings being treated as errors",
        "GoogleTest test [^xX]",
        "GoogleTest test [^xXqQ]",
        "GoogleTest test [a-m]",
        "GoogleTest test [N-W]",
        r"GoogleTest test [^x]+Test\.",
        r"GoogleTest test [^xX]+/\d",
        r"GoogleTest test [^xX]+/[3-9]$",
        r"GoogleTest test [^xX]+/\w+\.[^xX]+/\d",
        r"Test +#\d+: [^xX]+_[^xX]+ ",
        r"Test +#\d+: [a-w]+\.[a-w]+ ",
        r"Test +#\d+: [a-w]+-[a-w]+ ",
        "GoogleTest test [A-W][a-z]+[A-W]",
        "GoogleTest test [a-w]*[aeiou][a-w]*[.]",
        "[^x]::[^x]",
        r"\.cc:[0-9]{2}",
        r"\.cc:[2-9]",
        r"\.cc\([0-9]{2}\)",
        r"\.cc:4711",
        r"\.(h|hh|hpp):\d+",
        r"\.(c|cpp|cxx):\d+",
        r"[^x]\d\.cc:\d+:\d+: error",
        "undefined symbol: [^x]",
        "Crash: [^x]+: Killed",
        "[a-w]+ ended with exit code 77",
    ],
)
def test_a_pattern_for_a_kind_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="failures of any kind"):
        pattern_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "Failure of a GoogleTest test ExpiryTest",
        r"Test +#\d+: ep_perf\.expiry",
        "Test #167: ep_perf",
        r"ep_perf\.expiry \.+\*\*\*Exception: Illegal",
        r"Regex=\[checksum",
        "Connection refused",
        "exit code 1: cannot reach the cache",
        r"ep_engine\.cc:\d+: .*clang-formatted",
        r"AddressSanitizer: heap-use-after-free: Checkpoint::",
        "Out of memory: Killed process",
        "undefined reference to `curl_",
        "error C2065",
        "Failure of a GoogleTest test Ex",
        r"Failure of a GoogleTest test ExpiryTest\.\w+/\d",
        r"Failure of a GoogleTest test \w*Cache",
        r"[Bb]ucket\w*\.[A-Z]\w+/\d+",
        r"(warmup|rebalance)_\w+",
        r"checkpoint_\w+\.cc:\d+",
        r"ep_engine\.cc:[0-9]{2}",
        "Crash: [^:]*: vbucket",
    ],
)
def test_a_pattern_that_names_the_failing_thing_is_accepted(text: str) -> None:
    assert pattern_of(text).text == text
