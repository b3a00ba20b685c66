"""The boundaries of characters in the bytes of a log."""

from __future__ import annotations

from typing import Final

_CONTINUES: Final = 0b1000_0000  # the least byte that is no character by itself
# The least first byte of a character, and its bytes in UTF-8.
_FIRST: Final = ((0b1111_0000, 4), (0b1110_0000, 3), (0b1100_0000, 2))


def whole_characters(data: bytes) -> bytes:
    """Cut the beginning of a UTF-8 character off the end of some bytes; bytes that are none stay.

    All of them stay if they are nothing but such a beginning.
    """
    for back, byte in enumerate(reversed(data[-3:]), 1):
        if byte < _CONTINUES:
            break
        for least, size in _FIRST:
            if byte >= least:
                return data[:-back] or data if back < size else data
    return data
