from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from dashboards.verdict.interval_bar import Bar, Mark
from service.domain.verdict.inference.verdict import Verdict

BAR = Bar(
    left=60.5,
    right=100.0,
    centre=80.2,
    is_cut_left=False,
    is_cut_right=False,
    is_centre_cut=False,
    mark=Mark.DOWN,
)


def drawn(bar: Bar, change: str = "−4.2 %", interval: str = "[−5.0, −3.4]") -> ET.Element:
    return ET.fromstring(bar.svg(Verdict.SLOWER, change, interval, '<rect class="floor"/>'))  # noqa: S314


def classes(svg: ET.Element) -> list[str | None]:
    return [part.get("class") for part in svg]


def test_a_bar_spans_the_interval_around_its_mark() -> None:
    svg = drawn(BAR)
    _, _, reach, *ends, _ = svg
    assert svg.get("aria-label") == "−4.2 %, interval [−5.0, −3.4] percent"
    assert (reach.get("x1"), reach.get("x2")) == ("60.5", "100.0")
    assert [end.get("x1") for end in ends] == ["60.5", "100.0"]
    assert classes(svg) == ["floor", "zero", "reach", "end", "end", "mark"]


@pytest.mark.parametrize("mark", list(Mark))
def test_each_mark_has_a_shape_of_its_own(mark: Mark) -> None:
    shapes = {
        each: drawn(Bar(60, 100, 80, False, False, False, each))[-1]  # noqa: FBT003
        for each in Mark
    }
    others = [ET.tostring(shape) for each, shape in shapes.items() if each is not mark]
    assert ET.tostring(shapes[mark]) not in others


def test_an_end_beyond_the_drawing_is_marked_instead_of_drawn() -> None:
    svg = drawn(Bar(0.0, 240.0, 20.0, True, True, False, Mark.DOT))  # noqa: FBT003
    assert [part.text for part in svg if part.get("class") == "cut"] == ["«", "»"]
    assert "end" not in classes(svg)


def test_a_change_beyond_the_drawing_is_written_at_its_end() -> None:
    svg = drawn(Bar(0.0, 0.0, 0.0, True, False, True, Mark.DOWN), "−99 %")  # noqa: FBT003
    assert [part.text for part in svg if part.get("class") == "cut"] == ["« −99 %"]
    assert "mark" not in classes(svg)


def test_words_are_escaped() -> None:
    assert drawn(BAR, '"><script>', "").get("aria-label") == '"><script>'
