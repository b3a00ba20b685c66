from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.values.text import (
    before_and_after,
    both_ends,
    change,
    interval,
    listed,
    literal,
    plain,
    quantity,
    share,
    shortened,
    signed_percent,
)
from tests.support.messages.markdown import MARKS, formats_in, rendered


def test_a_name_cut_in_the_middle_keeps_more_of_its_end() -> None:
    assert both_ends("std::map<int,\n\x00 long>::find", 16) == "std::…ong>::find"
    assert both_ends("ns::find", 8) == "ns::find"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fixture/Name/8/real_time/threads:4", "Fixture/Name/8/real_time/threads:4"),
        ("BM_Map<std::string, int>/8", "BM_Map<std::string, int>/8"),
        ("a\nBuild Successful\r\n", "a Build Successful"),
        ("\x1b[31mred\x1b[0m\0", "[31mred[0m"),
        ("abc\u202egpj.exe", "abcgpj.exe"),
        ("\u200f\u2066x\u2069\ufeff", "x"),
        ("one\u2028two\u2029three\x85four", "one two threefour"),
        ("\ud800x\udfff", "x"),
        ("  a \t b  ", "a b"),
        ("Grüße, 世界 🚀", "Grüße, 世界 🚀"),
        ("", ""),
    ],
)
def test_foreign_text_becomes_one_harmless_line(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(st.characters(codec=None)), st.integers(1, 300))
def test_any_text_becomes_short_and_printable_and_then_stays(text: str, limit: int) -> None:
    shown = plain(text, limit)

    assert len(shown) <= limit
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert plain(shown, limit) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short enough", "short enough"),
        ("It failed now. The log is long", "It failed now. …"),
        ("it failed now; the log is long", "it failed now …"),
        ("the compiler was not found there", "the compiler was …"),
        ("x" * 40, "x" * 19 + "…"),
    ],
)
def test_a_cause_is_cut_behind_a_sentence_a_clause_or_a_word(text: str, shown: str) -> None:
    assert shortened(text, 20) == shown


@given(st.text(st.characters(codec=None)), st.integers(1, 300))
def test_a_shortened_text_keeps_its_limit(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit


def test_a_cut_text_is_marked_as_cut() -> None:
    assert plain("x" * 201) == "x" * 199 + "…"
    assert plain("x" * 200) == "x" * 200


def test_some_names_stand_for_many() -> None:
    assert listed(["a\n", "b"]) == "a, b"
    assert listed([*"abcd"]) == "a, b, c and 1 more"
    assert listed([*"abcd"], 1) == "a and 3 more"


@pytest.mark.parametrize(
    "name",
    [
        "BM_Sort<int>/64",
        "a_b*c",
        "Fixture/Name/8/real_time/threads:4",
        "BM_Map<std::string, int>/8",
        "BM_Sort_/64",
        "x~y",
        "(a) [b] c|d",
        r"C:\src\a.cc(10): error C2440: 'x'",
    ],
)
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert literal(name) == rendered(literal(name)) == name


def test_gerrits_markup_is_escaped() -> None:
    assert literal("[click](https://evil.example) **Verified+1**") == (
        r"[click]\(https://evil.example) \*\*Verified+1\*\*"
    )


@given(MARKS)
def test_gerrit_formats_nothing_and_shows_every_character(name: str) -> None:
    line = plain(name, 1000)

    assert formats_in(literal(line)) == set()
    if "`" not in line:
        assert rendered(literal(line)) == line


@pytest.mark.parametrize(
    ("base", "patch", "unit", "shown"),
    [
        (41.2e-6, 61.9e-6, "s", "41.2 → 61.9 µs"),
        (900e-9, 1.2e-6, "s", "900 ns → 1.20 µs"),
        (3.82e6, 3.35e6, "1/s", "3.82 → 3.35 M/s"),
        (41.0, 48.0, "", "41 → 48"),
        (0.0, 1.5, "s", "0 → 1.50 s"),
    ],
)
def test_values_share_a_unit_if_they_can(base: float, patch: float, unit: str, shown: str) -> None:
    assert before_and_after(base, patch, unit) == shown


def test_a_quantity_without_a_scale_has_its_digits() -> None:
    assert quantity(12.25, "threads") == "12.2 threads"
    assert quantity(3e12, "") == "3.000e+12"


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (1.0, "±0.00 %"),
        (1.00001, "±0.00 %"),
        (0.99999, "±0.00 %"),
        (1.0042, "+0.42 %"),
        (1.123, "+12.3 %"),
        (0.877, "−12.3 %"),
        (1.9999, "+100.0 %"),
        (2.0, "×2"),
        (53.14, "×53.1"),
        (1234.5, "×1234"),
        (3e9, "×3.0e+09"),
        (1e-9, "−100.0 %"),
    ],
)
def test_a_ratio_is_shown_as_the_change_it_means(ratio: float, shown: str) -> None:
    assert change(ratio) == shown


@given(st.floats(1e-300, 1e300))
def test_a_sign_never_lies(ratio: float) -> None:
    shown = signed_percent(ratio)

    assert not (shown[0] == "−" and ratio >= 1)
    assert not (shown[0] == "+" and ratio <= 1)


def test_an_interval_is_written_like_its_ratio() -> None:
    assert interval(0.869, 0.886, 0.877) == "[−13.1, −11.4]"
    assert interval(0.995, 1.004, 1.0) == "[−0.50, +0.40]"
    assert interval(51.84, 54.3, 53.1) == "[×51.8, ×54.3]"
    assert interval(1.9, 2.5, 2.2) == "[×1.9, ×2.5]"


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.03, "3 %"), (0.025, "2.5 %"), (0.005, "0.5 %"), (1, "100 %"), (905.52, "90,552 %")],
)
def test_shares_keep_the_digits_that_matter(fraction: float, shown: str) -> None:
    assert share(fraction) == shown
