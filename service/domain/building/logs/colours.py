"""Turn the terminal colours of a log into styles."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.values.text import ESCAPE_SEQUENCE, unsafe_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COLOURS: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOUR: Final = re.compile(r"\x1b\[([0-9;]{0,64})m")
_RESET, _BOLD, _NOT_BOLD, _NO_COLOUR = 0, 1, 22, 39
_NORMAL, _BRIGHT = 30, 90  # the codes of the first colour
_EXTENDED: Final = (38, 48)  # a colour of 256 or of 16 million follows
_FOLLOWING: Final = {5: 1, 2: 3}  # how many numbers follow, by form


@dataclass(frozen=True, slots=True)
class Style:
    """A style of text; ``colour`` is one of :data:`COLOURS`, or empty."""

    colour: str = ""
    is_bold: bool = False


PLAIN: Final = Style()


def styled_lines(lines: Iterable[str]) -> Iterator[list[tuple[Style, str]]]:
    """Split each line into texts of one style, without control characters.

    A style lasts until it changes, also across lines; other escape sequences have no effect. Of a line that
    carriage returns overwrite, such as a progress bar, only the last state is kept.
    """
    style = PLAIN
    for line in lines:
        shown: list[tuple[Style, str]] = []
        for state in line.split("\r"):
            texts, style = _texts(state, style)
            shown = texts or shown
        yield shown


def _texts(line: str, style: Style) -> tuple[list[tuple[Style, str]], Style]:
    """Return the texts of a line, and the style after it."""
    texts: list[tuple[Style, str]] = []
    place = 0
    for sequence in ESCAPE_SEQUENCE.finditer(line):
        texts.append((style, _shown(line[place : sequence.start()])))
        if colour := _COLOUR.fullmatch(sequence[0]):
            style = _after(style, colour[1])
        place = sequence.end()
    texts.append((style, _shown(line[place:])))
    return [(each, text) for each, text in texts if text], style


def _shown(text: str) -> str:
    if text.isascii() and text.isprintable():  # the usual case, and quick
        return text
    return text.translate(dict.fromkeys(map(ord, unsafe_in(text))))


def _after(style: Style, parameters: str) -> Style:
    """Apply a sequence of SGR codes to a style; unknown codes have no effect."""
    codes = iter([int(code or 0) for code in parameters.split(";")])
    for code in codes:
        if code == _RESET:
            style = PLAIN
        elif code in (_BOLD, _NOT_BOLD):
            style = replace(style, is_bold=code == _BOLD)
        elif code == _NO_COLOUR:
            style = replace(style, colour="")
        elif code in _EXTENDED:
            for _ in range(_FOLLOWING.get(next(codes, 0), 0)):
                next(codes, 0)
        else:
            for first in (_NORMAL, _BRIGHT):
                if first <= code < first + len(COLOURS):
                    style = replace(style, colour=COLOURS[code - first])
    return style
