"""Figures and rows as a reader of the table sees them."""

from __future__ import annotations

import pytest

from bench.native.table import Change, Table, TableRow, Unit, percent, significant, times

GOLDEN = """\
### owners: `mock` → `null`

| measured | recorded: before → after | here: before → after | required | ok | parked |
|---|---|---|---|---|---|
| threads:1 | 6,099 ns → 731 ns (8.34×) | 4,629 ns → 301 ns (15.4×) | ≥ 5× | yes | 0.97 → 0.00 |
| threads:2 | – | 300 ns → 301 ns (0.997×) | ≥ 5× | **no** | – |
| threads:4 | – | 1 ns → 1 ns (1×) | – | – | – |

Two CPUs.
"""


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (Change(6099, 731, Unit.NANOSECONDS), "6,099 ns → 731 ns (8.34×)"),
        (Change(2021.4, 1.6216, Unit.NANOSECONDS), "2,021 ns → 1.622 ns (1,247×)"),
        (Change(120_267.8, 212_160.5, Unit.PER_SECOND), "120.3 k/s → 212.2 k/s (1.76×)"),
        (Change(999.5, 3_052_839, Unit.PER_SECOND), "999.5 /s → 3.053 M/s (3,054×)"),
        (Change(786.2034, 738.197, Unit.BYTES), "786.2034 B → 738.197 B (−48.0064 B)"),
        (Change(144, 288, Unit.BYTES), "144 B → 288 B (144 B)"),
        (Change(144, 144, Unit.BYTES), "144 B → 144 B (0 B)"),
    ],
)
def test_a_change_shows_both_figures_and_how_they_relate(change: Change, shown: str) -> None:
    assert change.show() == shown


def test_less_than_nothing_has_a_minus_sign() -> None:
    assert Unit.MILLISECONDS.show(-24) == "−24 ms"


def test_a_smaller_time_and_a_larger_rate_are_both_gains() -> None:
    assert Change(10, 5, Unit.MILLISECONDS).gain == 2
    assert Change(10, 20, Unit.PER_SECOND).gain == 2


def test_four_figures_are_shown_and_whole_numbers_stay_whole() -> None:
    assert [significant(each) for each in (0, 0.012_345_6, 12.345_6, 123_456.7, 731.0)] == [
        "0",
        "0.01235",
        "12.35",
        "123,457",
        "731",
    ]
    assert times(1.5) == "1.50×"
    assert percent(-0.0391) == "−3.9 %"


def test_a_table_names_requirements_and_whether_they_are_met() -> None:
    rows = (
        TableRow(
            "threads:1",
            Change(6099, 731, Unit.NANOSECONDS).show(),
            Change(4629, 301, Unit.NANOSECONDS).show(),
            "≥ 5×",
            is_met=True,
            aside="0.97 → 0.00",
        ),
        TableRow("threads:2", "–", Change(300, 301, Unit.NANOSECONDS).show(), "≥ 5×", is_met=False),
        TableRow("threads:4", "–", Change(1, 1, Unit.NANOSECONDS).show()),
    )
    table = Table("owners: `mock` → `null`", rows, "parked", ("Two CPUs.",))
    assert table.markdown() == GOLDEN
    assert table.missed == ("threads:2",)
