"""Text from a patch set made harmless, and numbers made readable."""

from __future__ import annotations

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
_SHOWN_AS_FACTOR: Final = 2.0  # from here on "×53" reads better than "+5200 %"
_DIRECTION_MARKS: Final = frozenset("\u200e\u200f\u061c")


def plain(text: str, limit: int = 200) -> str:
    """One line of at most ``limit`` characters: no control, format or surrogate characters."""
    kept = text[: 4 * limit]
    if not (kept.isascii() and kept.isprintable()):  # the usual case, and quick
        kept = "".join(c for c in kept if _is_plain(c))
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def padded(text: str, limit: int = 200) -> str:
    """As :func:`plain`, but with its runs of blanks: other programs pad their lines with them."""
    words = text[: 4 * limit].split(" ")
    line = " ".join(plain(word, limit) for word in words).strip()
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def _is_plain(character: str) -> bool:
    # Cf holds the bidirectional overrides that make a text read as another.
    return character in " \t\n" or (
        unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"} and character not in _DIRECTION_MARKS
    )


def change(ratio: float) -> str:
    """A ratio as the change it means: ``−12.3 %``, ``+4.2 %``, ``×53.1``."""
    return factor(ratio) if ratio >= _SHOWN_AS_FACTOR else signed_percent(ratio)


def factor(ratio: float) -> str:
    """``×53.1``, with three digits that mean something."""
    if ratio >= 1e6:  # noqa: PLR2004 - beyond, digits only confuse
        return f"×{ratio:.1e}"
    return f"×{ratio:.0f}" if ratio >= 100 else f"×{ratio:.3g}"  # noqa: PLR2004 - three digits


def signed_percent(ratio: float) -> str:
    """``−12.3 %`` with a true minus sign."""
    percent = (ratio - 1) * 100
    digits = 2 if abs(percent) < 1 else 1
    text = f"{abs(percent):.{digits}f} %"
    sign = "±" if float(f"{abs(percent):.{digits}f}") == 0 else "−" if percent < 0 else "+"
    return sign + text


def duration(seconds: float) -> str:
    """``40 s``, ``6 min``, ``2 h``."""
    if seconds < 90:  # noqa: PLR2004 - "1 min" would hide half of it
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"  # noqa: PLR2004 - ditto


def share(fraction: float) -> str:
    """A share of the whole: ``3 %``, ``2.5 %``."""
    return f"{fraction * 100:.3g} %"


def interval(low: float, high: float, ratio: float | None = None) -> str:
    """A ratio's interval, written as :func:`change` writes it: ``[−13.1, −11.4]``, ``[×51.8, ×54.3]``."""
    if (low if ratio is None else ratio) >= _SHOWN_AS_FACTOR:
        return f"[{factor(low)}, {factor(high)}]"
    return f"[{signed_percent(low).removesuffix(' %')}, {signed_percent(high).removesuffix(' %')}]"
