"""Patterns in linear time: what they match, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.output.linear import Pattern, PatternTable
from service.domain.values.errors import BadInput


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+$", "(.*){4}b", "(a?){30}a{30}b", "(x+x+)+y"])
def test_a_pattern_that_stalls_other_engines_ends_on_a_megabyte(text: str) -> None:
    """A backtracking engine needs longer than the universe has existed."""
    Pattern(text).search(b"a" * (1 << 20) + b"!")


def test_a_match_is_given_by_its_place() -> None:
    assert Pattern("b+").search(b"abbc") == (1, 3)
    assert Pattern("x").search(b"abbc") is None


def test_groups_are_texts_and_empty_if_they_matched_nothing() -> None:
    assert Pattern("(a)(x)?(c|b)").groups(b"abc") == ("a", "", "b")
    assert Pattern("(x)").groups(b"abc") is None


def test_each_match_is_replaced() -> None:
    assert Pattern("([a-z])[0-9]+").replaced(b"a12 b3 4", rb"\1N") == b"aN bN 4"


def test_a_dot_matches_a_byte_outside_utf_8() -> None:
    assert Pattern("error: .*x").search(b"error: \xff\xfe x") == (0, 11)


def test_a_character_beyond_ascii_matches_itself() -> None:
    assert Pattern("µs$").search("5 µs".encode()) == (2, 5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(", "missing ): ("),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=x)", "invalid perl operator: (?="),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("(?:a|b|cd){900}" * 60, "too large"),
        ("x" * 1001, "1001 characters; at most 1000"),
        ("\ud800", "UTF-8 cannot encode"),
        ("", "matches every line"),
        (".*", "matches every line"),
        ("a|", "matches every line"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_reason(
    text: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadInput) as refused:
        Pattern(text)

    assert reason in str(refused.value)
    assert len(str(refused.value)) < 400
    assert capfd.readouterr() == ("", ""), "the engine must not write beside the program's output"


def test_patterns_too_large_together_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """Each of them is as large as one may be."""
    large = f"(?:{'[ac-eg-km-z1357]' * 50}){{59}}x"
    patterns = [Pattern(f"{large}{number}") for number in range(100)]

    with pytest.raises(BadInput, match="too large together"):
        PatternTable(patterns)
    assert capfd.readouterr() == ("", "")


@given(st.text(max_size=60))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        pattern = Pattern(text)
    except BadInput:
        return
    pattern.search(text.encode() * 10 + b"\xff")
