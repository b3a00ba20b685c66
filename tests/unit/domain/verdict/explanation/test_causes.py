"""Kinds of causes, from reduced dumps of toy.cpp beside them (each built with one cause) and by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from service.domain.measuring.callgrind import Counted, Trial
from service.domain.measuring.callgrind_events import Event, LoopEvents, loop_events
from service.domain.measuring.callgrind_functions import FunctionCount, functions
from service.domain.measuring.disassembly import executed
from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.assembly import Assembly, Line
from service.domain.verdict.explanation.causes import Cause, Kind, causes, more_allocations
from service.domain.verdict.explanation.explanation import Explanation, Part
from service.domain.wording.explanations import explanation

SAMPLES = Path(__file__).parents[4] / "samples" / "callgrind" / "events"
HEADER = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim Ge sysCount sysTime"
BASE_RATE = 1000.0
CALLS = 50.0  # of each function
SLOWER = 0.5


def recorded(cause: str) -> LoopEvents:
    dumps, log = ((SAMPLES / f"{cause}.{end}").read_bytes() for end in ("out", "log"))
    found = loop_events(dumps, log, "BM_Toy")
    if not (listing := SAMPLES / f"{cause}.asm").exists():
        return found
    listed = executed(found.loop.code(), listing.read_bytes(), found.iterations)
    return replace(found, executed=listed)


def named(base: list[LoopEvents], patch: list[LoopEvents], slowdown: float = SLOWER) -> tuple[Cause, ...]:
    return causes(base, patch, slowdown)


def loop(functions: dict[str, tuple[float, str]] | None = None, **events: float) -> LoopEvents:
    """A loop of one iteration in ``work``; functions are their own instructions and callers."""
    rates = {event: events.get(event.name.lower(), 0.0) for event in Event}
    rates[Event.INSTRUCTIONS] = rates[Event.INSTRUCTIONS] or BASE_RATE
    counts = [FunctionCount(name, int(ir), "", by) for name, (ir, by) in (functions or {}).items()]
    total = sum(each.instructions for each in counts)
    counted = Counted(((Trial(1, total),),), functions=tuple(counts))
    calls = dict.fromkeys(functions or (), CALLS)
    divided = {event: {"work": rate} if rate else {} for event, rate in rates.items()}
    return LoopEvents(rates, divided, calls, counted)


def placed(listed: dict[str, float], all_of_it: int = 1000, **events: float) -> LoopEvents:
    """A loop whose program executed ``all_of_it`` instructions itself, and these of the hottest functions."""
    return replace(loop({"work": (all_of_it, "")}, **events), executed=listed)


@pytest.mark.parametrize(
    ("cause", "kind", "function", "base", "patch"),
    [
        ("sys", Kind.SYSTEM_CALLS, "middle", 0, 1),
        ("alloc", Kind.ALLOCATIONS, "middle", 0, 4),
        ("lock", Kind.LOCKS, "middle", 0, 4),
        ("atomic", Kind.ATOMICS, "middle", 0, 8),
        ("inline", Kind.INLINING, "step", 0, 64),
        ("cache", Kind.CACHE_MISSES, "middle", 0, 42.1),
        ("branch", Kind.BRANCH_MISSES, "middle", 1, 31.8),
        ("more", Kind.INSTRUCTIONS, "middle", 655, 975),
    ],
)
def test_the_cause_of_a_recorded_program_comes_first(
    cause: str, kind: Kind, function: str, base: float, patch: float
) -> None:
    first, *_ = named([recorded("base")] * 2, [recorded(cause)] * 2)
    assert (first.kind, first.function) == (kind, function)
    assert (first.base, first.patch) == pytest.approx((base, patch), abs=0.1)


def test_the_same_program_has_no_cause() -> None:
    assert named([recorded("base")] * 2, [recorded("base")] * 2) == ()


@pytest.mark.parametrize("number", range(20))
def test_a_change_without_effect_names_nothing(number: int) -> None:
    """Counts that differ by chance, or far too little to be the cause."""
    few = number / 10
    base = [loop(branch_misses=5.0, l1_misses=3.0 + few), loop(branch_misses=5.0, l1_misses=3.0)]
    patch = [
        loop(branch_misses=5.0 + few / 20, l1_misses=3.0 + 2 * few, instructions=BASE_RATE + number / 2),
        loop(branch_misses=5.0 + few / 20, l1_misses=3.0, instructions=BASE_RATE + number / 2),
    ]
    assert named(base, patch) == ()


def test_an_event_whose_launches_disagree_counts_only_if_it_grew_by_far_more() -> None:
    base = [loop(branch_misses=10.0), loop(branch_misses=12.0)]
    few = [loop(branch_misses=16.0), loop(branch_misses=17.0)]
    many = [loop(branch_misses=28.0), loop(branch_misses=29.0)]
    assert named(base, few) == ()
    assert [each.kind for each in named(base, many)] == [Kind.BRANCH_MISSES]


def test_a_kind_far_below_the_largest_growth_is_not_named() -> None:
    patch = loop(system_calls=1.0, ll_misses=100.0, l1_misses=100.0)
    assert [each.kind for each in named([loop()] * 2, [patch] * 2)] == [Kind.CACHE_MISSES]


@pytest.mark.parametrize(("calls", "is_named"), [(100.0, False), (100.5, False), (110.0, True)])
def test_allocations_are_named_beside_costs_that_grew_by_far_more(calls: float, *, is_named: bool) -> None:
    base = loop(allocations=100.0)
    patch = loop(allocations=calls, instructions=100 * BASE_RATE)
    expected = (Cause(Kind.ALLOCATIONS, "work", 100.0, calls),) if is_named else ()
    assert more_allocations([base] * 2, [patch] * 2) == expected


def test_a_renamed_function_is_no_lost_inlining() -> None:
    base = loop({"main": (500, ""), "old": (500, "main")})
    patch = loop({"main": (450, ""), "new": (550, "main")}, instructions=BASE_RATE)
    assert named([base] * 2, [patch] * 2) == ()


def test_of_two_levels_of_caches_the_one_that_costs_more_is_shown() -> None:
    base, patch = loop(l1_misses=0.97), loop(l1_misses=1.0, ll_misses=0.87)
    (found,) = named([base] * 2, [patch] * 2)
    assert (found.kind, found.base, found.patch) == (Kind.CACHE_MISSES, 0, 0.87)


def test_growth_within_the_scatter_of_the_launches_is_not_named() -> None:
    base, patch = ([loop(instructions=each) for each in side] for side in ((1000, 1019), (1020, 1040)))
    assert named(base, patch) == ()


def test_a_new_function_whose_caller_does_not_shrink_is_no_lost_inlining() -> None:
    base, patch = loop({"main": (1000, "")}), loop({"main": (1060, ""), "new": (400, "main")})
    assert named([base] * 2, [patch] * 2) == ()


def test_a_caller_that_calls_instead_of_computing_shrinks_apart_from_the_calls() -> None:
    base, patch = loop({"main": (1000, "")}), loop({"main": (1000, ""), "new": (400, "main")})
    assert named([base] * 2, [patch] * 2) == (Cause(Kind.INLINING, "new", 0, CALLS),)


def test_a_new_function_that_does_far_more_than_its_caller_did_is_no_lost_inlining() -> None:
    base, patch = (
        loop({"main": (1000, "")}),
        loop({"main": (900, ""), "new": (2000, "main")}, instructions=2900),
    )
    assert [each.kind for each in named([base] * 2, [patch] * 2)] == [Kind.INSTRUCTIONS]


def test_a_callable_in_an_object_is_lost_inlining_whatever_becomes_of_its_caller() -> None:
    name = "std::_Function_handler<bool (int), lambda>::_M_invoke"
    base, patch = loop({"main": (1000, "")}), loop({"main": (1900, ""), name: (400, "std::sort")})
    assert [each.function for each in named([base] * 2, [patch] * 2)] == [name]


def test_the_packed_instructions_of_a_loop_are_lost_if_more_others_replace_them() -> None:
    (found,) = named([recorded("vectors")] * 2, [recorded("scalar")] * 2)
    assert found == Cause(Kind.VECTORISATION, "count", 516, 0)
    sentence = "b: lost vectorisation (packed instructions 516 → 0 per iteration), in count"
    assert explanation(Explanation("s", "b", causes=(found,))) == sentence


@pytest.mark.parametrize(
    ("packed", "listed", "kind"),
    [
        (20, 2000, Kind.VECTORISATION),
        (2, 2000, Kind.INSTRUCTIONS),
        (20, 1700, Kind.INSTRUCTIONS),
        (20, 0, Kind.INSTRUCTIONS),
    ],
    ids=["lost", "far more others", "some not listed", "no listing"],
)
def test_packed_instructions_are_lost_if_the_listing_shows_what_replaces_them(
    packed: float, listed: float, kind: Kind
) -> None:
    base = placed({"addps %xmm0,%xmm1": packed, "ret": 1000 - packed})
    patch = placed({"addss %xmm0,%xmm1": listed} if listed else {}, 2000, instructions=2 * BASE_RATE)
    assert [each.kind for each in named([base] * 2, [patch] * 2)] == [kind]


def test_nothing_is_lost_for_sure_if_little_of_the_parent_is_listed() -> None:
    base = placed({"addps %xmm0,%xmm1": 20})
    patch = placed({"addss %xmm0,%xmm1": 2000}, 2000, instructions=2 * BASE_RATE)
    assert [each.kind for each in named([base] * 2, [patch] * 2)] == [Kind.INSTRUCTIONS]


def test_the_same_code_at_another_place_is_layout_only() -> None:
    (found,) = named([recorded("vectors")] * 2, [recorded("moved")] * 2)
    assert found == Cause(Kind.LAYOUT, "", 0, 0)
    sentence = (
        "b: the same instructions, misses and calls: perhaps only the placement of code or data differs"
    )
    assert explanation(Explanation("s", "b", causes=(found,))) == sentence


def test_a_slow_down_of_programs_that_are_linked_otherwise_is_no_layout() -> None:
    sides = [recorded("vectors")] * 2, [recorded("moved")] * 2
    assert causes(*sides, 0.1, may_be_layout=False) == ()
    assert [each.kind for each in causes(*sides, 0.1)] == [Kind.LAYOUT]


@pytest.mark.parametrize(
    "patch",
    [
        placed({"idiv %rcx": 500, "ret": 500}),
        placed({"imul %rcx": 490, "ret": 490}, all_of_it=1100),
        placed({"imul %rcx": 500, "ret": 500}, branch_misses=1.0),
        placed({"imul %rcx": 500, "ret": 500}, l1_misses=1.0),
        placed({}),
    ],
    ids=["other instructions", "some not listed", "a branch miss", "a cache miss", "nothing listed"],
)
def test_anything_that_differs_is_not_layout_only(patch: LoopEvents) -> None:
    same = placed({"imul %rcx": 500, "ret": 500})
    assert [each.kind for each in named([same] * 2, [same] * 2)] == [Kind.LAYOUT]
    assert Kind.LAYOUT not in {each.kind for each in named([same] * 2, [patch] * 2)}


@pytest.mark.parametrize(
    ("more", "slowdown", "is_named"),
    [(0.012, 0.4, False), (0.012, 0.1, True), (0.9, 0.003, True), (0.9, 0.0025, False), (0.9, -0.1, False)],
)
def test_growth_that_cannot_cost_what_was_measured_is_no_cause(
    more: float, slowdown: float, *, is_named: bool
) -> None:
    patch = loop(instructions=(1 + more) * BASE_RATE)
    assert bool(named([loop()] * 2, [patch] * 2, slowdown)) is is_named


def events(totals: str, *lines: str, header: str = HEADER) -> bytes:
    body = "\n".join(("desc: Trigger: --dump-before=x", f"events: {header}", *lines, f"totals: {totals}", ""))
    return f"# callgrind format\npart: 1\n{body}".encode()


LOG = b"Running b for 10\n"


def test_zeros_at_the_end_may_be_missing() -> None:
    found = loop_events(events("100 0 0 0 20", "ob=(1) /build/b", "fn=(1) f", "1 100 0 0 0 20"), LOG, "b")
    assert found.rates[Event.L1_MISSES] == 2
    assert found.functions[Event.L1_MISSES] == {"f": 2}
    assert found.rates[Event.SYSTEM_CALLS] == 0


def test_more_functions_are_compared_than_a_record_has() -> None:
    lines = [line for n in range(1, 51) for line in (f"fn=({n}) f{n}", "1 10")]
    dumps = events("500", "ob=(1) /build/b", *lines)
    assert (len(functions(dumps)), len(loop_events(dumps, LOG, "b").counted.functions)) == (30, 50)


def test_an_allocation_by_an_allocating_function_is_counted_once() -> None:
    dumps = events(
        "30", "ob=(1) /build/b", "fn=(1) f", "1 10", "cob=(2) /lib/libstdc++.so.6",
        "cfn=(2) operator new(unsigned long)", "calls=40 0", "* 20", "ob=(2)", "fn=(2)", "1 5",
        "cob=(3) /lib/libc.so.6", "cfn=(3) malloc", "calls=40 0", "* 15", "ob=(3)", "fn=(3)", "1 15",
    )  # fmt: skip
    found = loop_events(dumps, LOG, "b")
    assert (found.rates[Event.ALLOCATIONS], found.functions[Event.ALLOCATIONS]) == (4, {"f": 4})
    assert {*found.loop.names.values()} == {"f", "operator new", "malloc"}


def test_an_allocation_by_an_own_operator_new_is_counted_once() -> None:
    """A function that only it calls may call malloc for it; one that others call, too, may not."""
    dumps = events(
        "50", "ob=(1) /build/b", "fn=(1) f", "1 10", "cfn=(2) operator new()", "calls=40 0", "* 40",
        "cfn=(5) arena", "calls=10 0", "* 0", "fn=(2)", "1 5", "cfn=(3) allocate", "calls=40 0", "* 35",
        "cfn=(5)", "calls=10 0", "* 0", "fn=(3)", "1 5", "cfn=(4) make", "calls=40 0", "* 30",
        "fn=(4)", "1 15", "cob=(2) /lib/libc.so.6", "cfn=(6) malloc", "calls=40 0", "* 15",
        "fn=(5)", "1 0", "cob=(2)", "cfn=(6)", "calls=20 0", "* 0", "ob=(2)", "fn=(6)", "1 15",
    )  # fmt: skip
    found = loop_events(dumps, LOG, "b")
    assert found.functions[Event.ALLOCATIONS] == {"f": 4, "arena": 2}


@pytest.mark.parametrize(
    "dumps",
    [
        events("100", "fn=(1) f", "1 100", header="Ir"),
        events("100", "fn=(1) f", "1 99"),
        events("100" + 16 * " 1", "fn=(1) f", "1 100"),
        events(f"{'9' * 40}", "fn=(1) f", "1 100"),
        events("100", "fn=(1) f", "1 100") + events("1", header="Ir Dr"),
    ],
    ids=["only instructions", "does not add up", "too many columns", "huge", "other events later"],
)
def test_hostile_dumps_are_refused(dumps: bytes) -> None:
    with pytest.raises(BadResults):
        loop_events(dumps, LOG, "b")


def test_sentences_say_what_grew_and_where() -> None:
    base, patch = loop(branch_misses=12.1), loop(branch_misses=15.9)
    found = Explanation("s", "HashLookup", causes=named([base] * 2, [patch] * 2))
    assert explanation(found) == (
        "HashLookup: 31.4 % more branch misses (12.1 → 15.9 per iteration), in work"
    )
    (lost,) = named([recorded("base")] * 2, [recorded("inline")] * 2)
    assert explanation(Explanation("s", "b", causes=(lost,))) == (
        "b: lost inlining: step is a function of its own (calls 0 → 64 per iteration)"
    )
    new = lost._replace(kind=Kind.LOCKS, patch=1234.5)
    assert (
        explanation(Explanation("s", "b", causes=(new,))) == "b: new locks (0 → 1,234 per iteration), in step"
    )
    many = explanation(Explanation("s", "b", causes=(new._replace(base=10.0),)))
    assert many == "b: 123 times as many locks (10 → 1,234 per iteration), in step"
    two = explanation(Explanation("s", "b", causes=(new._replace(base=10.0), new._replace(base=5.0))))
    times = [
        f"{each} → 1,234 per iteration)"
        for each in ("123 times as many locks (10", "247 times as many locks (5")
    ]
    assert two == f"b: {' and '.join(times)}, both in step"
    rare = explanation(Explanation("s", "b", causes=(new._replace(base=0.001, patch=0.004),)))
    assert rare == "b: 300 % more locks (0.001 → 0.004 per iteration), in step"
    nearly = explanation(Explanation("s", "b", causes=(new._replace(base=500.0, patch=999.7),)))
    assert nearly == "b: 99.9 % more locks (500 → 1,000 per iteration), in step"
    nothing = "not explained: nothing that was counted grew for sure and by enough"
    assert explanation(Explanation("s", "b")) == f"b: {nothing}"
    assert explanation(Explanation("s", "b", obstacle="no time")) == "b: not explained: no time"


def test_the_line_that_grew_most_is_named_if_it_is_known() -> None:
    line = Line("src/hash.cpp", 120, 1.0, 9.0)
    more = Cause(Kind.BRANCH_MISSES, "find", 12.0, 15.0)
    found = Explanation("s", "b", causes=(more,), assembly=Assembly("find", (), (line,), "branch misses"))
    first = "b: 25 % more branch misses (12 → 15 per iteration)"
    assert explanation(found) == f"{first}, in find (src/hash.cpp:120)"
    other = replace(found, causes=(more, more._replace(function="other")))
    assert explanation(other).endswith(
        ", in find (src/hash.cpp:120); 25 % more branch misses (12 → 15 per iteration), in other"
    )
    assert explanation(replace(found, causes=(more, more))).endswith(", both in find (src/hash.cpp:120)")
    code = Assembly("find", (), (line,), "calls")
    lost = replace(found, causes=(more._replace(kind=Kind.INLINING, base=0.0),), assembly=code)
    assert explanation(lost).endswith(
        "is a function of its own (calls 0 → 15 per iteration), called at src/hash.cpp:120"
    )
    also = replace(lost, causes=(*lost.causes, more))
    part = Part("find", 0.08, 0.06, 0.1)
    for each in (also, replace(also, sampled=0.1, parts=(part,))):
        calls = "called at src/hash.cpp:120; 25 % more branch misses (12 → 15 per iteration), in find"
        assert explanation(each).endswith(calls)
    halves = part._replace(growth=0.04), Part("other", 0.03, 0.02, 0.04)
    assert explanation(replace(found, sampled=0.1, parts=halves)).endswith(
        f"other, +3.0 of +10.0 points [+2.0, +4.0]: {first[3:]}, in find (src/hash.cpp:120)"
    )
    unknown = replace(found, assembly=Assembly("find", (), (line._replace(patch=1.0),), "branch misses"))
    assert explanation(unknown) == f"{first}, in find"
    assert explanation(replace(found, assembly=Assembly("find", (), (line,), "instructions"))) == (
        f"{first}, in find"
    )


def test_the_line_stands_beside_what_it_counts_and_not_beside_waiting() -> None:
    code = Assembly("find", (), (Line("src/hash.cpp", 120, 1.0, 9.0),), "locks")
    waits, locks = Cause(Kind.WAITING, "find", 1.0, 2.0), Cause(Kind.LOCKS, "find", 1.0, 2.0)
    told = explanation(Explanation("s", "b", causes=(waits, locks), assembly=code))
    assert told.endswith(
        " per iteration, in find; 100 % more locks (1 → 2 per iteration), in find (src/hash.cpp:120)"
    )


def test_a_template_keeps_its_growth_with_other_arguments() -> None:
    """Two new instances are no counterparts of one, because nothing says which is."""

    def allocating(**calls: float) -> LoopEvents:
        found = loop(allocations=sum(calls.values()))
        named_by = {
            name.replace("_", "<", 1) + ">" if "_" in name else name: rate for name, rate in calls.items()
        }
        return replace(found, functions={**found.functions, Event.ALLOCATIONS: named_by})

    base = allocating(save_A=100, work=1)
    (one,) = more_allocations([base] * 2, [allocating(save_B=101, work=11)] * 2)
    (two,) = more_allocations([base] * 2, [allocating(save_B=101, save_C=1, work=11)] * 2)
    assert (one.function, two.function) == ("work", "save<B>")


def test_functions_keep_their_growth_under_a_new_name() -> None:
    counted = loop({"main": (500, ""), "old": (500, "main")})
    base = replace(counted, functions={**counted.functions, Event.INSTRUCTIONS: {"main": 500, "old": 500}})
    patch = loop({"main": (900, ""), "new": (510, "main")}, instructions=1410)
    patch = replace(patch, functions={**patch.functions, Event.INSTRUCTIONS: {"main": 900, "new": 510}})
    (first,) = named([base] * 2, [patch] * 2)
    assert (first.kind, first.function) == (Kind.INSTRUCTIONS, "main")


def test_what_a_function_of_one_side_executes_counts_for_its_nearest_caller_on_both_sides() -> None:
    base = divided({"main": (50, ""), "work": (800, "main"), "grown": (150, "main")})
    parts = {"work": (350, "main"), "split": (10, "work"), "part": (440, "split")}
    patch = divided({"main": (50, ""), **parts, "grown": (250, "main")})
    (first,) = named([base] * 2, [patch] * 2)
    assert (first.kind, first.function, first.new_callee) == (Kind.INSTRUCTIONS, "grown", "")


def test_a_new_function_with_a_large_part_of_what_grew_is_named() -> None:
    base = divided({"main": (50, ""), "work": (800, "main")})
    parts = {"work": (800, "main"), "small": (20, "work"), "through": (10, "work"), "part": (200, "through")}
    patch = divided({"main": (50, ""), **parts})
    (first,) = named([base] * 2, [patch] * 2)
    assert (first.function, first.new_callee) == ("work", "part")
    code = Assembly("work", (), (Line("a.cpp", 3, 1.0, 2.0),), "instructions")
    told = explanation(Explanation("s", "b", causes=(first,), assembly=code))
    assert told.endswith(", in work (a.cpp:3), which calls the new part")


@pytest.mark.parametrize(
    ("own", "bodies", "callee"), [(700, (200, 200), ""), (600, (200, 300), "body"), (625, (190, 215), "")]
)
def test_a_function_that_has_what_one_of_the_parent_had_is_not_named(
    own: int, bodies: tuple[int, int], callee: str
) -> None:
    base = divided({"main": (50, ""), "work": (600, "main"), "helper": (400, "work")})
    header, body = bodies
    parts = {"work": (own, "main"), "header": (header, "work"), "body": (body, "work")}
    (first,) = named([base] * 2, [divided({"main": (50, ""), **parts})] * 2, 0.03)
    assert (first.function, first.new_callee) == ("work", callee)


def divided(functions: dict[str, tuple[float, str]]) -> LoopEvents:
    whole = sum(rate for rate, _ in functions.values())
    found, own = loop(functions, instructions=whole), {name: rate for name, (rate, _) in functions.items()}
    calls = dict.fromkeys(functions, 0.1)  # too few for a lost inlining
    return replace(found, functions={**found.functions, Event.INSTRUCTIONS: own}, calls=calls)
