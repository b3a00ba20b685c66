"""Split a message into lines of words and cells; read words as numbers with prefixes and units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from service.domain.claims.values import Fault, Unreadable
from service.domain.measuring.formats.row import PER_SECOND, ReadLimits
from service.domain.values.text import ESCAPE_SEQUENCE, unsafe_in

_MOST_NAME: Final = ReadLimits().name_characters
_LONGEST: Final = 2_000  # characters; a longer line has no words, so it is never a row
_QUOTE: Final = re.compile(r" {0,3}> ?")
_GAP: Final = re.compile(r" {2,}")
# Characters of Unicode's Default_Ignorable_Code_Point that are letters or marks: they show nothing either.
_IGNORABLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
DECIMAL: Final = 1000
BINARY: Final = 1024
_SPELLINGS: Final = {"\u00b5s": "us", "\u03bcs": "us", "nsec": "ns", "usec": "us", "msec": "ms", "sec": "s"}
_POWERS: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "m": -1, "u": -2, "\u00b5": -2, "n": -3}
_DIGITS: Final = r"[0-9]{1,18}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,4})?"
# Three digits after a comma are thousands: programs that print a decimal comma print no English unit.
_NUMBER: Final = re.compile(rf"(?:{_DIGITS}|[0-9]{{1,3}}(?:[,'_][0-9]{{3}}){{1,5}}(?:\.[0-9]{{1,15}})?)")
_SCALED: Final = re.compile(rf"({_DIGITS})([kKMGTmu\u00b5n]?)(i?)(/s|B/s)?")
_PRINTED: Final = re.compile(r"[0-9][0-9,'_.]*")  # without an exponent
_LIKE_NUMBER: Final = re.compile(r"[-+.]?[0-9]|[-+]?(?:nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a message, from 1; ``words`` are without the bars and backquotes of Markdown.

    It is quoted ``quotes`` times, and hides characters from a reader if it ``is_hiding``.
    """

    number: int
    text: str
    words: tuple[str, ...]
    quotes: int
    is_hiding: bool

    @property
    def cells(self) -> list[str]:
        """Split the line at bars, or at runs of blanks if it has none."""
        text = self.text.strip()
        cells = text.strip("|").split("|") if "|" in text else _GAP.split(text)
        return [cell.strip("*` ") for cell in cells]


def lines_of(message: str) -> list[Line]:
    """Return the lines of a message."""
    lines = []
    for number, raw in enumerate(message.replace("\r\n", "\n").split("\n"), start=1):
        quotes, start = 0, 0
        while mark := _QUOTE.match(raw, start):
            quotes, start = quotes + 1, mark.end()
        text = ESCAPE_SEQUENCE.sub("", raw[start:]).expandtabs().rstrip()
        words = text.replace("|", " ").replace("`", "").split() if len(text) <= _LONGEST else ()
        is_plain = text.isascii() and text.isprintable()
        is_hiding = not is_plain and bool(_IGNORABLE.search(text) or unsafe_in(text))
        lines.append(Line(number, text, tuple(words), quotes, is_hiding))
    return lines


def is_like_number(word: str) -> bool:
    """Return whether a word stands where a number should: also one that is cut, negative or not finite."""
    return _LIKE_NUMBER.match(word) is not None


def is_name(text: str) -> bool:
    """Return whether a text may be the whole name of a benchmark, not one with dots for a part of it."""
    return 0 < len(text) <= _MOST_NAME and "..." not in text and "\u2026" not in text


def unit_of(word: str) -> str | None:
    """Return the unit of time that a word names, in Google Benchmark's spelling."""
    return word if word in PER_SECOND else _SPELLINGS.get(word)


def number(word: str) -> float:
    """Read a number of at least 0; raises Unreadable if it is anything else."""
    if not _NUMBER.fullmatch(word):
        raise Unreadable(Fault.NOT_A_NUMBER, word)
    return _finite(float(re.sub("[,'_]", "", word)), word)


def scaled(word: str, base: int | None) -> tuple[float, str] | None:
    """Read a counter such as ``2.5k`` or ``212MB/s``; return its value and ``/s``, ``B/s`` or nothing.

    ``base`` is that of prefixes without an ``i``. Returns None for any other word.

    Raises:
        Unreadable: it has a prefix, and the base is not known; or it is too large.
    """
    found = _SCALED.fullmatch(word)
    if not found or (found[3] and _POWERS[found[2]] <= 0):
        return None
    if found[2] and not found[3] and base is None:
        raise Unreadable(Fault.PREFIX, word)
    value = float(found[1]) * (BINARY if found[3] else base or 1) ** float(_POWERS[found[2]])
    return _finite(value, word), found[4] or ""


def rounding_of(word: str) -> float:
    """Return how far the logarithm of a true value may be from that of a number, printed as this word.

    The value is rounded to the last printed digit; a prefix or unit may follow. Infinite for 0.
    """
    found = _PRINTED.match(word)
    digits = int(re.sub(r"\D", "", found[0])) if found else 0
    return -math.log1p(-0.5 / digits) if digits else math.inf


def quotient(new: float, old: float) -> float | None:
    """Divide by the old value; return None if that is 0. Raises Unreadable beyond all numbers."""
    return _finite(new / old, f"{new:g} / {old:g}") if old else None


def _finite(value: float, text: str) -> float:
    if math.isinf(value):
        raise Unreadable(Fault.TOO_LARGE, text)
    return value
