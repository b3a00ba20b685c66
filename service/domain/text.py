"""Harmless forms of text from a patch set, and readable forms of numbers."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
_SHOWN_AS_FACTOR: Final = 2.0  # from here on "×53" reads better than "+5200 %"
_NO_CHANGE: Final = frozenset({"+0.00 %", "-0.00 %"})
_LINE_ENDS: Final = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters, and marks that reverse the direction of text: a name could look like another.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co"})  # categories of characters
_BRIEF: Final = 61  # characters, the ellipsis included


def clean(text: str) -> str:
    """Remove control characters from a name that is stored and compared; it is not shortened.

    Tabs and line ends become one space, and a lone surrogate becomes U+FFFD. The result can be encoded as
    UTF-8 and has no NUL. :func:`plain` is for a text that is only shown.
    """
    if text.isprintable():  # the usual case, and quick
        return text
    text = _LONE_SURROGATES.sub("\ufffd", text)
    text = _LINE_ENDS.sub(" ", text)
    return _CONTROLS.sub("", text)


def brief(text: str) -> str:
    """Quote the beginning of a foreign text for a message."""
    return repr(plain(text, _BRIEF))


def plain(text: str, limit: int = 200) -> str:
    """Make one line of at most ``limit`` characters without control, format or surrogate characters."""
    is_ascii = text.isascii() and text.isprintable()
    if is_ascii and len(text) <= limit and " " not in text:  # the usual case, and quick
        return text
    kept = text[: 4 * limit]
    if not is_ascii:
        # Cf holds the bidirectional overrides that make a text read as another.
        kept = "".join(c for c in kept if c in " \t\n" or unicodedata.category(c) not in _UNSAFE)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def shortened(text: str, limit: int) -> str:
    """Do the same as :func:`plain`, but cut behind a sentence, clause or word that ends late enough."""
    line = plain(text, 4 * limit)
    if len(line) <= limit:
        return line
    kept = line[: max(limit - 2, 0)]
    for end in (". ", "; ", ", ", " "):
        place = kept.rfind(end)
        if place >= limit // 2:
            return f"{kept[: place + 1].rstrip(' ,;')} {ELLIPSIS}"
    return plain(line, limit)


def plain_lines(text: str) -> str:
    """Remove control, format and surrogate characters from a text of several lines; it is not shortened."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(dict.fromkeys(map(ord, unsafe_in(text))))


def unsafe_in(text: str) -> set[str]:
    """Return the control, format and surrogate characters in a text, except line ends and tabs."""
    return {c for c in set(text) if c not in "\n\t" and unicodedata.category(c) in _UNSAFE}


def padded(text: str, limit: int = 200) -> str:
    """Do the same as :func:`plain`, but keep runs of blanks: other programs align their lines by them."""
    words = text[: 4 * limit].split(" ")
    line = " ".join(plain(word, limit) for word in words).strip()
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def change(ratio: float) -> str:
    """Format a ratio as a change: ``−12.3 %``, ``+4.2 %``, ``×53.1``."""
    return factor(ratio) if ratio >= _SHOWN_AS_FACTOR else signed_percent(ratio)


def factor(ratio: float) -> str:
    """Format a ratio as a factor with three digits: ``×53.1``."""
    if ratio >= 1e6:  # noqa: PLR2004 - beyond, digits only confuse
        return f"×{ratio:.1e}"
    return f"×{ratio:.0f}" if ratio >= 100 else f"×{ratio:.3g}"  # noqa: PLR2004 - three digits


def signed_percent(ratio: float) -> str:
    """Format a ratio as a percentage: ``−12.3 %``, with a true minus sign."""
    percent = (ratio - 1) * 100
    text = f"{percent:+.2f} %" if -1 < percent < 1 else f"{percent:+.1f} %"
    return "±0.00 %" if text in _NO_CHANGE else text.replace("-", "−")


def duration(seconds: float) -> str:
    """Format seconds: ``40 s``, ``6 min``, ``2 h``."""
    if seconds < 90:  # noqa: PLR2004 - "1 min" would hide half of it
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"  # noqa: PLR2004 - ditto


def share(fraction: float) -> str:
    """Format a share of the whole: ``3 %``, ``2.5 %``."""
    return f"{fraction * 100:.3g} %"


def interval(low: float, high: float, ratio: float | None = None) -> str:
    """Format a ratio's interval like :func:`change`: ``[−13.1, −11.4]``, ``[×51.8, ×54.3]``."""
    if (low if ratio is None else ratio) >= _SHOWN_AS_FACTOR:
        return f"[{factor(low)}, {factor(high)}]"
    return f"[{signed_percent(low).removesuffix(' %')}, {signed_percent(high).removesuffix(' %')}]"
