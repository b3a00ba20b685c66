from __future__ import annotations

from typing import TYPE_CHECKING

from service.cli.local.listing import listing_to_mapping, print_listing
from service.domain.measuring.listing import Listing
from service.domain.values.identity import Side
from service.steps.runs.list_benchmarks import ListedJob, ListedSuite

if TYPE_CHECKING:
    import pytest

SLOW = ListedSuite(Listing("slow", ("a", "gone"), ("a", "b")), {Side.BASE: 24.0, Side.PATCH: 25.0}, 12)
NOT_CHOSEN = ListedSuite(Listing("other", (), (), not_chosen=("x",)), {}, None)
OUTLOOK = "a pair of launches takes 50 s"
JOB = ListedJob("perf", (SLOW, NOT_CHOSEN), 600.0, 50.0, 16, OUTLOOK, {}, ("suite slow needs 4 CPUs",))


def test_a_listing_shows_each_suite_with_the_pairs_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    print_listing(JOB)

    assert capsys.readouterr().out == (
        "perf\n"
        "  suite  benchmarks  base launch  patch launch  pairs in 10 min\n"
        "  slow            3         24 s          25 s               12\n"
        "  other      0 of 1\n"
        "  all             3         24 s          25 s               12\n"
        "  a pair of launches takes 50 s\n"
        "  suite slow needs 4 CPUs\n"
        "benchmarks of slow:\n"
        "  a\n"
        "  b (new)\n"
        "  gone (removed)\n"
    )


def test_a_listing_without_a_common_benchmark_has_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    new = ListedSuite(Listing("s", (), ("b",)), {}, None)
    job = ListedJob("perf", (new,), 600.0, 0.0, 14, OUTLOOK, {})
    print_listing(job)

    assert "  the two sides have no benchmark in common, so no launch was timed\n" in capsys.readouterr().out
    found = listing_to_mapping(job)
    assert (found["pairs"], found["pair_seconds"]) == (None, None)
