from __future__ import annotations

import pytest

from dashboards.building.log_text import as_text, harmless, tail_of
from service.domain.building.logs.stored_log import StoredLog
from tests.unit.domain.building.logs.stored import StoredBytes

HOSTILE = "grün\r\n\x1b[31mred\x07\u061c\u202e\U000e0041 \x9b".encode() + b"\xff\xc3"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_harmless_log_has_as_many_bytes_however_it_is_cut(size: int) -> None:
    chunks = (HOSTILE[start : start + size] for start in range(0, len(HOSTILE), size))
    shown = b"".join(harmless(chunks))
    assert shown.decode() == "grün \n?[31mred?·\ufffd\ufffd? ·??"
    assert len(shown) == len(HOSTILE)


def test_a_page_shows_a_log_without_colours_and_control_characters() -> None:
    assert as_text(b"\x1b[1;31merror:\x1b[0m\tno such file\r\n\x07next") == "error:\tno such file\nnext"


def test_a_page_shows_a_link_of_a_terminal_as_its_text() -> None:
    assert as_text(b"\x1b]8;;https://example.com\x1b\\key.cpp\x1b]8;;\x07:3") == "key.cpp:3"


def test_the_tail_of_a_log_is_its_last_lines() -> None:
    log = b"".join(b"line %d\n" % number for number in range(100_000))
    stored = StoredBytes()
    assert tail_of(stored.stream, stored.log(log), 2) == "line 99998\nline 99999"
    assert tail_of(stored.stream, stored.log(b"one\n", b"two\n", end=b"thr"), 2) == "two\nthr"
    assert tail_of(stored.stream, StoredLog("", ()), 2) == ""
