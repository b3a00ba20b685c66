"""Configured patterns: their file, their failures, and hostile patterns and logs."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.configured import MOST_PATTERNS, NO_PATTERNS, read_patterns
from service.domain.failures.failure import MOST, Failure, FailureKind
from service.domain.failures.output.log_lines import lines_in
from service.domain.failures.output.patterns import failures_in
from service.domain.values.errors import BadInput
from service.domain.values.text import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERNS = read_patterns(
    r"""
licence: 'cannot check out a licence for (?P<subject>\S+): (?P<headline>.+?)(?: \(try \d+\))?$'
device: '^fatal: device \d+ is lost'
any-fatal: '^fatal: '
""",
    "patterns.yaml",
)
LICENCE = Failure(
    FailureKind.CONFIGURED,
    "simulator",
    "licence: the server is full",
    "licence: 12:00 cannot check out a licence for simulator: the server is full (try 3)",
)
DEADLINE = 10  # seconds of CPU time; a backtracking engine needs longer than the universe has existed


def found(*lines: str) -> list[tuple[str, str]]:
    failures, is_cut = PATTERNS.failures_in([line.encode() for line in lines])
    assert not is_cut
    return [(each.subject, each.headline) for each in failures]


@contextmanager
def deadline() -> Iterator[None]:
    """End a test that stalls within one call of an engine, which runs no bytecode meanwhile."""
    before = signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, DEADLINE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_a_file_with_too_large_patterns_is_refused_by_name() -> None:
    large = f"(?:{'[ac-eg-km-z1357]' * 50}){{59}}x"
    with pytest.raises(BadInput, match=r"^patterns\.yaml:1: the patterns are too large together"):
        read_patterns("\n".join(f"p{k}: '{large}{k}'" for k in range(100)), "patterns.yaml")


def test_the_groups_of_a_pattern_are_the_subject_and_the_headline() -> None:
    line = b"12:00 cannot check out a licence for simulator: the server is full (try 3)\n"
    assert PATTERNS.failures_in([b"make\n", line]) == ((LICENCE,), False)


def test_a_pattern_without_groups_names_the_whole_line_and_no_subject() -> None:
    assert found("fatal: device 7 is lost") == [("", "device: fatal: device 7 is lost")]


def test_the_first_pattern_in_the_file_counts() -> None:
    assert found("fatal: device 7 is lost", "fatal: no") == [
        ("", "device: fatal: device 7 is lost"),
        ("", "any-fatal: fatal: no"),
    ]


def test_failures_that_differ_in_a_number_count_once() -> None:
    assert len(found("fatal: device 7 is lost", "fatal: device 8 is lost")) == 1


def test_failures_of_two_subjects_count_twice() -> None:
    text = "cannot check out a licence for {}: the server is full"
    assert [subject for subject, _ in found(text.format("a1"), text.format("a2"))] == ["a1", "a2"]


def test_colours_and_time_stamps_are_removed_first() -> None:
    assert found("[2026-11-23T04:00:00.000Z] \x1b[31mfatal: \x1b[0mdevice 7 is lost") == [
        ("", "device: fatal: device 7 is lost")
    ]


def test_an_already_known_failure_is_not_added() -> None:
    log = [b"lib/a.cc:3:5: error: no such thing\n", b"sh: 1: cmake: not found\n"]
    everything = read_patterns("all: .+", "patterns.yaml")
    known = tuple(failures_in(log))
    added, _ = everything.failures_in(log, known)
    assert [each.headline for each in known] == ["error: no such thing"]
    assert [each.headline for each in added] == ["all: sh: 1: cmake: not found"]


def test_a_line_that_only_ends_like_a_known_failure_is_added() -> None:
    known = (Failure(FailureKind.COMMAND, "", "the build failed", "the build failed"),)
    added, _ = read_patterns("all: .+", "patterns.yaml").failures_in([b"failed\n"], known)
    assert [each.headline for each in added] == ["all: failed"]


def test_more_failures_than_a_build_may_have_are_cut() -> None:
    log = [b"fatal: %s\n" % (b"x" * length) for length in range(1, MOST + 20)]
    failures, is_cut = PATTERNS.failures_in(log)
    assert (len(failures), is_cut) == (MOST, True)

    known = [Failure(FailureKind.TEST, str(number), "Failed") for number in range(150)]
    assert PATTERNS.failures_in(log, known) == (failures[:50], True)


def test_no_patterns_find_nothing_and_read_nothing() -> None:
    log = iter([b"fatal: no\n"])
    assert NO_PATTERNS.failures_in(log) == ((), False)
    assert list(log) == [b"fatal: no\n"]


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+$", "(.*){4}b", "^(a?){500}a{500}$", "(a*)*b"])
def test_a_pattern_that_stalls_other_engines_reads_a_log_of_one_megabyte(text: str) -> None:
    patterns = read_patterns(f"hostile: '{text}'", "patterns.yaml")
    with deadline():
        patterns.failures_in(lines_in([b"a" * (1 << 20) + b"!\n"]))
        patterns.failures_in(lines_in([(b"a" * 4000 + b"!\n") * 256]))


def test_lines_that_match_without_end_are_given_up() -> None:
    log = (b"fatal: device %d is lost\n" % number for number in range(1 << 40))
    with deadline():
        failures, is_cut = PATTERNS.failures_in(log)
    assert (len(failures), is_cut) == (1, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "patterns.yaml:1: a mapping of names to patterns is needed"),
        ("a: x\nb: 1", "patterns.yaml:2: b: a text is needed"),
        ("a b: x", "patterns.yaml:1: a b: not a name"),
        ("a: x\n\nb: '('", "patterns.yaml:3: b: '(': not a regular expression of RE2: missing )"),
        (r"a: '(x)\1'", "patterns.yaml:1: a: '(x)\\\\1': not a regular expression of RE2: invalid escape"),
        ("a: '(?=x)'", "invalid perl operator"),
        ("a: 'x*'", "the pattern matches every line"),
        ("a: '(?P<subjct>x)'", "patterns.yaml:1: a: unknown group subjct; allowed are subject and headline"),
        ("a: x\na: y", "patterns.yaml:2: a: given twice"),
        ("a: [", "patterns.yaml:1: not YAML"),
        ("", "patterns.yaml: the file is empty"),
        ("\n".join(f"a{i}: x" for i in range(MOST_PATTERNS + 1)), "it has 101 patterns; at most 100"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_line_and_name(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_patterns(text, "patterns.yaml")
    assert problem in str(refused.value)


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
def test_lines_are_split_and_cut_wherever_the_chunks_end(size: int) -> None:
    log = b"first\n\n" + b"x" * 10_000 + b"\r\nlast"
    chunks = [log[at : at + size] for at in range(0, len(log), size)]
    assert list(lines_in(chunks)) == [b"first", b"", b"x" * LINE_BYTES, b"last"]


def test_a_line_without_end_needs_the_memory_of_one_chunk() -> None:
    assert list(lines_in(b"x" * (1 << 20) for _ in range(256))) == [b"x" * LINE_BYTES]
