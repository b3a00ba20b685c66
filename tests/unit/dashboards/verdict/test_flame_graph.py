"""Flame graphs: which frames are drawn, how wide, in which colour, and within which limits."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise

import pytest

from dashboards.verdict.flame_graph import MOST_FRAMES, MOST_GROWN, TINTS, FlameGraph, Frame, flame_graph
from service.domain.verdict.explanation.explanation import LONGEST_TEXT, MOST_STACKS, Part, Stack
from tests.support.reading.explained import STACKS, random_stacks

MOST_PAGE = 500_000  # bytes


def drawn(*stacks: Stack) -> FlameGraph:
    graph = flame_graph(stacks)
    assert graph is not None
    return graph


def frame_of(graph: FlameGraph, name: str) -> Frame:
    (found,) = (each for each in graph.frames if each.name == name)
    return found


def test_stacks_with_the_same_callers_are_one_frame_as_wide_as_the_time_of_the_patch() -> None:
    graph = drawn(Stack(("f", "h"), 0.3, 0.5), Stack(("f", "g"), 0.4, 0.4), Stack(("f",), 0.3, 0.1))
    assert graph.frames == (
        Frame("one iteration", 0, 0, 1.0, 1.0),
        Frame("f", 1, 0, 1.0, 1.0),
        Frame("g", 2, 0, 0.4, 0.4),
        Frame("h", 2, 0.4, 0.3, 0.5),
    )
    assert '<rect x="40.000%" y="36" width="50.000%"' in graph.svg()
    assert "<title>h\n+20.0 points: 30 % → 50 %</title>" in graph.svg()


def test_a_function_has_a_frame_below_each_of_its_callers() -> None:
    graph = drawn(Stack(("f", "malloc"), 0.5, 0.5), Stack(("g", "malloc"), 0.5, 0.5))
    assert [each.x for each in graph.frames if each.name == "malloc"] == [0, 0.5]


def test_colour_and_sign_show_where_time_grew_and_fell() -> None:
    graph = drawn(Stack(("slow",), 0.4, 0.6), Stack(("fast",), 0.4, 0.35), Stack(("same",), 0.2, 0.201))
    assert [graph.tint(each) for each in graph.frames] == [3, -1, 0, TINTS]
    picture = graph.svg()
    for label in (">+20.0 slow<", ">−5.0 fast<", ">same<"):
        assert label in picture
    assert re.findall(r'class="(more\d|less\d)"', picture) == ["more3", "less1", "more4"]


def test_without_any_growth_every_frame_is_neutral() -> None:
    assert 'class="more' not in drawn(Stack(("f",), 1.0, 1.0)).svg()


def tints(*stacks: Stack, parts: tuple[Part, ...] = ()) -> dict[str, int]:
    graph = flame_graph(stacks, parts)
    assert graph is not None
    return {each.name: graph.tint(each) for each in graph.frames[1:]}


def test_growth_below_the_floor_is_neutral_and_the_scale_begins_above_it() -> None:
    noise = [Stack((f"f{place}",), 0.1, 0.1 + (-1) ** place * 2e-5 * place) for place in range(10)]
    assert set(tints(*noise).values()) == {0}
    assert tints(Stack(("f",), 0.5, 0.506), Stack(("g",), 0.5, 0.496)) == {"f": TINTS, "g": 0}


def test_what_grew_less_than_each_function_of_the_table_is_neutral() -> None:
    stacks = Stack(("f",), 0.3, 0.4), Stack(("g",), 0.3, 0.36), Stack(("h",), 0.3, 0.35)
    parts = Part("f", 0.1, 0.09, 0.11), Part("g", 0.06, 0.05, 0.07)
    assert tints(*stacks) == {"f": 2, "g": 1, "h": 1}
    assert tints(*stacks, parts=parts) == {"f": 2, "g": 1, "h": 0}


def test_a_frame_that_only_the_patch_has_does_not_set_the_scale_of_colours() -> None:
    new = Stack(("new",), 0.0, 0.5)
    found = tints(Stack(("old",), 0.5, 0.0), new, Stack(("f",), 0.3, 0.35), Stack(("g",), 0.3, 0.25))
    assert found == {"new": 4, "f": 4, "g": -4}


def test_the_frames_that_grew_most_come_with_their_callers_but_not_those_that_fell() -> None:
    stacks = Stack(("f", "malloc"), 0.1, 0.3), Stack(("g", "malloc"), 0.1, 0.2), Stack(("g",), 0.4, 0.2)
    rows = [(caller, each.name, round(each.growth, 3)) for caller, each in drawn(*stacks).grown]
    assert rows == [("", "f", 0.2), ("f", "malloc", 0.2), ("g", "malloc", 0.1)]
    many = [Stack((f"f{place}",), 0.1, 0.2 + place / 1e3) for place in range(30)]
    assert [each.name for _, each in drawn(*many).grown] == [f"f{29 - rank}" for rank in range(MOST_GROWN)]


def test_paths_of_the_parent_only_are_named_beside_the_graph() -> None:
    gone = [Stack((caller, "gone", "deeper"), base, 0.0) for caller, base in (("f", 0.1), ("g", 0.15))]
    graph = drawn(Stack(("f",), 0.4, 0.4), Stack(("g",), 0.3, 0.3), Stack(("tiny",), 0.05, 0.0), *gone)
    assert graph.gone == (("g", "gone", 0.15), ("f", "gone", 0.1), ("", "tiny", 0.05))
    assert [each.name for each in graph.frames] == ["one iteration", "f", "g"]
    assert graph.narrower == 0


def test_frames_narrower_than_half_a_pixel_are_counted_and_keep_their_place() -> None:
    graph = drawn(Stack(("a", "b"), 0.0, 0.0004), Stack(("c",), 0.0, 0.0004), Stack(("d",), 1.0, 0.9992))
    assert [(each.name, round(each.x, 3)) for each in graph.frames] == [("one iteration", 0), ("d", 0.001)]
    assert graph.narrower == 2


def test_ten_thousand_stacks_become_a_picture_of_limited_size() -> None:
    graph = drawn(*random_stacks(MOST_STACKS))
    assert len(graph.frames) == MOST_FRAMES
    assert graph.narrower > 1000
    assert len(graph.svg().encode()) < MOST_PAGE
    above: list[Frame] = []
    for each in graph.frames[1:]:
        above = [other for other in (*above, graph.frames[0]) if other.level < each.level]
        assert any(
            other.level == each.level - 1
            and other.x <= each.x + 1e-9
            and each.x + each.patch <= other.x + other.patch + 1e-9
            for other in above
        ), "the frame of its caller comes before it"
        above.append(each)


def test_the_widest_frames_are_drawn_if_there_are_too_many() -> None:
    stacks = [Stack((f"f{place:04}",), 1.0, 1.0 + place / 1e4) for place in range(1990)]
    deep = Stack(tuple(f"g{level}" for level in range(128)), 9.0, 9.0)
    graph = drawn(*stacks, deep)
    assert len(graph.frames) + graph.narrower == 1 + 1990 + 128
    assert frame_of(graph, "g127").level == 128
    assert not any(each.name == "f0000" for each in graph.frames)


def test_hostile_names_stay_text_and_long_ones_do_not_fill_the_page() -> None:
    script = "</title><script>alert(1)</script>"
    picture = drawn(Stack((script, "a\x1b[2J\u202eb"), 0.5, 1.0)).svg()
    assert "<script" not in picture
    assert script in unescape(picture)
    assert "\u202e" not in picture
    assert "\x1b" not in picture
    tail = "\U0001f525<" * (LONGEST_TEXT // 2 - 2)
    long = drawn(*(Stack((f"{place:04}{tail}",), 1.0, 1.0) for place in range(1999)))
    assert len(long.svg().encode()) < MOST_PAGE


@pytest.mark.parametrize("stacks", [[], [Stack(("f",), 1.0, 0.0)], [Stack(("f",), 1.0, -1.0)]])
def test_a_patch_that_takes_no_time_has_no_graph(stacks: list[Stack]) -> None:
    assert flame_graph(stacks) is None


def test_times_that_cannot_be_are_drawn_within_the_picture() -> None:
    graph = drawn(Stack(("f",), -1e308, 1e308), Stack(("f",), 1e308, 1e308), Stack((), 0.0, 1.0))
    assert [(each.name, each.x) for each in graph.frames] == [("one iteration", 0), ("f", 0)]
    assert set(re.findall(r'width="([\d.]+)%" height="17"', graph.svg())) == {"100.000"}


def test_a_frame_comes_before_those_that_it_calls_and_its_right_neighbours() -> None:
    frames = drawn(*STACKS).frames
    assert all(later.level <= each.level + 1 and later.x >= each.x for each, later in pairwise(frames))
