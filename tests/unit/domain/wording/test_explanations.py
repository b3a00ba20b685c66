from __future__ import annotations

from dataclasses import replace

from service.domain.building.findings import Finding
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, Part
from service.domain.wording.explanations import (
    are_told,
    causes_on_lines,
    causes_told,
    explanation,
    known_why,
    why_slower,
)

LOCKS = Cause(Kind.LOCKS, "Cache::get", 1.0, 2.0)
BLAMED = [f"BM_{name}" for name in "abcde"]
LINE = "{}: 100 % more locks (1 → 2 per iteration), in Cache::get"


def explained(*names: str) -> list[Explanation]:
    return [Explanation("bench", name, 0.1, causes=(LOCKS,)) for name in names]


def test_a_reply_has_benchmarks_with_a_cause() -> None:
    found = [Explanation("bench", "BM_a", obstacle="no Valgrind"), *explained("BM_b")]
    assert causes_told(found) == (LINE.format("BM_b"),)


def test_a_message_names_three_benchmarks_and_counts_the_others() -> None:
    *lines, more = causes_told(explained(*BLAMED))
    assert lines == [LINE.format(name) for name in BLAMED[:3]]
    assert more == "and 2 more, on the page of the build"


def test_what_is_known_has_no_obstacle_and_nothing_is_empty() -> None:
    [found] = explained("BM_a")
    told = LINE.format("BM_a").removeprefix("BM_a: ")
    assert known_why(replace(found, obstacle="it has several threads")) == told
    assert known_why(Explanation("bench", "BM_a", obstacle="it has several threads")) == ""


def test_a_message_has_a_header_the_lines_and_a_link_at_last() -> None:
    lines = causes_told(explained("BM*x*", "BM_a"))
    message = why_slower(lines, "https://ci/job/perf/1/#why")
    first = LINE.format(r"BM\*x\*")
    assert message.split("\n\n") == [
        "Slow-Down Explained ",
        first,
        LINE.format("BM_a"),
        "https://ci/job/perf/1/#why",
    ]
    assert are_told(lines, message)
    assert not are_told(lines, message.replace(first, ""))


def test_a_comment_on_a_line_says_what_grew_there_without_numbers_and_once() -> None:
    inlined, vectors = (Cause(kind, "mix", 0.0, 3.0) for kind in (Kind.INLINING, Kind.VECTORISATION))
    cache, mix = ("src/cache.cpp", 7), ("src/mix.cpp", 8)
    found = [replace(each, touched=cache) for each in explained("BM_a", "BM_b")]
    found += [replace(found[0], touched=mix, causes=(inlined,))]
    found += [replace(found[0], touched=("src/mix.cpp", 9), causes=(vectors,))]
    found += [replace(found[0], touched=("src/put.cpp", 3), slowdown=0.0)]
    found += [replace(found[0], touched=("", 7)), *explained("BM_c")]
    assert causes_on_lines(found) == (
        Finding("src/cache.cpp", 7, "a benchmark is slower: more locks here, in Cache::get"),
        Finding("src/mix.cpp", 8, "a benchmark is slower: mix is no longer inlined here"),
        Finding("src/mix.cpp", 9, "a benchmark is slower: lost vectorisation here, in mix"),
        Finding("src/put.cpp", 3, "a benchmark is worse: more locks here, in Cache::get"),
    )


def test_a_rare_event_that_is_new_has_no_percentage() -> None:
    found = Explanation("bench", "BM_a", causes=(Cause(Kind.SYSTEM_CALLS, "f", 0.0, 0.004),))
    assert causes_told([found]) == ("BM_a: new system calls (0 → 0.004 per iteration), in f",)


def test_two_benchmarks_with_one_name_come_with_their_suites() -> None:
    both = [replace(each, suite=suite) for suite in ("bench", "other") for each in explained("BM_a")]
    assert causes_told(both) == (LINE.format("BM_a in bench"), LINE.format("BM_a in other"))


def test_of_a_benchmark_that_is_a_thousand_times_as_slow_functions_have_shares() -> None:
    part = Part("Mock::log", 498.5, 448.65, 548.35)
    assert explanation(Explanation("bench", "BM_a", sampled=997.0, parts=(part,))) == (
        "BM_a: mostly Mock::log, 50 % of the slow-down [45, 55]"
    )


def test_the_sentence_of_two_functions_does_not_begin_with_a_name() -> None:
    """Pages write its first letter large, and functions have names of their own case."""
    parts = Part("kv::hash", 0.04, 0.03, 0.05), Part("kv::find", 0.03, 0.02, 0.04)
    assert explanation(Explanation("bench", "BM_a", sampled=0.1, parts=parts)) == (
        "BM_a: partly kv::hash, +4.0 of +10.0 points [+3.0, +5.0] "
        "and kv::find, +3.0 of +10.0 points [+2.0, +4.0]"
    )
