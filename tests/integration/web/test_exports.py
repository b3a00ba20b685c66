"""Exports of a build's comparisons."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from dashboards.verdict.comparison_table import MOST_ROWS
from service.domain.verdict.inference.verdict import Verdict
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_pages, call

READING = sample_project()
ROWS = [(each.build, READING.comparisons(each.build.id, each.build.created_at)) for each in READING.builds]
BOTH = {Verdict.SLOWER, Verdict.SAME}
BUILD, EVERYTHING = next(found for found in ROWS if {row.verdict for row in found[1]} >= BOTH)
ADDRESS = f"/job/{BUILD.job}/{BUILD.number}/comparisons"


def rows(query: str) -> list[dict[str, str]]:
    answer = call(build_pages(READING), "GET", f"{ADDRESS}.csv{query}")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="{BUILD.job}-{BUILD.number}.csv"' in answer.headers["content-disposition"]
    return [*csv.DictReader(io.StringIO(answer.text, newline=""))]


def test_the_export_has_the_chosen_rows() -> None:
    assert len(rows("?show=all")) == len(EVERYTHING)
    changed = rows("")
    assert 0 < len(changed) < len(EVERYTHING)
    assert "same" not in {row["verdict"] for row in changed}
    slower = sum(row.verdict is Verdict.SLOWER for row in EVERYTHING)
    assert len(rows("?show=slower")) == slower
    assert rows("?q=no-such-benchmark") == []


def test_the_export_has_all_rows_also_those_that_a_page_hides() -> None:
    reading = sample_project()
    many = [replace(EVERYTHING[0], series_id=each, benchmark=f"BM/{each}") for each in range(MOST_ROWS + 2)]
    reading.rows[BUILD.id] = many
    app, query = build_pages(reading), "show=all"
    page = call(app, "GET", f"/job/{BUILD.job}/{BUILD.number}/?{query}").text
    assert "2 rows hidden: the CSV below has them" in page
    for kind, head in (("csv", 1), ("md", 2)):
        answer = call(app, "GET", f"{ADDRESS}.{kind}?{query}")
        assert len(answer.text.splitlines()) == head + len(many)


def test_changes_are_percentages() -> None:
    by_name = {
        (each.benchmark, each.metric): each for each in READING.comparisons(BUILD.id, BUILD.created_at)
    }
    row = next(row for row in rows("") if row["change %"])
    ratio = by_name[row["benchmark"].lstrip("'"), row["metric"]].ratio
    assert ratio is not None
    assert abs(float(row["change %"]) - 100 * (ratio - 1)) < 1e-3


def test_markdown_is_a_table_to_copy() -> None:
    answer = call(build_pages(READING), "GET", f"{ADDRESS}.md?show=all")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[0].startswith("| verdict | benchmark |")
    assert len(lines) == 2 + len(EVERYTHING)


def test_the_page_leads_to_the_exports_of_what_it_shows() -> None:
    page = call(build_pages(READING), "GET", f"/job/{BUILD.job}/{BUILD.number}/?show=all&q=a").text
    assert f'href="{ADDRESS}.csv?show=all&amp;q=a"' in page


def test_an_export_has_the_order_of_the_page() -> None:
    changes = [float(row["change %"]) for row in rows("?show=all&sort=-change") if row["change %"]]
    assert len(changes) > 1
    assert changes == sorted(changes, reverse=True)


def test_the_page_leads_to_the_build_in_the_api() -> None:
    page = call(build_pages(READING), "GET", f"/job/{BUILD.job}/{BUILD.number}/").text
    assert f'href="/api/v1/builds/{BUILD.job}/{BUILD.number}"' in page
