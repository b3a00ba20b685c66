from __future__ import annotations

from dashboards.comparing import WIDTH, interval_of, lay_out
from service.domain.search import parse_words
from tests.support.fake_reading import comparison

ROWS = [
    comparison(1, "BM_Same/1", 1.001, "same"),
    comparison(2, "BM_Faster/1", 1.2, "faster"),
    comparison(3, "BM_Slower/1", 0.95, "slower"),
    comparison(4, "BM_Slower/2", 0.80, "slower"),
    comparison(5, "BM_New/1", None, "new"),
    comparison(6, "BM_Open/1", 0.99, "undecided"),
    comparison(7, "BM_Broken/1", None, "broken", reason="boom"),
]
ALL_WORDS = parse_words("")


def names(show: str, words: str = "") -> list[str]:
    return [row.name for row in lay_out(ROWS, show, parse_words(words), 0.01).rows]


def test_by_default_only_what_matters_is_shown_the_worst_first() -> None:
    assert names("significant") == ["BM_Broken/1", "BM_Slower/2", "BM_Slower/1", "BM_Faster/1", "BM_New/1"]


def test_what_is_hidden_is_counted() -> None:
    table = lay_out(ROWS, "significant", ALL_WORDS, 0.01)
    assert table.hidden == 2
    assert table.counts == {"broken": 1, "slower": 2, "undecided": 1, "faster": 1, "new": 1, "same": 1}


def test_one_verdict_alone_can_be_shown() -> None:
    assert names("same") == ["BM_Same/1"]


def test_an_unknown_filter_shows_what_matters() -> None:
    assert names("';--") == names("significant")


def test_words_narrow_and_a_minus_excludes() -> None:
    assert names("all", "bm_slower -/1") == ["BM_Slower/2"]


def test_no_change_is_drawn_in_the_middle_and_the_floor_around_it() -> None:
    table = lay_out([comparison(1, "BM", 1.0, "same")], "all", ALL_WORDS, 0.01)
    bar = table.rows[0].bar
    assert bar is not None
    assert bar.centre == WIDTH / 2
    assert table.floor_left < bar.left < bar.centre < bar.right < table.floor_right


def test_an_interval_beyond_the_scale_is_cut_and_says_so() -> None:
    table = lay_out([comparison(1, "BM", 53.0, "faster")], "all", ALL_WORDS, 0.01)
    bar = table.rows[0].bar
    assert bar is not None
    assert (bar.is_cut_right, bar.is_centre_cut, bar.is_cut_left) == (True, True, False)
    assert bar.right == WIDTH


def test_one_huge_effect_leaves_the_others_readable() -> None:
    small = [comparison(k, f"BM/{k}", 1.02, "faster") for k in range(8)]
    table = lay_out([*small, comparison(99, "BM/99", 53.0, "faster")], "all", ALL_WORDS, 0.01)
    assert table.scale < 0.05


def test_a_row_without_a_ratio_has_no_bar_but_its_reason() -> None:
    row = lay_out(ROWS, "broken", ALL_WORDS, 0.01).rows[0]
    assert (row.bar, row.change, row.reason) == (None, "", "boom")


def test_an_interval_is_written_as_its_ratio_is() -> None:
    """Also one that reaches below twofold: "×2.42 [+35.2, +164.0]" reads as two different things."""
    row = comparison(1, "BM_a", 2.42, "faster", low=1.352, high=2.64)
    assert interval_of(row) == "[×1.35, ×2.64]"
