"""Decode the JSON of a result file: at once, or row by row if it is damaged or large."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS: Final = re.compile(r'"benchmarks"\s*+:\s*+\[')
_GAP: Final = re.compile(r"[\s,]*+")
_END: Final = re.compile(r"\]\s*+\}")
_MAX_DIGITS: Final = 19  # a 64-bit number


class Repeated(dict[str, object]):
    """Object with duplicate keys: the first value of each counts; ``repeated`` names them."""

    repeated: tuple[str, ...] = ()


class Damage(NamedTuple):
    """Offset in characters where a text stops being JSON, and the decoder's reason."""

    at: int
    why: str


class RowByRow:
    """Decode the rows of a list one at a time, up to the first damage.

    Args:
        text: the whole document.
        at: the offset behind the list's ``[``.

    After the iteration ``damage`` is the first damage, or None if the list and the document are closed.
    """

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self.damage: Damage | None = None

    def __iter__(self) -> Iterator[object]:
        at = _gap_end(self._text, self._at)
        while not self._text.startswith("]", at):
            found = _decode_by(_CAREFUL, self._text, at)
            if isinstance(found, Damage):
                self.damage = found
                return
            value, end = found
            yield value
            at = _gap_end(self._text, end)
        if not _END.match(self._text, at):
            self.damage = Damage(at + 1, "the end is missing")


def decode(text: str, start: int) -> tuple[dict[str, object], int] | Damage:
    """Decode the object that begins at ``start``, and return it with its end.

    NaN, Infinity and control characters in texts are accepted. An integer of very many digits becomes a
    float.
    """
    try:
        return _decode_by(_DECODER, text, start)
    except ValueError:  # Python refuses integers of more than 4,300 digits
        return _decode_by(_CAREFUL, text, start)


def find_rows(text: str, start: int) -> tuple[dict[str, object], RowByRow] | None:
    """Find the object with the context, and the rows one by one; None without a list of benchmarks."""
    found = _ROWS.search(text, start)
    head = decode(text[start : found.end()] + "]}", 0) if found else None
    if found is None or head is None or isinstance(head, Damage):
        return None
    return head[0], RowByRow(text, found.end())


def _decode_by(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int] | Damage:
    try:
        return decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Damage(error.pos, error.msg.lower())
    except RecursionError:
        return Damage(start, "nested too deeply")


def _gap_end(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _first_wins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    # Google Benchmark writes its own keys before the user's counters, which may have the same names.
    first = Repeated(reversed(pairs))
    counts = Counter(key for key, _ in pairs)
    first.repeated = tuple(key for key, count in counts.items() if count > 1)
    return first


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_first_wins)
_CAREFUL: Final = json.JSONDecoder(
    strict=False,
    object_pairs_hook=_first_wins,
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else float(digits),
)
