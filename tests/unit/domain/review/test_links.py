from __future__ import annotations

from service.domain.review.links import Links
from service.domain.values.identity import BuildName, ChangeKey

CHANGE = ChangeKey("core", 7)


def test_pages_are_below_the_base() -> None:
    links = Links("https://bench.example/perf/")
    assert links.run(3) == "https://bench.example/perf/runs/3"
    assert links.decision(3, 2) == "https://bench.example/perf/runs/3#v2"
    assert links.build(BuildName("cv", 5)) == "https://bench.example/perf/job/cv/5/"


def test_the_page_of_a_change_has_its_number() -> None:
    links = Links("https://bench.example")
    assert links.change(CHANGE) == "https://bench.example/changes/7"
    assert links.reply(CHANGE, 12) == "https://bench.example/changes/7#m12"


def test_with_several_review_servers_the_page_of_a_change_names_its_server() -> None:
    links = Links("https://bench.example", has_several=True)
    assert links.change(CHANGE) == "https://bench.example/changes/core~7"
    assert links.reply(CHANGE, 12) == "https://bench.example/changes/core~7#m12"
