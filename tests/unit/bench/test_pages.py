"""Page loads with and without access control: the same pages, and the ratio of their times."""

from __future__ import annotations

import asyncio

import click
import pytest

from bench.pages import PAGES, Compared, Page, load, ratio_line, without_access_control
from tests.support.access.callers import Callers
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.web import build_app


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_baseline_answers_alike(page: Page) -> None:
    app = build_app(sample_project())
    path = page.path.format(change=REGRESSION, series=1)
    assert asyncio.run(load(without_access_control(app), path)) == asyncio.run(load(app, path))


def test_the_baseline_checks_no_rights() -> None:
    app = build_app(sample_project(), access=Callers().access(rights={}))
    with pytest.raises(click.ClickException, match="/machines answers 403"):
        asyncio.run(load(app, "/machines"))
    assert b"<html" in asyncio.run(load(without_access_control(app), "/machines", encoding="identity"))


def test_pages_that_differ_are_not_compared() -> None:
    other = sample_project()
    other.patch_set_rows.clear()
    compared = Compared(build_app(sample_project()), without_access_control(build_app(other)), 1, 1)
    with pytest.raises(click.ClickException, match="/ differs without access control"):
        asyncio.run(compared.times(Page("list of changes", "/"), 1))


@pytest.mark.parametrize(("slower", "verdict"), [(1.0, "met"), (1.04, "met"), (1.06, "MISSED")])
def test_the_line_of_a_page_has_its_ratio_and_the_goal(slower: float, verdict: str) -> None:
    bare = [0.010 + k * 1e-6 for k in range(40)]
    line = ratio_line("machines", bare, [seconds * slower for seconds in bare])
    assert f"ratio {slower:.3f} [{slower:.3f}, {slower:.3f}]" in line
    assert line.endswith(f"goal <= 1.05: {verdict}")
