from __future__ import annotations

import pytest

from service.domain.building.logs import search
from service.domain.building.logs.search import Match, find
from tests.unit.domain.building.logs.stored import StoredBytes


def test_a_match_has_its_line_and_place_across_parts_and_gaps() -> None:
    stored = StoredBytes()
    log = stored.log(b"ok\nan error\nok", b" error here\n", b"gap:1000", b"ok\nlast error")
    found = find(log, "error", 0, stored.stream)
    assert found.matches == (
        Match(2, 3, "an error"),
        Match(3, 12, "ok error here"),
        Match(5, 1029, "last error"),
    )
    assert found.next is None


def test_missing_bytes_do_not_end_a_search() -> None:
    stored = StoredBytes()
    log = stored.log(b"head\n", b"gap:134000000", b"needle\n", b"needle\n")
    assert [match.line for match in find(log, "needle", 0, stored.stream).matches] == [2, 3]


def test_case_counts_only_if_it_is_asked_for() -> None:
    stored = StoredBytes()
    log = stored.log(b"Error\nerror\nERROR\n")
    assert [match.line for match in find(log, "eRRor", 0, stored.stream).matches] == [1, 2, 3]
    assert [match.line for match in find(log, "Error", 0, stored.stream, is_exact=True).matches] == [1]


def test_a_line_with_several_matches_is_found_once() -> None:
    stored = StoredBytes()
    assert len(find(stored.log(b"error error\n"), "error", 0, stored.stream).matches) == 1


def test_colours_within_the_text_are_ignored_and_the_place_is_that_of_the_line() -> None:
    stored = StoredBytes()
    log = stored.log(b"\x1b[1mfirst\x1b[0m\n\x1b[31merror:\x1b[0m x\nsecond error: x\n")
    found = find(log, "error: x", 0, stored.stream)
    assert found.matches == (Match(2, 14, "error: x"), Match(3, 32, "second error: x"))


def test_the_text_is_literal() -> None:
    stored = StoredBytes()
    assert [each.line for each in find(stored.log(b"aab\na+b\n"), "a+b", 0, stored.stream).matches] == [2]


def test_a_long_line_is_shown_around_the_text() -> None:
    stored = StoredBytes()
    (match,) = find(stored.log(b"x" * 5000 + b" needle " + b"y" * 5000), "needle", 0, stored.stream).matches
    assert "needle" in match.text
    assert len(match.text) <= 300


@pytest.mark.parametrize(("searched", "most"), [(30, 100), (1 << 20, 3)])
def test_a_long_search_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch, searched: int, most: int
) -> None:
    monkeypatch.setattr(search, "SEARCHED_BYTES", searched)
    monkeypatch.setattr(search, "MOST_MATCHES", most)
    stored = StoredBytes()
    log = stored.log(*(b"".join(b"match %d\n" % n for n in range(k, k + 5)) for k in range(0, 50, 5)))
    place: int | None = 0
    lines: list[int] = []
    rounds = 0
    while place is not None:
        found = find(log, "match", place, stored.stream)
        lines += [match.line for match in found.matches]
        place = found.next
        rounds += 1
    assert lines == list(range(1, 51))
    assert rounds > 4
