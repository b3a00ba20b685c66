"""Lines about claims of commit messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.claims.answers import Answer, AnsweredClaim, Obstacle
from service.domain.claims.values import NearName
from service.domain.values.text import unsafe_in
from service.domain.wording.claims import claims_sentence, claims_told, names_told
from tests.support.reading.claimed import CONFIRMED as CONFIRMED_CLAIM
from tests.support.reading.claimed import NO_BENCHMARK

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTILE = (
    "`@all`",
    "**BM_a**",
    "[x](https://evil.example)",
    "<img src=x>",
    "a\n\nBuild Successful",
    "` ` `",
    "",
)
CONFIRMED, SMALLER, OPPOSITE = Answer.CONFIRMED, Answer.SMALLER, Answer.OPPOSITE
LATER = "; what a filter leaves out may follow on the page"
NOT_REPRODUCED, UNKNOWN = Answer.NOT_REPRODUCED, Answer.NOT_MEASURABLE


def answered(
    name: str, answer: Answer, metric: str = "real_time", compared: str = "real_time"
) -> AnsweredClaim:
    if answer is UNKNOWN:
        return replace(NO_BENCHMARK, benchmark=name, metric=metric)
    found = replace(CONFIRMED_CLAIM, benchmark=name, answer=answer, metric=metric, measured_metric=compared)
    return replace(found, claimed=0.82, ratio=0.939, low=0.93, high=0.948)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ((), ""),
        ((CONFIRMED,), "1 of 1 benchmark confirmed"),
        (
            (CONFIRMED, SMALLER, CONFIRMED, UNKNOWN),
            "2 of 4 benchmarks confirmed, 1 smaller than claimed, 1 not measurable here",
        ),
        ((UNKNOWN,) * 4, "none of 4 benchmarks is answered: no benchmark of this name was measured"),
        ((UNKNOWN,), "the benchmark is not answered: no benchmark of this name was measured"),
    ],
)
def test_the_sentence_counts_benchmarks(answers: tuple[Answer, ...], said: str) -> None:
    found = [answered(f"BM_{number}", each) for number, each in enumerate(answers)]
    assert claims_sentence(found).removeprefix("Claims of the commit message: ") == said


def test_several_reasons_to_answer_nothing_are_left_to_the_page() -> None:
    found = [answered("BM_a", UNKNOWN), replace(answered("BM_b", UNKNOWN), obstacle=Obstacle.SMALL)]
    assert claims_sentence(found) == "Claims of the commit message: none of 2 benchmarks is answered"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ((CONFIRMED,), "1 of 1 benchmark confirmed"),
        ((UNKNOWN, CONFIRMED, OPPOSITE), f"1 of 3 benchmarks confirmed, 1 opposite, 1 not compared{LATER}"),
        ((UNKNOWN,) * 4, f"none of 4 benchmarks is compared{LATER}"),
        ((UNKNOWN,), f"the benchmark is not compared{LATER}"),
    ],
)
def test_what_may_be_measured_later_is_not_called_unmeasurable(
    answers: tuple[Answer, ...], said: str
) -> None:
    found = [answered(f"BM_{number}", each) for number, each in enumerate(answers)]
    sentence, *_ = claims_told(found, may_follow={each.benchmark for each in found})
    assert sentence.removeprefix("Claims of the commit message: ") == said


def test_only_what_may_follow_is_counted_apart() -> None:
    found = [answered(f"BM_{letter}", UNKNOWN) for letter in "abc"]
    sentence, *_ = claims_told(found, may_follow={"BM_b", "BM_of_another_message"})
    assert sentence.endswith(f": 0 of 3 benchmarks confirmed, 2 not measurable here, 1 not compared{LATER}")


def test_clocks_and_rates_of_a_benchmark_are_one_fact() -> None:
    found = [
        answered("BM_a", SMALLER, "items_per_second"),
        answered("BM_a", CONFIRMED),
        answered("BM_a", SMALLER, "cpu_time"),
        answered("BM_b", UNKNOWN),
        answered("BM_b", CONFIRMED, "items_per_second"),
    ]
    assert claims_told(found) == ("Claims of the commit message: 2 of 2 benchmarks confirmed",)


def test_the_worst_two_have_lines() -> None:
    found = [
        answered("HTB/Find/threads:1", SMALLER),
        answered("BM_b", NOT_REPRODUCED, "PeakBytes", "PeakBytes"),
        answered("BM_c", OPPOSITE),
    ]
    assert claims_told(found[:1])[1:] == (
        "`HTB/Find/threads:1`: claimed −18.0 % real time, measured −6.1 % [−7.0, −5.2]: smaller than claimed",
    )
    assert claims_told(found)[1:] == (
        "`BM_c`: claimed −18.0 % real time, measured −6.1 % [−7.0, −5.2]: opposite",
        "`BM_b`: claimed −18.0 % `PeakBytes`, measured −6.1 % [−7.0, −5.2]: not reproduced",
    )


def renamed(name: str, answer: Answer, new: str = "BM_new/64") -> AnsweredClaim:
    return replace(answered(name, answer), measured_benchmark=new)


def near(name: str, *others: str, differs: Sequence[str] = ("fixture", "threads")) -> AnsweredClaim:
    return replace(answered(name, UNKNOWN), near=tuple(NearName(each, tuple(differs)) for each in others))


def test_an_adverse_answer_names_what_was_measured() -> None:
    assert claims_told([renamed("BM_old/64", SMALLER)])[1:] == (
        (
            "`BM_old/64`, measured as `BM_new/64`: claimed −18.0 % real time, measured −6.1 % [−7.0, −5.2]: "
            "smaller than claimed"
        ),
    )


def test_another_metric_that_answers_is_named() -> None:
    assert claims_told([answered("BM_a", SMALLER, "items_per_second", "cpu_time")])[1:] == (
        "`BM_a`: claimed −18.0 % items/s, measured −6.1 % [−7.0, −5.2] by CPU time: smaller than claimed",
    )


def test_other_names_come_after_the_worst_answers() -> None:
    found = [
        answered("BM_a", CONFIRMED),
        answered("BM_gone", UNKNOWN),
        near("HTB/Insert/threads:24", "HashTableBench/Insert/threads:2"),
        renamed("BM_old/64", CONFIRMED),
        near("Get", "BM/Get/8", "MB/Get/8", differs=["fixture", "arguments", "real_time"]),
    ]
    assert names_told(found) == (
        (
            "`HTB/Insert/threads:24`: no benchmark of this name was measured; "
            "`HashTableBench/Insert/threads:2` differs in fixture and threads"
        ),
        "`BM_old/64` was measured as `BM_new/64`",
    )
    assert names_told(found[4:]) == (
        (
            "`Get`: no benchmark of this name was measured; "
            "`BM/Get/8` and `MB/Get/8` differ in fixture, arguments and real_time"
        ),
    )
    told = claims_told([answered("BM_b", SMALLER), *found])
    assert (len(told), told[2]) == (3, names_told(found)[0])
    assert names_told(found[:2]) == ()
    assert claims_told(found[2:3], may_follow={found[2].benchmark})[1:] == names_told(found[2:3])


def test_equal_programs_are_named_instead_of_a_ratio() -> None:
    same = replace(answered("BM_a", NOT_REPRODUCED), ratio=None, low=None, high=None)
    expected = "`BM_a`: claimed −18.0 % real time, the program is identical on both sides: not reproduced"
    assert claims_told([same])[1] == expected


@given(st.sampled_from(HOSTILE) | st.text(max_size=1000))
def test_a_name_stays_code_on_one_short_line(name: str) -> None:
    counter = f"{name}!"  # no time and no rate
    line = claims_told([answered(name, SMALLER, counter, counter)])[1]
    outside = line.split("`")[::2]
    assert outside == ["", ": claimed −18.0 % ", ", measured −6.1 % [−7.0, −5.2]: smaller than claimed"]
    assert "\n" not in line
    assert unsafe_in(line) == set()
    assert len(line) < 300


@given(st.sampled_from(HOSTILE) | st.text(max_size=1000))
def test_other_names_stay_code_on_short_lines(name: str) -> None:
    lines = names_told([near(name, name, name), renamed("BM_a", CONFIRMED, f"{name}!")])
    assert [line.split("`")[::2] for line in lines] == [
        ["", ": no benchmark of this name was measured; ", " and ", " differ in fixture and threads"],
        ["", " was measured as ", ""],
    ]
    assert all("\n" not in line and unsafe_in(line) == set() and len(line) < 450 for line in lines)
