"""Pages of a log are whole lines, and no line is on two of them or on none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.logs import pages
from service.domain.building.logs.pages import page_around, page_before, page_from
from service.domain.building.logs.stored_log import Gap, read
from tests.unit.domain.building.logs.stored import StoredBytes

LINES = st.lists(st.text("ab ü\n", max_size=60).map(str.encode), max_size=12)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 40)
    monkeypatch.setattr(pages, "PAGE_LINES", 4)


def numbered(count: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


def test_the_bytes_at_a_place_are_read_from_the_parts_that_have_them() -> None:
    stored = StoredBytes()
    log = stored.log(b"one\ntwo\n", b"three\n", b"four\n", end=b"five")
    found = read(log, 5, 12, stored.stream)
    assert (found.start, found.line, found.data) == (5, 1, b"wo\nthree\nfou")
    assert stored.opened == ["chunk 0", "chunk 1", "chunk 2"]


def test_an_unwanted_part_is_not_read() -> None:
    stored = StoredBytes()
    read(stored.log(numbered(10), numbered(10), numbered(10)), 75, 10, stored.stream)
    assert stored.opened == ["chunk 1"]


def test_bytes_are_read_up_to_a_gap_and_again_behind_it() -> None:
    stored = StoredBytes()
    log = stored.log(b"head\n", b"gap:1000", b"tail\n")
    assert (log.size, log.gaps) == (1010, (Gap(5, 1000),))
    assert read(log, 0, 99, stored.stream).data == b"head\n"
    found = read(log, 5, 99, stored.stream)
    assert (found.start, found.data) == (1005, b"tail\n")
    assert read(log, 1010, 99, stored.stream).data == b""


def test_the_last_page_ends_with_the_last_line() -> None:
    stored = StoredBytes()
    found = page_before(stored.log(numbered(6), numbered(3)), 99999, stored.stream)
    assert (found.line, found.data) == (5, b"line 6\nline 1\nline 2\nline 3\n")


def test_a_page_after_a_gap_begins_behind_it_and_the_one_before_ends_at_it() -> None:
    stored = StoredBytes()
    log = stored.log(b"a\nb", b"gap:1000", b"c\nd\n")
    after = page_before(log, log.size, stored.stream)
    assert (after.start, after.data) == (1003, b"c\nd\n")
    assert page_before(log, after.start, stored.stream).data == b"a\nb"
    assert page_from(log, 3, stored.stream).data == b"c\nd\n"


def test_the_unfinished_line_of_a_growing_log_is_on_the_page() -> None:
    stored = StoredBytes()
    assert (
        page_from(stored.log(b"one\n", end=b"two\nthr", is_growing=True), 4, stored.stream).data
        == b"two\nthr"
    )


def test_a_line_longer_than_a_page_is_cut_between_characters() -> None:
    stored = StoredBytes()
    log = stored.log("aü".encode() * 50)
    first = page_from(log, 0, stored.stream)
    assert first.data.decode() == "aü" * 13 + "a"
    assert page_from(log, first.end, stored.stream).data.decode() == "üa" * 13
    assert page_before(log, log.size, stored.stream).data.decode() == "aü" * 13


@given(chunks=LINES)
def test_pages_forwards_have_every_byte_once(chunks: list[bytes]) -> None:
    stored = StoredBytes()
    log, found, place = stored.log(*chunks), b"", 0
    while place < log.size:
        page = page_from(log, place, stored.stream)
        assert page.start == place
        assert page.line == found.count(b"\n")
        assert 0 < len(page.data) <= 40
        found += page.data
        place = page.end
    assert found == b"".join(chunks)


def test_a_page_around_a_line_has_lines_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_CONTEXT_BYTES", 15)
    stored = StoredBytes()
    log = stored.log(numbered(9))
    found = page_around(log, 35, stored.stream)
    assert (found.line, found.data) == (3, b"line 4\nline 5\nline 6\nline 7\n")
    assert page_around(log, 0, stored.stream).data.startswith(b"line 1\n")


@given(chunks=LINES)
def test_pages_backwards_have_every_line_in_order(chunks: list[bytes]) -> None:
    stored = StoredBytes()
    log, found = stored.log(*chunks), b""
    place = log.size
    while place > 0:
        page = page_before(log, place, stored.stream)
        assert page.end == place
        assert page.start < place
        found = page.data + found
        place = page.start
    assert found == b"".join(chunks)
