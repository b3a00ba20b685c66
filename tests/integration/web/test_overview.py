"""The list of changes: find one, and what needs somebody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from service.domain.trunk.regression import RegressionList
from tests.support.reading.sample_standings import sample_standings
from tests.support.web import build_pages, call

if TYPE_CHECKING:
    from collections.abc import Mapping

NEW, OPEN, SMALL = RegressionList.NEW, RegressionList.OPEN, RegressionList.SMALL


def page(query: str = "", regressions: Mapping[RegressionList, int] | None = None) -> str:
    app = build_pages(sample_standings(), regressions=regressions or {})
    return call(app, "GET", f"/{query}").text


def changes_in(text: str) -> int:
    return len(re.findall(r'<a href="/changes/\d+"><bdi>', text))


def test_words_find_changes_and_stay_in_the_field() -> None:
    everything = changes_in(page())
    assert everything > 1
    assert changes_in(page("?q=no+such")) == 0
    assert "No change matches." in page("?q=no+such")
    found = page("?q=%3Cb%3E&cursor=")
    assert "<b>" not in found


@pytest.mark.parametrize(
    ("regressions", "sentence"),
    [
        ({NEW: 1}, "1 new regression"),
        ({NEW: 3, OPEN: 2, SMALL: 9}, "3 new regressions, and 2 open"),
        ({OPEN: 2}, "2 open regressions"),
    ],
)
def test_the_first_page_says_what_merged_commits_made_slower(
    regressions: Mapping[RegressionList, int], sentence: str
) -> None:
    text = re.sub("<[^>]+>", "", page(regressions=regressions))
    assert f"{sentence}: merged commits that made benchmarks slower." in text
    assert "made benchmarks slower" not in page("?q=x", regressions)


def test_without_any_the_page_begins_with_the_changes() -> None:
    assert "made benchmarks slower" not in page(regressions={SMALL: 9})
