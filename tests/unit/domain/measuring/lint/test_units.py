"""Select the translation units to check changed files in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.lint.compile_commands import Unit
from service.domain.measuring.lint.units import MOST_INCLUDING, MOST_OF_ONE, Selection, includes_in, units_for

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = [f"{folder}{stem}{ending}" for folder in ("", "lib/") for stem in "abc" for ending in (".cc", ".h")]
INCLUDES = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "../a.h", "./b.h", "/"]), max_size=4).map(tuple)
)


def unit(path: str) -> Unit:
    return Unit(f"/src/{path}", "/src/build", path)


def selected(changed: list[str], units: list[str], includes: Mapping[str, tuple[str, ...]]) -> Selection:
    return units_for(changed, [unit(path) for path in units], includes)


def paths(selection: Selection) -> list[str]:
    return [each.path for each in selection.units]


def test_a_changed_unit_is_checked_itself() -> None:
    assert selected(["lib/a.cc"], ["lib/a.cc", "b.cc"], {}) == Selection((unit("lib/a.cc"),))


def test_a_changed_header_is_checked_in_the_units_that_include_it_its_namesake_first() -> None:
    includes = {"z/h.cc": ("h.h",), "a.cc": ("lib/h.h",), "b.cc": ("../lib/h.h",), "c.cc": ("other/h.h",)}
    selection = selected(["lib/h.h"], ["a.cc", "b.cc", "c.cc", "z/h.cc"], includes)

    assert paths(selection) == ["z/h.cc", "a.cc", "b.cc"]
    assert (selection.including, selection.candidates, selection.without) == (3, 3, ())


def test_a_unit_may_include_a_header_through_another() -> None:
    includes = {"far.cc": ("middle.h",), "middle.h": ("h.h",), "near.cc": ("h.h",), "h.h": ("middle.h",)}

    assert paths(selected(["h.h"], ["far.cc", "near.cc"], includes)) == ["near.cc", "far.cc"]


def test_a_source_that_only_a_unity_unit_compiles_is_checked_in_that() -> None:
    unity = "build/debug/unity_0.cxx"
    includes = includes_in(f'./{unity}\0#include "/src/lib/a.cc"\n'.encode())

    assert paths(selected(["lib/a.cc"], [unity], includes)) == [unity]


def test_a_file_that_no_unit_includes_is_named() -> None:
    assert selected(["win.cc", "h.h"], ["a.cc"], {"win.cc": ("h.h",)}).without == ("win.cc", "h.h")


def many(*headers: str) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Thirty units for each header that include it."""
    includes: dict[str, tuple[str, ...]] = {
        f"{name}{number:02}.cc": (name,) for name in headers for number in range(30)
    }
    return list(includes), includes


def test_five_units_with_a_header_are_checked_and_the_others_are_counted() -> None:
    selection = selected(["a.h"], *many("a.h"))

    assert (len(selection.units), selection.including, selection.candidates) == (MOST_OF_ONE, MOST_OF_ONE, 30)


def test_all_headers_together_are_checked_in_twenty_units() -> None:
    headers = [f"{name}.h" for name in "abcdefgh"]
    selection = selected(headers, *many(*headers))

    assert (len(selection.units), selection.candidates) == (MOST_INCLUDING, 8 * 30)
    assert {each.path[0] for each in selection.units} == set("abcdefgh")


def test_each_header_is_checked_before_one_is_checked_twice() -> None:
    units, includes = many("a.h")
    more = {"z1.cc": ("b.h",), "z2.cc": ("b.h",)}
    selection = selected(["a.h", "b.h"], [*units, *more], {**includes, **more})

    assert paths(selection)[:4] == ["a.h00.cc", "z1.cc", "a.h01.cc", "z2.cc"]


def test_changed_units_are_all_checked_and_suffice_for_their_headers() -> None:
    units, includes = many("a.h")
    selection = selected([*units[20:], "a.h"], units, includes)

    assert paths(selection) == units[20:]
    assert (selection.including, selection.candidates) == (10, 30)


def test_include_lines_are_read() -> None:
    output = (
        b'./a.cc\0#include "lib/a.h"\n./a.cc\0  #  include <b.h> \n./two:words.h\0#include\t"c.h"\nnoise\n'
        b'./a.cc\0#include "lib/a.h"\n'
    )

    assert includes_in(output) == {"a.cc": ("lib/a.h", "b.h"), "two:words.h": ("c.h",)}


@given(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)), INCLUDES)
def test_every_changed_file_is_checked_or_named(
    changed: set[str], units: set[str], includes: dict[str, tuple[str, ...]]
) -> None:
    selection = selected(sorted(changed), sorted(units), includes)

    assert changed & units <= set(paths(selection))
    assert len(paths(selection)) == len(set(paths(selection))) <= len(changed & units) + MOST_INCLUDING
    assert set(selection.without) <= changed - units
    assert bool(selection.candidates) or set(selection.without) == changed - units


@given(st.binary(max_size=200))
def test_any_output_is_read(output: bytes) -> None:
    includes_in(output)
