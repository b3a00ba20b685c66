"""Signals that programs report by number or by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of


def texts(line: str) -> list[tuple[FailureKind, str]]:
    return [(each.kind, signature_of(each).text) for each in failures_in([line.encode()])]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("process 4117 terminated by signal 11 (Segmentation fault)", "segmentation fault"),
        ("Received signal 11 SEGV_MAPERR 000000000018", "segmentation fault"),
        ("Caught signal 11 (SIGSEGV)", "segmentation fault"),
        ("caught signal: SIGSEGV", "segmentation fault"),
        ("process 4117 terminated by signal 15 (Terminated)", "terminated"),
        ("exited on signal 6 (core dumped)", "aborted"),
        ("child 7 died with signal 13", "signal 13"),
        ("child 7 died with signal SIGPIPE", "signal 13"),
        ("killed by signal SIGUSR1", "SIGUSR1"),
        ("killed by signal SIGUSR2", "SIGUSR2"),
        ("*** stack smashing detected ***: <unknown> terminated", "*** stack smashing detected ***"),
        ("*** stack smashing detected ***: terminated", "*** stack smashing detected ***"),
    ],
)
def test_a_signal_is_named_by_its_word_or_by_its_whole_number(line: str, text: str) -> None:
    assert texts(line) == [(FailureKind.CRASH, text)]


@given(
    st.sampled_from(["killed by signal {}", "terminated by signal {} (x)", "Received signal {} now"]),
    st.integers(1, 64),
    st.integers(1, 64),
)
def test_two_signals_never_fall_together(way: str, one: int, other: int) -> None:
    assert (texts(way.format(one)) == texts(way.format(other))) == (one == other)
