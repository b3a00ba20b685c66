from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dashboards.formatting import (
    breakable,
    counted,
    is_web_address,
    lasting,
    middle_cut,
    moment,
    percent,
    points,
    quantity,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.82e-6, "s", "1.82 µs"),
        (0.25, "s", "250 ms"),
        (12.0, "s", "12 s"),
        (3e-10, "s", "300 ps"),
        (0.0, "s", "0 s"),
        (12_400_000.0, "1/s", "12.4 M/s"),
        (0.5, "1/s", "0.50 /s"),
        (3584.0, "B", "3.58 kB"),
        (2.0**31, "B/s", "2.15 GB/s"),
        (48.0, "B", "48 B"),
        (10.5, "", "10.5"),
        (12_840_000.0, "", "12,840,000"),
        (float("nan"), "s", "–"),
        (None, "s", "–"),
    ],
)
def test_a_quantity_has_three_digits_and_a_readable_unit(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 %"), (0.00421, "0.42 %"), (0.071, "7.1 %"), (0.144, "14 %"), (None, "–")]
)
def test_a_share_has_two_digits(value: float | None, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("growth", "text"),
    [(0.098, "+9.8"), (-0.0042, "−0.42"), (9.99, "+999.0"), (10.0, "+1,000"), (976.3, "+97,630")],
)
def test_thousands_of_percentage_points_are_grouped(growth: float, text: str) -> None:
    assert points(growth) == text


def test_times_of_any_zone_are_shown_in_utc() -> None:
    local = datetime(2026, 11, 21, 4, 36, tzinfo=timezone(timedelta(hours=2)))
    assert moment(local) == moment(local.astimezone(UTC)) == "2026-11-21 02:36"


@pytest.mark.parametrize(
    ("seconds", "text"), [(45.4, "45 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (-3, "0 s")]
)
def test_durations_are_in_words(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_a_long_name_keeps_both_of_its_ends() -> None:
    cut = middle_cut("Fixture/" + "x" * 500 + "/threads:4", 60)
    assert len(cut) == 60
    assert cut.startswith("Fixture/")
    assert cut.endswith("/threads:4")


def test_a_breakable_name_is_still_escaped() -> None:
    assert breakable("<b>/8") == "&lt;b&gt;/<wbr>8"


def test_counts_agree_with_their_noun() -> None:
    assert (counted(1, "row"), counted(2, "row")) == ("1 row", "2 rows")


@pytest.mark.parametrize("text", ["https://bugs.example/MB-1", "http://bugs.example?id=1&x='", "HTTPS://a"])
def test_a_web_address_may_become_a_link(text: str) -> None:
    assert is_web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MB-1",
        "#12",
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https://",
        " https://a",
        "https://a\n",
        "https://a b",
        'https://a"onclick="x',
        "https://a<b>",
        "https://\u202egnp.example",
        "see https://a",
    ],
)
def test_any_other_text_is_not_a_link(text: str) -> None:
    assert not is_web_address(text)
