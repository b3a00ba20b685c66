from __future__ import annotations

import pytest

from service.domain.wording.outlook import cost, expected_duration, noise

BLAME = "will hardly be found in the machine time; `benchgate doctor` reports sources of noise"


def test_enough_pairs_are_stated_beside_the_least_that_find_a_difference() -> None:
    takes = "a pair of launches takes 0.25 s: machine_time (10 min) is about 2400 pairs"

    assert cost(0.25, 600.0, 14) == f"{takes}, and 14 are needed to find a difference"


def test_too_few_pairs_come_with_a_remedy() -> None:
    takes = "a pair of launches takes 48 s: machine_time (10 min) is about 12 pairs"
    remedy = "raise machine_time in benchgate.yaml, or measure less in a launch"

    assert cost(48.0, 600.0, 18) == f"{takes}, and 18 are needed to find a difference; {remedy}"


def test_a_long_set_up_is_named_because_measuring_less_does_not_shorten_it() -> None:
    assert cost(48.0, 600.0, 18, 34.0) == (
        "a pair of launches takes 48 s, 71 % of it to set up the programs: machine_time (10 min) is about 12 "
        "pairs, and 18 are needed to find a difference; raise machine_time in benchgate.yaml"
    )


def test_a_formerly_longer_set_up_is_at_most_all_of_a_pair() -> None:
    assert "takes 3 s, 100 % of it to set up the programs" in cost(3.0, 600.0, 14, 4.0)


def test_noise_is_a_range_if_benchmarks_differ() -> None:
    assert noise(0.2, 0.5, 0.15) == f"pairs vary by 20 % to 50 %: a change below 15 % {BLAME}"
    assert noise(0.2, 0.2, 0.15) == f"pairs vary by 20 %: a change below 15 % {BLAME}"


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        ([70, 65, 300, 71, 2], "About 1 h 10 min, as the last 5 runs on master took."),
        ([120, 120, 120, 120], "About 2 h, as the last 4 runs on master took."),
        ([45, 44, 46], "About 45 min, as the last 3 runs on master took."),
        ([0.1, 0.1, 0.1], "About 1 min, as the last 3 runs on master took."),
        ([59.6, 59.6, 59.6], "About 1 h, as the last 3 runs on master took."),
    ],
)
def test_the_expected_duration_is_the_median_of_the_last_runs(minutes: list[float], words: str) -> None:
    assert expected_duration([each * 60 for each in minutes], "master") == words


def test_fewer_than_three_runs_promise_nothing() -> None:
    assert expected_duration([60.0, 60.0], "master") == ""
