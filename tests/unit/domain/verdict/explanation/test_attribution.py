from __future__ import annotations

import random
from dataclasses import replace
from statistics import fmean

import pytest

from service.domain.measuring.sampled_stacks import Function, Sampled
from service.domain.verdict.explanation.attribution import attribute
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, Part
from service.domain.wording.explanations import causes_told, explanation

LOOP, MALLOC = Function("BM"), Function("malloc", is_library=True)
HASH, WORK = Function("hash"), Function("work")
Stacks = dict[tuple[Function, ...], int]
BASE: Stacks = {(LOOP, WORK): 600, (LOOP, HASH): 300, (LOOP, HASH, MALLOC): 100}


def launches(time: float, stacks: Stacks, seed: int = 1) -> list[Sampled]:
    """Six launches; times scatter by a percent, samples by eight."""
    draw = random.Random(seed)  # noqa: S311 - repeatable on purpose
    return [
        Sampled(
            {stack: round(max(draw.gauss(count, 8), 0)) for stack, count in stacks.items()},
            time * draw.gauss(1, 0.01),
        )
        for _ in range(6)
    ]


def test_the_function_that_grew_is_the_part_with_what_it_calls_of_libraries() -> None:
    patch: Stacks = {(LOOP, WORK): 500, (LOOP, HASH): 300, (LOOP, HASH, MALLOC): 200}
    found = attribute(launches(1.0, BASE), launches(1.2, patch, 2), 0.2)
    (part,) = found.parts
    assert part.function == "hash"
    assert part.growth == pytest.approx(0.2, abs=0.02)
    assert part.low < part.growth < part.high
    assert found.sampled == pytest.approx(0.2, abs=0.02)
    assert {each.frames for each in found.stacks} == {
        ("BM", "work"),
        ("BM", "hash"),
        ("BM", "hash", "malloc"),
    }
    assert sum(each.base for each in found.stacks) == pytest.approx(1)
    assert sum(each.patch for each in found.stacks) == pytest.approx(1.2, abs=0.02)


def test_the_interval_is_that_of_welch() -> None:
    """Times 1, 2, 3 and 14, 16, 18 differ by 14 ± 4.155, by SciPy's ttest_ind without equal variances."""
    base, patch = (
        [Sampled({(LOOP,): 10}, each) for each in of] for of in ((1.0, 2.0, 3.0), (14.0, 16.0, 18.0))
    )
    (part,) = attribute(base, patch, 7.0).parts
    assert part[1:4] == pytest.approx((7, 7 - 4.155 / 2, 7 + 4.155 / 2), abs=1e-3)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    for seed in range(200):
        patch: Stacks = {(LOOP, WORK): 600, (LOOP, HASH): 440, (LOOP, HASH, MALLOC): 160}
        found = attribute(launches(1.0, BASE, seed), launches(1.2, patch, -1 - seed), 0.2)
        part = next(each for each in found.parts if each.function == "hash")
        held += part.low <= 0.2 <= part.high
    assert 0.9 <= held / 200 <= 0.99


def test_programs_that_are_alike_have_no_parts() -> None:
    named = [attribute(launches(1.0, BASE, k), launches(1.0, BASE, 99 + k), 0.01).parts for k in range(200)]
    assert fmean(len(each) for each in named) < 0.1


def test_of_many_functions_none_that_did_not_grow_is_named() -> None:
    """One of eighty equal functions grew; without a correction, one or two others would be named."""
    old: Stacks = {(LOOP, Function(f"f{k}")): 100 for k in range(80)}
    new: Stacks = {**old, (LOOP, Function("f0")): 500}
    found = [attribute(launches(1.0, old, k), launches(1.05, new, -1 - k), 0.05).parts for k in range(20)]
    named = [each.function for parts in found for each in parts]
    assert (named.count("f0"), len(named) <= 21) == (20, True)


def test_a_benchmark_that_did_not_surely_grow_has_no_parts() -> None:
    old, new = launches(1.0, BASE), launches(1.03, {**BASE, (LOOP, HASH): 400}, 2)
    assert [each.function for each in attribute(old, new, 0.03).parts] == ["hash"]
    scattered = [each._replace(time=each.time * (1 + 0.2 * (-1) ** k)) for k, each in enumerate(new)]
    assert attribute(old, scattered, 0.03).parts == ()


@pytest.mark.parametrize("slowdown", [-0.1, 0.02, 0.9])
def test_launches_that_contradict_the_slow_down_name_no_function(slowdown: float) -> None:
    patch: Stacks = {**BASE, (LOOP, HASH): 500}
    found = attribute(launches(1.0, BASE), launches(1.2, patch, 2), slowdown)
    assert (found.parts, bool(found.stacks)) == ((), True)


def test_a_benchmark_that_did_not_grow_has_no_parts() -> None:
    patch: Stacks = {**BASE, (LOOP, WORK): 500, (LOOP, HASH): 400}
    assert attribute(launches(1.0, BASE), launches(0.98, patch, 2), 0.01).parts == ()


def test_a_renamed_function_grew_only_by_the_difference() -> None:
    patch: Stacks = {(LOOP, Function("lib::hash")): 300, (LOOP, WORK): 500}
    base: Stacks = {(LOOP, HASH): 300, (LOOP, WORK): 300}
    old, new = launches(0.6, base), launches(0.8, patch, 2)
    found = attribute(old, new, 1 / 3)
    assert [each.function for each in found.parts] == ["work"]
    assert {each.frames: each.base > 0 for each in found.stacks} == {
        ("BM", "lib::hash"): True,
        ("BM", "work"): True,
    }


def test_code_that_moved_to_a_function_of_its_own_did_not_grow() -> None:
    grown, part = Function("grown"), Function("part")
    old: Stacks = {(LOOP, WORK): 800, (LOOP, grown): 150}
    new: Stacks = {(LOOP, WORK): 350, (LOOP, WORK, part): 450, (LOOP, grown): 250}
    found = attribute(launches(1.0, old), launches(1.1, new, 2), 0.1)
    assert [each.function for each in found.parts] == ["grown"]
    back = attribute(launches(1.05, new), launches(1.15, {(LOOP, WORK): 920, (LOOP, grown): 250}, 2), 0.1)
    (joined,) = back.parts
    assert joined.function == "work"
    assert joined.growth == pytest.approx(0.11, abs=0.03)


def test_a_new_function_with_a_large_part_of_its_callers_growth_is_named() -> None:
    part, parse = Function("part"), Function("parse")
    old: Stacks = {(LOOP, WORK): 500, (LOOP, parse): 500}
    patch: Stacks = {(LOOP, WORK): 500, (LOOP, WORK, part, MALLOC): 300, (LOOP, parse): 550}
    new = attribute(launches(1.0, old), launches(1.35, patch, 2), 0.35).parts
    assert [(each.function, each.new_callee) for each in new] == [("work", "part"), ("parse", "")]
    told = explanation(Explanation("s", "b", sampled=0.35, parts=new))
    assert told.startswith("b: mostly work, which calls the new part, +")


@pytest.mark.parametrize(("own", "body", "callee"), [(700, 200, ""), (600, 300, "body")])
@pytest.mark.parametrize("name", ["work", "lib::work"])
def test_a_function_that_has_what_one_of_the_parent_had_is_not_named(
    name: str, own: int, body: int, callee: str
) -> None:
    work, helper, header, new = (Function(each) for each in (name, "helper", "header", "body"))
    old: Stacks = {(LOOP, WORK): 600, (LOOP, WORK, helper): 400}
    patch: Stacks = {(LOOP, work): own, (LOOP, work, header): 200, (LOOP, work, new): body}
    (part,) = attribute(launches(1.0, old), launches(1.1, patch, 2), 0.1).parts
    assert (part.function, part.new_callee) == (name, callee)


def test_the_ten_largest_functions_come_first() -> None:
    names = [Function(f"f{k}") for k in range(12)]
    old: Stacks = {(LOOP, each): 100 for each in names}
    new: Stacks = {(LOOP, each): 400 + 50 * k for k, each in enumerate(names)}
    found = attribute(launches(1.2, old), launches(8.1, new, 2), 5.75).parts
    assert [each.function for each in found] == [f"f{k}" for k in range(11, 1, -1)]


def test_sentences_say_how_much_of_the_slow_down_a_function_holds() -> None:
    part = Part("HashTable::find", 0.098, 0.091, 0.104)
    found = Explanation("s", "b", sampled=0.123, parts=(part, part._replace(function="g", growth=0.01)))
    mostly = "b: mostly HashTable::find, +9.8 of +12.3 points [+9.1, +10.4]"
    assert explanation(found) == mostly
    cause = Cause(Kind.BRANCH_MISSES, "HashTable::find", 3, 3.9)
    misses = "30 % more branch misses (3 → 3.9 per iteration)"
    assert explanation(replace(found, causes=(cause,))) == f"{mostly}: {misses}"
    elsewhere = replace(found, causes=(cause._replace(function="g"),))
    assert explanation(elsewhere) == f"{mostly}: {misses}, in g"
    assert explanation(replace(found, obstacle="no time")) == f"{mostly}; not complete: no time"
    two = replace(found, sampled=0.3)
    bounds = "points [+9.1, +10.4]"
    assert (
        explanation(two) == f"b: partly HashTable::find, +9.8 of +30.0 {bounds} and g, +1.0 of +30.0 {bounds}"
    )


def test_a_function_that_surely_grew_by_more_than_the_benchmark_explains_it() -> None:
    found = Explanation("s", "b", sampled=0.1, parts=(Part("grown", 0.38, 0.36, 0.4),))
    sentence = "b: mostly grown, +38.0 points [+36.0, +40.0], with −28.0 elsewhere"
    assert explanation(found) == sentence
    assert causes_told([found]) == (sentence,)
    perhaps = replace(found, parts=(Part("grown", 0.12, 0.09, 0.15),))
    assert explanation(perhaps) == "b: mostly grown, +12.0 of +10.0 points [+9.0, +15.0]"
