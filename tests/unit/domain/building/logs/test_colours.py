from __future__ import annotations

import pytest

from service.domain.building.logs.colours import Style, styled_lines


def styled(text: str) -> list[list[tuple[Style, str]]]:
    return list(styled_lines(text.split("\n")))


RED, BOLD = Style("red"), Style(is_bold=True)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("plain", [(Style(), "plain")]),
        ("\x1b[31mred\x1b[0m plain", [(RED, "red"), (Style(), " plain")]),
        ("\x1b[1;91mred", [(Style("red", is_bold=True), "red")]),
        ("\x1b[31mred\x1b[39m\x1b[1m bold\x1b[m no", [(RED, "red"), (BOLD, " bold"), (Style(), " no")]),
        ("\x1b[38;5;31;1mbold", [(BOLD, "bold")]),
        ("\x1b[38;2;31;31;31mplain", [(Style(), "plain")]),
        ("\x1b[4;45munderlined", [(Style(), "underlined")]),
        (
            "\x1b[2K\x1b[1Aup \x1b]8;;https://example.com\x1b\\link\x1b]8;;\x07",
            [(Style(), "up "), (Style(), "link")],
        ),
        ("\x1b[31;;;mplain", [(Style(), "plain")]),
        ("half \x1b[3", [(Style(), "half [3")]),
        ("\x9b31m \u202egnp.exe\x00\t.", [(Style(), "31m gnp.exe\t.")]),
    ],
)
def test_a_line_has_the_colours_of_a_terminal_and_nothing_else_of_it(
    text: str, texts: list[tuple[Style, str]]
) -> None:
    assert styled(text) == [texts]


def test_a_colour_lasts_until_it_changes_also_over_lines() -> None:
    assert styled("\x1b[31mone\ntwo\x1b[0m\nthree") == [[(RED, "one")], [(RED, "two")], [(Style(), "three")]]


@pytest.mark.parametrize("line", ["1 %\r50 %\r100 %", "1 %\r\x1b[2K100 %\r", "1 %\r100 %\r\r"])
def test_a_progress_bar_is_shown_in_its_last_state(line: str) -> None:
    assert styled(line) == [[(Style(), "100 %")]]
