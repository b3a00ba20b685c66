"""Keep the first and the newest bytes of a build's log, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.steps.building.build_log import BuildLog

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 16  # the first 4, the newest 12
PARTS = st.lists(st.binary(max_size=40), max_size=20)


def log_of(*parts: bytes, limit: int = LIMIT) -> BuildLog:
    log = BuildLog(limit=limit)
    for part in parts:
        assert log.write(part) == len(part)
    return log


def test_a_log_within_the_limit_is_kept_whole() -> None:
    assert log_of(b"12345678", b"90123456").kept() == b"1234567890123456"


def test_the_middle_of_a_longer_one_is_left_out() -> None:
    log = log_of(b"12345678", b"90123456", b"abc")
    assert log.kept() == b"1234\n== 3 bytes of the log are left out here\n890123456abc"
    assert log.mark() == 19


@given(parts=PARTS)
def test_the_first_and_the_newest_bytes_are_kept_however_they_come(parts: list[bytes]) -> None:
    whole, log = b"".join(parts), log_of(*parts)
    gap = f"\n== {len(whole) - LIMIT} bytes of the log are left out here\n".encode()
    assert log.kept() == (whole if len(whole) <= LIMIT else whole[:4] + gap + whole[-12:])


@given(before=PARTS, after=PARTS)
def test_bytes_since_a_mark_are_read_exactly_if_they_are_kept(
    before: list[bytes], after: list[bytes]
) -> None:
    log = log_of(*before, limit=1 << 20)
    mark = log.mark()
    for part in after:
        log.write(part)
    assert log.since(mark) == b"".join(after)


@given(parts=PARTS, mark=st.integers(0, 800), at_most=st.integers(2, 30))
def test_since_never_returns_more_than_was_asked_for_nor_bytes_of_before(
    parts: list[bytes], mark: int, at_most: int
) -> None:
    since = b"".join(parts)[mark:]
    found = log_of(*parts).since(min(mark, sum(map(len, parts))), at_most)
    assert len(found) <= at_most
    assert any(since.startswith(found[:cut]) and since.endswith(found[cut:]) for cut in range(len(found) + 1))


def test_overlong_output_is_read_as_whole_lines_of_both_ends() -> None:
    log = log_of(b"before\n", b"first\nsecond\nthird\nfourth\nlast\n", limit=100)
    assert log.since(7, at_most=20) == b"first\nlast\n"


def test_lines_next_to_a_gap_are_not_joined_to_one() -> None:
    log = log_of(b"one\ntwo\nthree\nfour\nfive\n", limit=16)
    assert log.since(0) == b"one\nfour\nfive\n"


def test_it_accepts_a_file_and_writes_no_more_to_it_than_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b", buffering=0) as file:
        log = BuildLog(file, LIMIT)
        for _ in range(100):
            log.write(b"0123456789")
        assert log.since(995) == b"56789"
        assert (tmp_path / "log").stat().st_size == LIMIT


def test_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "w+b", buffering=0) as file, pytest.raises(OSError, match="No space"):  # noqa: PTH123
        BuildLog(file).write(b"text")
