from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.measuring.callgrind import Counted, Trial
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.runs.build_outcome import Judgement
from service.domain.runs.judge_build import Measured, Notes
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.values.text import literal
from service.domain.verdict.comparison.counting_pairs import DisturbedPairs
from service.domain.verdict.comparison.grown_functions import Explained, Grown, Growth
from service.domain.verdict.comparison.instruction_counts import LAUNCHES, compare_counts
from service.domain.wording.measured_causes import measured_causes, measured_notes, unused_notes
from tests.support.messages.markdown import rendered

POLICY = Policy(max_pairs=32)
TOO_FEW = (
    "max_pairs is 32, but with this many benchmarks it takes 40 pairs to prove a difference: "
    "raise max_pairs in benchgate.yaml"
)


def causes_of(notes: Notes, outcome: Outcome = Outcome.PASSED, missing_pairs: int = 0) -> list[str]:
    judgement = Judgement(outcome, missing_pairs=missing_pairs)
    return list(measured_causes(Measured((), (), judgement, notes), POLICY, "perf-01"))


def renaming(**renamed: str) -> list[str]:
    """Return the causes of a build that compares these new names with these old ones."""
    listing = Listing("executor", tuple(renamed), tuple(renamed), renamed=renamed)
    measured = Measured((), (), Judgement(Outcome.PASSED), Notes(), (listing,))
    return list(measured_causes(measured, POLICY, "perf-01"))


def test_a_build_that_compares_tests_needs_pairs_for_many_tests() -> None:
    assert causes_of(Notes(pairs_to_prove=40, are_tests=True)) == [TOO_FEW.replace("benchmarks", "tests")]


def counted(instructions: int) -> Counted:
    return Counted(((Trial(100, 100 * instructions),),) * LAUNCHES)


def test_each_pair_of_names_is_shown() -> None:
    found = renaming(**{f"BM_b{n}": f"BM_a{n}" for n in range(6)})

    assert found == [
        "compared as renamed: BM_a0 → BM_b0, BM_a1 → BM_b1, BM_a2 → BM_b2, BM_a3 → BM_b3, BM_a4 → BM_b4",
        "compared as renamed: BM_a5 → BM_b5",
    ]


def test_a_renamed_family_is_one_pair() -> None:
    assert renaming(**{"BM_b/8": "BM_a/8", "BM_b/64": "BM_a/64"}) == [
        "compared as renamed: BM_a → BM_b (2 benchmarks)"
    ]


def test_pairs_beyond_the_hundredth_are_counted() -> None:
    found = renaming(**{f"BM_b{n}": f"BM_a{n}" for n in range(102)})

    assert (len(found), found[-1]) == (21, "2 more pairs of renamed benchmarks")


def test_a_name_of_the_patch_is_shown_without_control_characters() -> None:
    assert renaming(**{"BM_b\nBuild Successful": "BM_a"}) == [
        "compared as renamed: BM_a → BM_b Build Successful"
    ]


def job_of(suite: Suite, policy: Policy | None = None) -> Job:
    return Job(
        "perf", JobKind("benchmark"), BenchmarkConfiguration(suites=(suite,)), policy=policy or Policy()
    )


def test_entries_that_fit_no_benchmark_are_a_note() -> None:
    suite = Suite("executor", "build/x", renamed={f"BM_{n}": f"BM_n{n}" for n in range(5)})
    listing = Listing("executor", ("BM_n0",), ("BM_n0",))

    assert unused_notes(job_of(suite), [listing]) == (
        "renamed: no such benchmarks: BM_1 → BM_n1, BM_2 → BM_n2, BM_3 → BM_n3 and 1 more",
    )
    assert unused_notes(job_of(suite), []) == ()


_ENTRIES = dict.fromkeys(("BM_a", "BM_b/8", "BM_old", "BM_new", "BM_A", "BM_ab/", "BM_a.*"), 0.05)


@pytest.mark.parametrize(
    ("key", "policy"),
    [
        ("vote_at_of", Policy(vote_at_of=_ENTRIES)),
        ("machine_time_of", Policy(machine_time_of=_ENTRIES)),
    ],
)
def test_entries_of_the_policy_that_fit_no_benchmark_are_a_note(key: str, policy: Policy) -> None:
    listing = Listing(
        "executor", ("BM_a<int>/2", "BM_new"), ("BM_b/8", "BM_new"), renamed={"BM_new": "BM_old"}
    )
    job = job_of(Suite("executor", "build/x"), policy)

    assert unused_notes(job, [listing]) == (f"{key}: no such benchmarks: BM_A, BM_ab/, BM_a.*",)
    assert unused_notes(job, [replace(listing, too_short=1)]) == ()


def test_units_of_uncompared_metrics_are_a_note() -> None:
    suite = Suite(
        "executor",
        "build/x",
        metrics=("Peak", "real_time"),
        units={"Peak": "B", "peak": "B", "real_time": "ms"},
    )

    assert unused_notes(job_of(suite), [Listing("executor", ("BM_a",), ("BM_a",))]) == (
        "units: no counters among the metrics of their suite: peak, real_time",
    )


def test_a_build_without_notes_has_no_causes() -> None:
    assert causes_of(Notes()) == []


def test_without_a_parent_that_is_all_there_is_to_say() -> None:
    assert causes_of(Notes(warnings=("x",)), Outcome.NO_PARENT) == [
        "nothing to compare with: no benchmark of the parent matches the filters of the suites"
    ]


@pytest.mark.parametrize(
    ("suites", "cause"),
    [
        (("a",), "suite a: the program is identical on both sides"),
        (("a", "b"), "suites a, b: the program is identical on both sides"),
    ],
)
def test_one_sentence_names_the_suites_with_equal_programs(suites: tuple[str, ...], cause: str) -> None:
    assert causes_of(Notes(same_program=suites)) == [cause]


@pytest.mark.parametrize(
    ("pairs", "notes"),
    [
        (DisturbedPairs(pairs=12), ()),
        (
            DisturbedPairs(left_out=1, pairs=13),
            ("1 of 13 pairs were disturbed by other work: 1 measured again, 0 kept",),
        ),
        (
            DisturbedPairs(left_out=8, kept=27, pairs=40),
            ("35 of 40 pairs were disturbed by other work: 8 measured again, 27 kept",),
        ),
    ],
)
def test_disturbed_pairs_are_counted_among_all_and_for_pages_only(
    pairs: DisturbedPairs, notes: tuple[str, ...]
) -> None:
    assert measured_notes(Notes(disturbed=pairs)) == notes
    assert causes_of(Notes(disturbed=pairs)) == []


@pytest.mark.parametrize(
    ("pairs", "causes"),
    [(32, []), (40, [TOO_FEW])],
)
def test_a_budget_that_can_prove_nothing_is_named(pairs: int, causes: list[str]) -> None:
    assert causes_of(Notes(pairs_to_prove=pairs)) == causes


def test_programs_too_large_to_copy_are_named() -> None:
    (cause,) = causes_of(Notes(are_programs_kept_in_place=True))

    assert cause.startswith("the programs are too large to copy for every pair")


def test_warnings_beyond_the_third_are_counted() -> None:
    assert causes_of(Notes(warnings=("a\n", "b", "c", "d", "e"))) == [
        "warning: a",
        "warning: b",
        "warning: c",
        "2 more warnings about results",
    ]


def test_instruction_counts_make_one_sentence() -> None:
    after = {"BM_a": 1050, "BM_b": 1200, "BM_c": 900, "BM_d": 1000}
    several = {"BM_e": Counted(why="it runs several threads")}
    base = {**dict.fromkeys(after, counted(1000)), **several}
    patch = {**{name: counted(ir) for name, ir in after.items()}, **several}
    counts = {("s", Side.BASE): base, ("s", Side.PATCH): patch}
    rows = compare_counts([Listing("s", tuple(base), tuple(patch))], counts, 0.01)

    assert causes_of(Notes(counted=rows)) == [
        (
            "instructions of 5 benchmarks (no vote): 2 increased, most in BM_b +20.0 %; "
            "1 decreased, most in BM_c −10.0 %; "
            "1 unchanged; 1 unknown: BM_e: not counted: it runs several threads; "
            "instruction counts show neither contention nor cache misses"
        )
    ]
    assert causes_of(Notes(counted=tuple(rows), is_counting_advisory=False))[0].startswith(
        "instructions of 5 benchmarks (voting)"
    )


MIDDLE = Grown("middle", 0.043)


@pytest.mark.parametrize(
    ("total", "functions", "words"),
    [
        (
            0.0003,
            (),
            (
                "are the same (+0.03 %): no more instructions; memory, branches, costlier instructions, "
                "the kernel, waiting or code placement may be the cause"
            ),
        ),
        (0.043, (MIDDLE,), "+4.3 %, all in middle"),
        (0.0431, (MIDDLE,), "+4.3 %, nearly all in middle"),
        (
            0.436,
            (Grown("middle", 0.436, ("free", "malloc")),),
            "+43.6 %, all in middle, mostly its calls of free and malloc",
        ),
        (
            0.136,
            (Grown("step", 0.152, caller="middle"),),
            "+13.6 %: +15.2 % in step, which middle calls; −1.6 % elsewhere",
        ),
        (
            0.06,
            (MIDDLE, Grown("walk", 0.017, ("c", "d", "e"), was="step")),
            (
                "+6.0 %: +4.3 % in middle; "
                "+1.7 % in walk (probably step in the parent), mostly its calls of c and d and others"
            ),
        ),
        (
            0.043,
            (Grown("ab\n" + "x" * 90 + "yz", 0.043),),
            f"+4.3 %, all in ab {'x' * 16}…{'x' * 38}yz",
        ),
    ],
)
def test_a_slower_benchmark_says_where_its_instructions_grew(
    total: float, functions: tuple[Grown, ...], words: str
) -> None:
    explained = Explained("BM_a", total, Growth(total, functions) if functions else None)
    assert causes_of(Notes(explained=(explained,))) == [f"BM_a: instructions {words}"]


def test_function_names_show_no_markup_and_no_backslashes() -> None:
    found = Grown("std::vector<int*>::push_back", 0.043, ("_int_malloc",), was="_x*_")
    (cause,) = causes_of(Notes(explained=(Explained("BM_a", 0.043, Growth(0.043, (found,))),)))
    assert rendered(literal(cause)) == cause


@pytest.mark.parametrize("total", [0.02, -0.05])
def test_instructions_that_explain_nothing_make_no_sentence(total: float) -> None:
    assert causes_of(Notes(explained=(Explained("BM_a", total),))) == []


def test_at_most_three_slower_benchmarks_are_explained() -> None:
    found = tuple(Explained(f"BM_{n}", 0.043, Growth(0.043, (MIDDLE,))) for n in range(5))
    assert len(causes_of(Notes(explained=found))) == 3


@pytest.mark.parametrize(("missing", "pairs"), [(1, "1 pair"), (12, "12 pairs")])
def test_a_build_that_could_find_nothing_says_what_to_raise(missing: int, pairs: str) -> None:
    assert causes_of(Notes(), Outcome.UNDECIDED_WITHHELD, missing) == [
        (
            f"the machine time ended {pairs} before any difference could be found, so there is no +1: "
            "raise machine_time in benchgate.yaml, or measure less"
        )
    ]
