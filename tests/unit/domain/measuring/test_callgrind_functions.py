from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.callgrind_functions import MOST, MOST_BYTES, FunctionCount, functions
from service.domain.measuring.function_names import LONGEST, file_name, function_name, shown_name
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind"
ALLOC = (SAMPLES / "v3.19.0_toy_alloc.out").read_bytes()
END = "desc: Trigger: --dump-before=benchmark::State::FinishKeepRunning()"
PROGRAM, LIBRARY = "ob=(1) /build/bench", "ob=(2) /lib/libc.so.6"


def loop(*lines: str, total: int) -> bytes:
    return "\n".join(
        ("# callgrind format", "part: 1", END, "events: Ir", *lines, f"totals: {total}", "")
    ).encode()


def recorded(cause: str) -> tuple[FunctionCount, ...]:
    return functions((SAMPLES / f"v3.19.0_toy_{cause}.out").read_bytes())


@pytest.mark.parametrize(
    ("cause", "of_middle"),
    [
        ("base", {"middle": 14_693_140}),
        ("more", {"middle": 16_550_622}),
        ("stride", {"middle": 14_936_250}),
        ("branch", {"middle": 15_086_459}),
        ("noinl", {"middle": 9_202_908, "step called by middle": 5_158_296}),
        ("alloc", {"middle": 7_729_722, "free": 6_246_240, "malloc": 2_910_180}),
    ],
)
def test_a_recorded_loop_shows_the_cost_of_a_function_and_of_what_it_calls(
    cause: str, of_middle: dict[str, int]
) -> None:
    found = {
        f"{each.name} called by middle"
        if each.caller == "middle"
        else each.library or each.name: each.instructions
        for each in recorded(cause)
        if "middle" in {each.name, each.caller}
    }
    assert found == of_middle


def test_the_functions_add_up_to_the_loop() -> None:
    assert f"totals: {sum(each.instructions for each in recorded('alloc'))}\n".encode() in ALLOC


def test_a_library_that_calls_back_gets_only_its_own_instructions() -> None:
    dumps = loop(
        PROGRAM, "fn=(1) sorted(int)", "1 10", "cob=(2) /lib/libc.so.6", "cfn=(2) qsort", "calls=1 0", "* 90",
        "fn=(3) less", "1 60",
        "ob=(2)", "fn=(2)", "1 30", "cob=(1)", "cfn=(3)", "calls=9 0", "* 60",
        total=100,
    )  # fmt: skip
    assert [each[:3] for each in functions(dumps)] == [
        ("less", 60, ""),
        ("sorted", 30, "qsort"),
        ("sorted", 10, ""),
    ]


def test_a_library_that_several_functions_call_is_divided_by_the_costs_of_their_calls() -> None:
    dumps = loop(
        PROGRAM, "fn=(1) a", "cob=(2) /lib/libc.so.6", "cfn=(2) malloc", "calls=1 0", "* 30",
        "fn=(3) b", "cob=(2)", "cfn=(2)", "calls=9 0", "* 10",
        "ob=(2)", "fn=(2)", "1 15", "cfn=(4) _int_malloc", "calls=10 0", "* 25", "fn=(4)", "1 25",
        total=40,
    )  # fmt: skip
    assert [each[:3] for each in functions(dumps)] == [("a", 30, "malloc"), ("b", 10, "malloc")]


def test_a_library_of_the_build_is_part_of_the_program() -> None:
    dumps = loop("ob=(1) /build/libparser.so.2", "fn=(1) parse", "1 7", total=7)
    assert functions(dumps) == (FunctionCount("parse", 7),)


def test_a_recursion_is_one_function() -> None:
    dumps = loop(
        PROGRAM, "fn=(1) walk(int)", "1 5", "cfn=(2) walk(int)'2", "calls=1 0", "* 9",
        "fn=(2)", "1 4", "cfn=(2)", "calls=7 0", "* 50",
        total=9,
    )  # fmt: skip
    assert functions(dumps) == (FunctionCount("walk", 9),)


def test_libraries_that_call_each_other_without_end_lose_nothing() -> None:
    dumps = loop(
        LIBRARY, "fn=(1) ping", "1 5", "cfn=(2) pong", "calls=1 0", "* 9",
        "fn=(2)", "1 4", "cfn=(1)", "calls=7 0", "* 50",
        total=9,
    )  # fmt: skip
    assert sum(each.instructions for each in functions(dumps)) == 9


def test_only_the_last_loop_counts() -> None:
    first, last = loop(PROGRAM, "fn=(1) f", "1 5", total=5), loop("ob=(1)", "fn=(1)", "1 70", total=70)
    end = b"part: 3\ndesc: Trigger: Program termination\nob=(1)\nfn=(1)\n1 900\ntotals: 900\n"
    assert functions(first + last + end) == (FunctionCount("f", 70),)


def test_a_truncated_dump_is_refused() -> None:
    whole = (SAMPLES / "v3.19.0_toy_base.out").read_bytes()
    for end in (whole.index(b"fn=(4366)"), whole.index(b"totals:"), whole.index(b"totals:") + 9):
        with pytest.raises(BadResults, match="do not add up"):
            functions(whole[:end])


def test_the_caller_is_the_function_of_another_name_with_the_costliest_calls() -> None:
    calls = [("f", 90), ("malloc", 80), ("a", 10), ("b", 20), ("c", 5)]
    lines = []
    for n, (by, cost) in enumerate(calls, 1):
        lines += [LIBRARY if by == "malloc" else PROGRAM, f"fn=({n}) {by}"]
        lines += ["cob=(1)", "cfn=(9) f(int)", "calls=1 0", f"* {cost}"]
    found = functions(loop(*lines, PROGRAM, "fn=(9)", "1 7", total=7))
    assert found == (FunctionCount("f", 7, caller="b"),)


@pytest.mark.parametrize(
    "lines",
    [
        ["1 0" + " " * (16 << 20)],
        [f"fn=({n})" for n in range(200_001)],
        [
            line
            for n in range(200_001)
            for line in (f"cfn=({n % 449})", "calls=1 0", f"fn=({n // 449})", "* 1")
        ],
    ],
    ids=["bytes", "functions", "calls"],
)
def test_a_loop_too_large_for_any_real_program_is_refused(lines: list[str]) -> None:
    with pytest.raises(BadResults, match="more than"):
        functions(loop(PROGRAM, *lines, total=0))


def test_a_file_has_the_name_at_the_end_of_its_path() -> None:
    dumps = loop(f"ob=(1) /build/{'d' * 9000}/bench", "fn=(1) ???", "1 7", total=7)
    assert functions(dumps) == (FunctionCount("bench", 7),)


def test_the_largest_of_many_functions_are_kept() -> None:
    lines = [line for n in range(10_000) for line in (f"fn=({n}) f{n}", f"1 {n}")]
    found = functions(loop(PROGRAM, *lines, total=sum(range(10_000))))
    assert [each.name for each in found] == [f"f{n}" for n in range(9999, 9999 - MOST, -1)]


def test_long_names_leave_out_the_smallest_functions() -> None:
    lines = [line for n in range(100, 200) for line in (f"fn=({n}) {n}{'x' * 900}", "1 1")]
    found = functions(loop(PROGRAM, *lines, total=100))
    assert {len(each.name) for each in found} == {LONGEST}
    assert MOST_BYTES - 2 * LONGEST < len(json.dumps(found)) <= MOST_BYTES + 4 * len(found)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("middle(unsigned long)", "middle"),
        ("middle(unsigned long) [clone .isra.0] [clone .part.1]", "middle"),
        ("middle.constprop.0.isra.0", "middle"),
        ("middle.cold", "middle"),
        ("middle(int)'2", "middle"),
        ("malloc@@GLIBC_2.2.5", "malloc"),
        ("(below main)", "(below main)"),
        ("(anonymous namespace)::f(void (*)(int)) const", "(anonymous namespace)::f"),
        ("f(int)::{lambda(int)#1}::operator()(int) const", "f(int)::{lambda(int)#1}::operator()"),
        ("f(int)::table", "f(int)::table"),
        ("f(std::vector<int>&)", "f"),
        ("Shape::partition(int)", "Shape::partition"),
        ("void std::sort<int*, bool (*)(int, int)>(int*, int*)", "std::sort<int*, bool (*)(int, int)>"),
        ("std::pair<int, long> (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<int>"),
        ("bool A::operator< <int>(int) const", "A::operator< <int>"),
        ("Text::operator unsigned long() const", "Text::operator unsigned long"),
        ("operator new[](unsigned long)", "operator new[]"),
        ("void f<(Kind)3 >(int", "void f<(Kind)3 >(int"),
        (")))(((", ")))((("),
        (".cold", ".cold"),
        ("a\u202eb\tc`\x1b[0m", "c`[0m"),
        ("0x000000000002d130", "bench"),
        ("???", "bench"),
        ("", "bench"),
    ],
)
def test_a_name_is_what_both_sides_call_the_function(raw: str, name: str) -> None:
    assert function_name(raw.encode(), file_name(b"/build/bench")) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("std::sort<int*>", "std::sort<int*>"),
        ("std::map<int, std::string>::at<int>", "std::map<…>::at<…>"),
        ("a<" + 40 * "b" + "…::c<d>", "a<bbbb…bbbbbb…::c<d>"),
        ("Class<long_argument>::operator->", "Class<…>::operator->"),
        (30 * "f" + "::g", "ffffff…ffffffffff::g"),
    ],
)
def test_a_long_name_is_shown_without_what_is_in_its_brackets(name: str, shown: str) -> None:
    assert shown_name(name, 20) == shown


def test_long_template_arguments_become_a_digest_that_is_not_shown() -> None:
    names = [function_name(b"void A<int>::f<%s>(int)" % (300 * letter), "") for letter in (b"x", b"y")]
    assert names[0] != names[1]
    assert [len(each) for each in names] == [len("A<…>::f<>") + 16] * 2
    assert {shown_name(each, 60) for each in names} == {"A<…>::f<…>"}


@pytest.mark.parametrize("length", [LONGEST, 5000])
def test_long_names_stay_distinct_and_keep_their_ends(length: int) -> None:
    names = {
        function_name(f"{begin}{'x' * length}{middle}{'x' * length}::find(int) const".encode(), "")
        for begin in ("ns::a", "ns::b")
        for middle in "cd"
    }
    assert len(names) == 4
    for each in names:
        assert len(each) == LONGEST
        assert each.startswith("ns::")
        assert each.endswith("x::find")


@given(
    st.lists(
        st.sampled_from((b"fn=(1) f", b"cfn=(2) g", b"cob=(3) a.so", b"ob=(3)", b"calls=1 0", b"+1 5", b"*"))
    )
)
def test_any_loop_can_be_read_with_its_total(lines: list[bytes]) -> None:
    body = b"\n".join((END.encode(), *lines))
    accepted = []
    for total in range(0, 5 * len(lines) + 5, 5):
        with suppress(BadResults):
            accepted.append(
                (total, sum(each.instructions for each in functions(body + b"\ntotals: %d\n" % total)))
            )
    ((total, found),) = accepted  # one total fits
    assert total == found
