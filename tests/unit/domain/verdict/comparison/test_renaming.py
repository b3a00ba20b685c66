"""Renamed benchmarks: which names of the base and the patch are one benchmark."""

from __future__ import annotations

from typing import Final

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.measuring.renaming import (
    former_names,
    new_name,
    renamed_benchmarks,
    short_form,
    under_new_names,
    unused_entries,
)
from service.domain.values.identity import Side

FAMILY: Final = {"BM_Foo": "BM_Bar"}


class TestNames:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("BM_Foo", "BM_Bar"),
            ("BM_Foo/64", "BM_Bar/64"),
            ("BM_Foo/64/real_time", "BM_Bar/64/real_time"),
            ("BM_Foo<int>/8", "BM_Bar<int>/8"),
            ("BM_Food", "BM_Food"),
            ("BM_Foo:8", "BM_Foo:8"),
            ("Fixture/BM_Foo", "Fixture/BM_Foo"),
            ("", ""),
        ],
    )
    def test_an_entry_renames_its_benchmark_with_all_arguments(self, name: str, expected: str) -> None:
        assert new_name(FAMILY, name) == expected

    @pytest.mark.parametrize(
        ("name", "expected"), [("HTB/Insert/24", "HTB/Put/24"), ("HTB/Find", "Hash/Find"), ("HTB", "Hash")]
    )
    def test_the_longest_entry_counts(self, name: str, expected: str) -> None:
        assert new_name({"HTB": "Hash", "HTB/Insert": "HTB/Put"}, name) == expected

    def test_an_entry_may_name_one_instance(self) -> None:
        renamed = {"BM_Foo<int>/8": "BM_Foo<long>/8"}

        assert [new_name(renamed, f"BM_Foo<int>/{n}") for n in (8, 80)] == [
            "BM_Foo<long>/8",
            "BM_Foo<int>/80",
        ]

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ("BM_a/8/4", "BM_b/8/4", ("BM_a", "BM_b")),
            ("BM_a<int>/8", "BM_b<int>/8", ("BM_a", "BM_b")),
            ("HTB/Insert/24", "HTB/Put/24", ("HTB/Insert", "HTB/Put")),
            ("BM_a", "BM_b", ("BM_a", "BM_b")),
            ("BM_a/8", "BM_b/4", ("BM_a/8", "BM_b/4")),
            ("/8", "BM_b/8", ("/8", "BM_b/8")),
        ],
    )
    def test_a_pair_of_names_is_shown_without_the_arguments_that_both_have(
        self, old: str, new: str, expected: tuple[str, str]
    ) -> None:
        assert short_form(old, new) == expected


class TestPairs:
    def test_a_benchmark_that_the_patch_renames_is_paired(self) -> None:
        base, patch = ("BM_Foo/8", "BM_Foo/64", "BM_same"), ("BM_same", "BM_Bar/8", "BM_Bar/64")

        assert renamed_benchmarks(FAMILY, base, patch) == {"BM_Bar/8": "BM_Foo/8", "BM_Bar/64": "BM_Foo/64"}

    @pytest.mark.parametrize(
        ("base", "patch"),
        [
            (("BM_Foo",), ("BM_Foo",)),  # announced
            (("BM_Bar",), ("BM_Bar",)),  # merged
            (("BM_Foo",), ("BM_Foo", "BM_Bar")),  # a copy
            (("BM_Foo", "BM_Bar"), ("BM_Bar",)),  # its counterpart is there already
            (("BM_Foo",), ()),  # removed
            ((), ("BM_Bar",)),  # new
        ],
    )
    def test_otherwise_names_stay_as_they_are(self, base: tuple[str, ...], patch: tuple[str, ...]) -> None:
        assert renamed_benchmarks(FAMILY, base, patch) == {}

    def test_a_new_name_is_that_of_one_benchmark(self) -> None:
        renamed = {"BM_a": "BM_c", "BM_b/8": "BM_c/8"}

        assert renamed_benchmarks(renamed, ("BM_a/8", "BM_b/8"), ("BM_c/8",)) == {"BM_c/8": "BM_a/8"}

    @pytest.mark.parametrize(
        ("patch", "expected"),
        [
            (("BM_Bar/8",), {"BM_Bar/8": "BM_Foo/8"}),
            (("BM_Bar/8", "BM_Foo/8"), {}),
            (("BM_Other",), {}),
        ],
    )
    def test_the_former_name_is_known_after_the_merge_unless_it_is_used_again(
        self, patch: tuple[str, ...], expected: dict[str, str]
    ) -> None:
        assert former_names(FAMILY, patch) == expected

    @pytest.mark.parametrize(
        ("base", "patch", "is_unused"),
        [
            (("BM_Foo/8",), ("BM_Bar/8",), False),
            (("BM_Foo/8",), ("BM_Foo/8",), False),
            (("BM_Bar/8",), ("BM_Bar/8",), False),
            (("BM_Other",), ("BM_Bar",), True),
            (("BM_Foo",), ("BM_Other",), True),
            ((), (), True),
        ],
    )
    def test_an_entry_that_fits_no_benchmark_is_unused(
        self, base: tuple[str, ...], patch: tuple[str, ...], *, is_unused: bool
    ) -> None:
        assert list(unused_entries(FAMILY, base, patch)) == ([("BM_Foo", "BM_Bar")] if is_unused else [])


def launch(side: Side, suite: str = "executor") -> Launch:
    return Launch(
        pair=3,
        side=side,
        suite=suite,
        values={"BM_Foo": {"cpu_time": 1.0}, "BM_same": {"cpu_time": 2.0}},
        errors={"BM_Foo": "no"},
        real_per_cpu={"BM_Foo": 1.5},
        varying=frozenset({("BM_Foo", "items")}),
        lost={"BM_Foo": "why"},
        seconds=4.0,
    )


class TestLaunches:
    listing = Listing("executor", ("BM_Bar", "BM_same"), ("BM_Bar", "BM_same"), renamed={"BM_Bar": "BM_Foo"})

    def test_the_results_of_the_base_get_the_new_names(self) -> None:
        (found,) = under_new_names([launch(Side.BASE)], [self.listing])

        assert found.values == {"BM_Bar": {"cpu_time": 1.0}, "BM_same": {"cpu_time": 2.0}}
        assert (found.errors, found.lost) == ({"BM_Bar": "no"}, {"BM_Bar": "why"})
        assert (found.real_per_cpu, found.varying) == ({"BM_Bar": 1.5}, frozenset({("BM_Bar", "items")}))
        assert (found.pair, found.seconds) == (3, 4.0)

    def test_those_of_the_patch_and_of_other_suites_stay_as_they_are(self) -> None:
        others = (launch(Side.PATCH), launch(Side.BASE, "other"))

        assert under_new_names(others, [self.listing]) == others
