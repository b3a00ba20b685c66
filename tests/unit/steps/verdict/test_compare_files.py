from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.project.policy import Policy
from service.domain.values.errors import BadInput
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.steps.verdict.compare_files import FileComparison, ResultFile, compare_files
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLICY = Policy()
VOTES = {Verdict.SLOWER, Verdict.BROKEN, Verdict.REMOVED}


def files(side: str, level: float, count: int, dates: Sequence[str] = (), **more: Any) -> list[ResultFile]:  # noqa: ANN401
    """One benchmark's launches, each in a file of its own."""
    rng = np.random.default_rng([int(level * 1000), count])
    found = []
    for k in range(count):
        cpu = 100.0 * level * float(np.exp(rng.normal(0, 0.002)))
        context = {"date": dates[k]} if dates else {}
        data = whole(row(**({"cpu_time": cpu, "real_time": cpu} | more)), **context)
        found.append(ResultFile(f"{side}{k}.json", data))
    return found


def compared(base: Sequence[ResultFile], patch: Sequence[ResultFile], *metrics: str) -> FileComparison:
    return compare_files(base, patch, POLICY, metrics)


def only(found: FileComparison) -> Comparison:
    (row,) = found.comparisons
    return row


def text(name: str, data: str | bytes) -> ResultFile:
    return ResultFile(name, data.encode() if isinstance(data, str) else data)


class TestPairs:
    def test_a_slow_down_in_pairs_is_found(self) -> None:
        found = only(compared(files("a", 1.0, 16), files("b", 1.1, 16)))

        assert (found.verdict, found.row.metric.name, found.pairs) == (Verdict.SLOWER, "cpu_time", 16)

    def test_waiting_is_judged_only_where_it_is_asked_for(self) -> None:
        base, patch = files("a", 1.0, 16, real_time=900.0), files("b", 1.0, 16, real_time=1800.0)

        assert only(compared(base, patch)).verdict is Verdict.SAME
        assert only(compared(base, patch, "real_time")).verdict is Verdict.SLOWER

    @pytest.mark.parametrize("seen", [3, 5, 12, 20, 36, 40])
    def test_a_sequential_verdict_holds_for_every_longer_sequence(self, seen: int) -> None:
        base, patch = files("a", 1.0, 40), files("b", 1.04, 40)
        early, late = (
            only(compare_files(base[:n], patch[:n], POLICY, is_sequential=True)) for n in (seen, 40)
        )

        assert late == early or not early.verdict.is_decided

    def test_a_side_without_a_benchmark_is_named_with_its_files_fault(self) -> None:
        cut = ResultFile("cut.json", whole(row())[:300].split(b'"name"')[0])

        sentence = r"patch files hold no benchmark that could be compared; cut\.json: .* damaged at byte \d+"
        with pytest.raises(BadInput, match=sentence):
            compared(files("a", 1.0, 1), [cut])

    def test_a_file_given_twice_is_one_launch_and_proves_nothing(self) -> None:
        found = compared(files("a", 1.0, 1) * 16, files("b", 1.5, 1) * 16)

        assert only(found).verdict is Verdict.UNDECIDED
        said = "a0.json is given twice as base and b0.json is given twice as patch"
        assert found.warnings == (f"{said}; a launch counts once, so this pair is left out",)

    def test_the_same_files_on_both_sides_are_the_same_with_a_warning(self) -> None:
        base = files("a", 1.0, 8)
        found = compared(base, base)

        assert only(found).verdict is Verdict.SAME
        assert found.warnings[0] == "a0.json is given as base and as patch"


class TestOneLaunch:
    def test_times_are_undecided_however_far_apart(self) -> None:
        found = only(compared(files("a", 1.0, 1), files("b", 9.0, 1)))

        assert (found.verdict, found.interval) == (Verdict.UNDECIDED, None)
        assert found.reasons == (Reason(ReasonKind.ONE_LAUNCH),)
        assert found.ratio == pytest.approx(9.0, rel=0.1)

    def test_equal_counters_are_the_same(self) -> None:
        found = only(compared(files("a", 1.0, 1, hits=3), files("b", 9.0, 1, hits=3), "hits"))

        assert found.verdict is Verdict.SAME

    def test_one_launch_does_not_show_that_a_counter_repeats(self) -> None:
        found = only(compared(files("a", 1.0, 1, hits=3), files("b", 1.0, 1, hits=9), "hits"))

        assert (found.verdict, found.reasons) == (Verdict.UNDECIDED, (Reason(ReasonKind.ONE_COUNT),))


class TestBlocks:
    EARLY = tuple(f"2026-11-21T10:00:{k:02}+00:00" for k in range(16))
    LATE = tuple(f"2026-11-21T11:00:{k:02}+00:00" for k in range(16))

    @pytest.mark.parametrize(("first", "second"), [(EARLY, LATE), (LATE, EARLY)])
    def test_one_side_before_the_other_decides_no_time(
        self, first: Sequence[str], second: Sequence[str]
    ) -> None:
        found = only(compared(files("a", 1.0, 16, first), files("b", 1.3, 16, second)))

        assert found.verdict is Verdict.UNDECIDED
        assert found.reasons == (Reason(ReasonKind.BLOCKS),)

    def test_counters_that_repeat_are_decided_whatever_the_order(self) -> None:
        base, patch = files("a", 1.0, 16, self.EARLY, hits=64), files("b", 1.0, 16, self.LATE, hits=96)

        assert only(compared(base, patch, "hits")).verdict is Verdict.SLOWER

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (EARLY, EARLY),
            ((EARLY[0],) * 16, (EARLY[0],) * 16),
            (EARLY, ("no date",) * 16),
            (EARLY, tuple(date.removesuffix("+00:00") for date in LATE)),
            (EARLY[::2] + LATE[::2], EARLY[1::2] + LATE[1::2]),
        ],
        ids=["the same seconds", "one second", "unreadable", "with and without a zone", "in turn"],
    )
    def test_files_are_taken_for_pairs_unless_dates_prove_otherwise(
        self, first: Sequence[str], second: Sequence[str]
    ) -> None:
        found = only(compared(files("a", 1.0, 16, first), files("b", 1.3, 16, second)))

        assert found.verdict is Verdict.SLOWER


class TestBadInput:
    @pytest.mark.parametrize(
        ("base", "patch", "said"),
        [
            (files("a", 1.0, 2), files("b", 1.0, 1), "2 base and 1 patch files"),
            (files("a", 1.0, 1), [text("b.json", "")], "b.json: it is empty"),
            (files("a", 1.0, 1), [text("b.json", b"\x7fELF\x00\xff" * 50)], "b.json: "),
            (files("a", 1.0, 1), [text("b.json", "[]")], "b.json: it is not a JSON object"),
            (files("a", 1.0, 1), [ResultFile("b.json", whole(row("BM_b")))], "no benchmark in common"),
            ([text("a.json", whole())], [text("b.json", whole())], "hold no benchmark"),
        ],
        ids=["unpaired", "empty", "binary", "not results", "other benchmarks", "no benchmarks"],
    )
    def test_files_that_cannot_be_compared_are_refused(
        self, base: Sequence[ResultFile], patch: Sequence[ResultFile], said: str
    ) -> None:
        with pytest.raises(BadInput, match=said):
            compared(base, patch)

    def test_each_side_names_one_benchmark_if_none_is_common(self) -> None:
        base = [ResultFile("a.json", whole(row("BM_a"), row("BM_b"), row("BM_c")))]
        with pytest.raises(BadInput, match=r"base has BM_a and 2 more, patch has BM_d$"):
            compared(base, [ResultFile("b.json", whole(row("BM_d")))])

    def test_a_metric_that_no_file_has_is_named(self) -> None:
        with pytest.raises(
            BadInput, match="no benchmark reports 'hitz'; they report cpu_time, hits, real_time"
        ):
            compared(files("a", 1.0, 1, hits=1), files("b", 1.0, 1, hits=1), "hitz")

    def test_a_metric_of_one_side_only_blames_nobody(self) -> None:
        found = only(compared(files("a", 1.0, 8, hits=1), files("b", 1.0, 8), "hits"))

        reason = Reason(ReasonKind.NOT_IN_PATCH, ("hits",))
        assert (found.verdict, found.reasons) == (Verdict.UNDECIDED, (reason,))

    def test_a_benchmark_of_one_side_only_blames_nobody(self) -> None:
        base = [ResultFile(f"a{k}", whole(row("BM_a"), row("BM_old"))) for k in range(8)]
        patch = [ResultFile(f"b{k}", whole(row("BM_a"), row("BM_new"))) for k in range(8)]
        found = {each.row.benchmark: each for each in compared(base, patch).comparisons}

        assert found["BM_old"].verdict is Verdict.UNDECIDED
        assert found["BM_new"].verdict is Verdict.NEW

    def test_a_benchmark_that_failed_is_still_broken(self) -> None:
        failed = row(error_occurred=True, error_message="no space", real_time=0.0, cpu_time=0.0)
        patch = [ResultFile(f"b{k}", whole(failed)) for k in range(8)]

        assert only(compared(files("a", 1.0, 8), patch)).verdict is Verdict.BROKEN

    @pytest.mark.parametrize(
        "bad", ["0.0", "-5.0", "NaN", "Infinity", "-Infinity", "1e999", '"fast"', "null"]
    )
    @pytest.mark.parametrize("count", [1, 16])
    def test_invalid_times_are_undecided(self, bad: str, count: int) -> None:
        usual = whole(row()).decode()
        patch = [
            text(f"b{k}.json", usual.replace('"cpu_time": 100.0', f'"cpu_time": {bad}')) for k in range(count)
        ]
        found = compared(files("a", 1.0, count), patch)

        assert only(found).verdict is Verdict.UNDECIDED
        (reason,) = only(found).reasons
        assert (reason.kind, reason.facts[0]) == (ReasonKind.UNUSABLE, "patch")
        assert any("left out" in each for each in found.warnings)


VALUES = st.one_of(
    st.sampled_from([0, -1, 1e308, 5e-324, float("nan"), float("inf"), None, "x", True]), st.floats(90, 110)
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["BM_a", "BM_b"]), "cpu_time": VALUES},
        optional={"real_time": VALUES, "items_per_second": VALUES, "hits": VALUES},
    ),
    max_size=3,
)


@settings(max_examples=60)
@given(st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=4), st.sampled_from([(), ("hits", "cpu_time")]))
def test_a_few_files_of_whatever_values_never_blame_the_patch(
    pairs: Sequence[tuple[Sequence[Mapping[str, object]], ...]], metrics: tuple[str, ...]
) -> None:
    base, patch = (
        [
            ResultFile(f"{side}{k}", whole(*(row(**each) for each in pair[side])))
            for k, pair in enumerate(pairs)
        ]
        for side in (0, 1)
    )
    assert not VOTES & _verdicts(base, patch, metrics)


def _verdicts(
    base: Sequence[ResultFile], patch: Sequence[ResultFile], metrics: Sequence[str]
) -> set[Verdict]:
    """None where the files are refused."""
    try:
        return {each.verdict for each in compared(base, patch, *metrics).comparisons}
    except BadInput:
        return set()


TIMED = st.fixed_dictionaries(
    {
        "cpu_time": st.sampled_from([1.0, 1.5, 1e-300, 1e300]) | st.floats(1e-9, 1e9),
        "real_time": st.floats(1e-9, 1e9),
        "time_unit": st.sampled_from(["ns", "s"]),
    },
    optional={
        "items_per_second": st.sampled_from([0.0, -1.0, 1.0, 1.0001, 2.0, 1e-320, 1e300]),
        "bytes_per_second": st.just(1.0),
        "hits": st.integers(0, 3),
    },
)
SIDE = st.dictionaries(
    st.sampled_from(["a", "b/real_time", "c/manual_time/threads:2", "d/process_time", "e"]), TIMED, min_size=1
)


@settings(max_examples=300)
@given(base=SIDE, patch=SIDE, is_sequential=st.booleans())
def test_a_lone_pair_of_columns_is_compared_as_a_pair_of_launches_is(
    *, base: Mapping[str, Mapping[str, Any]], patch: Mapping[str, Mapping[str, Any]], is_sequential: bool
) -> None:
    """A row that failed makes the reader give the rows of its file one by one."""
    sides = [[row(name, **found) for name, found in side.items()] for side in (base, patch)]
    if set(base).isdisjoint(patch):
        return
    columns, launches = (
        compare_files(
            [text("base", whole(*sides[0], *more))],
            [text("patch", whole(*sides[1], *more))],
            POLICY,
            is_sequential=is_sequential,
        )
        for more in ((), (row("failed", error_occurred=True),))
    )

    # By their text, in which NaN is equal to NaN.
    assert [repr(each) for each in columns.comparisons] == [
        repr(each) for each in launches.comparisons if each.row.benchmark != "failed"
    ]
