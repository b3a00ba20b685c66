"""Sanitise untrusted text, and format numbers for people."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ELLIPSIS: Final = "…"
# =? and ?= are not allowed: in a mail header they could encode another address.
MAIL_ADDRESS: Final = r"[A-Za-z0-9.!#$%&'*+/^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}"
_SHOWN_AS_FACTOR: Final = 2.0  # from here on "×53" reads better than "+5200 %"
_NO_CHANGE: Final = frozenset({"+0.00 %", "-0.00 %"})
LINE_BYTES: Final = 4096  # parsed bytes of a line of output: what matters is at its beginning
# Terminal escapes: CSI (colours, cursor) and OSC (titles, links), which contain text.
ESCAPE_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_LINE_ENDS: Final = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters, and bidirectional marks, which make a name look like another.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co"})  # Unicode categories
_BRIEF: Final = 61  # characters, including the ellipsis
# Marks that begin a block of Markdown (heading, item, quote, rule, code, table) or define a link.
_BLOCK: Final = re.compile(
    r"([0-9]{1,9}(?=[.)](?: |$))|(?=#{1,6}(?: |$)|[-+*](?: |$)|[>|]|~~~|```|(?:[-*_=] ?){3,}$|\[[^\]]*\]:))"
)
_ESCAPING: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~])")  # a backslash that Markdown would drop
_OUTER_UNDERSCORE: Final = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # within a word it has no meaning
# Decimal for bytes too, as on the axes of the figures.
_LARGE: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL: Final = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_SCALES: Final = {"s": (_SMALL, "s"), "1/s": (_LARGE, "/s"), "B": (_LARGE, "B"), "B/s": (_LARGE, "B/s")}


def clean(text: str) -> str:
    """Remove control characters from a name that is stored and compared, without shortening it.

    Tabs and line ends become one space, and a lone surrogate becomes U+FFFD. The result can be encoded as
    UTF-8 and has no NUL. Use :func:`plain` for text that is only shown.
    """
    if text.isprintable():  # the usual case, and quick
        return text
    text = _LONE_SURROGATES.sub("\ufffd", text)
    text = _LINE_ENDS.sub(" ", text)
    return _CONTROLS.sub("", text)


def brief(text: str) -> str:
    """Quote the beginning of an untrusted text for a message."""
    return repr(plain(text, _BRIEF))


def plain(text: str, limit: int = 200) -> str:
    """Make one line of at most ``limit`` characters without control, format or surrogate characters."""
    is_ascii = text.isascii() and text.isprintable()
    if is_ascii and len(text) <= limit and "  " not in text and text == text.strip(" "):  # usual, and quick
        return text
    kept = text[: 4 * limit]
    if not is_ascii:
        # Cf contains the bidirectional overrides.
        kept = "".join(c for c in kept if c in " \t\n" or unicodedata.category(c) not in _UNSAFE)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def both_ends(text: str, limit: int, between: str = ELLIPSIS) -> str:
    """Sanitise like :func:`plain`, but cut in the middle: the end of a function's name tells the most.

    ``between`` joins the ends.
    """
    line = plain(text, len(text))
    if len(line) <= limit:
        return line
    kept = limit - len(between)
    return line[: kept // 3] + between + line[kept // 3 - kept :]


def shortened(text: str, limit: int) -> str:
    """Sanitise like :func:`plain`, but cut after a sentence, clause or word in the second half."""
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
    """Remove control, format and surrogate characters from a text of several lines, without shortening it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(dict.fromkeys(map(ord, unsafe_in(text))))


def unsafe_in(text: str) -> set[str]:
    """Return the control, format and surrogate characters in a text, except line ends and tabs."""
    return {c for c in set(text) if c not in "\n\t" and unicodedata.category(c) in _UNSAFE}


def padded(text: str, limit: int = 200) -> str:
    """Sanitise like :func:`plain`, but keep runs of blanks that align other programs' lines."""
    words = text[: 4 * limit].split(" ")
    line = " ".join(plain(word, limit) for word in words).strip()
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def literal(line: str) -> str:
    """Escape Markdown in a line of a message, so that Gerrit shows it as it is.

    Gerrit before 3.9 shows messages unformatted, so only marks that would have an effect get a backslash:
    ``BM_Sort<int>/64`` and ``a_b*c`` stay as they are. Code between backticks stays code, and Gerrit shows
    HTML as text.
    """
    line = _ESCAPING.sub(r"\\\\", line).replace("](", r"]\(")
    for mark in (re.compile(r"\*"), _OUTER_UNDERSCORE, re.compile("~")):
        if len(mark.findall(line)) > 1:  # one alone opens nothing
            line = mark.sub(r"\\\g<0>", line)
    return _BLOCK.sub(r"\g<1>\\", line, count=1) if _BLOCK.match(line) else line


def listed(names: Sequence[str], most: int = 3) -> str:
    """Join the first few names, and count the others: ``a, b, c and 2 more``."""
    shown = ", ".join(plain(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 program``, ``3 programs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def change(ratio: float) -> str:
    """Format a ratio as a change: ``−12.3 %``, ``+4.2 %``, ``×53.1``."""
    return factor(ratio) if ratio >= _SHOWN_AS_FACTOR else signed_percent(ratio)


def factor(ratio: float) -> str:
    """Format a ratio as a factor with three digits: ``×53.1``."""
    if ratio >= 1e6:  # noqa: PLR2004 - beyond, digits only confuse
        return f"×{ratio:.1e}"
    return f"×{ratio:.0f}" if ratio >= 100 else f"×{ratio:.3g}"  # noqa: PLR2004 - three digits


def signed_percent(ratio: float) -> str:
    """Format a ratio as a change in percent with a true minus sign: ``−12.3 %``."""
    percent = (ratio - 1) * 100
    text = f"{percent:+.2f} %" if -1 < percent < 1 else f"{percent:+.1f} %"
    return "±0.00 %" if text in _NO_CHANGE else text.replace("-", "−")


def quantity(value: float, unit: str) -> str:
    """Format a finite value with three digits and a readable unit: ``1.82 µs``, ``12.4 M/s``, ``3.58 kB``."""
    if unit in _SCALES:
        return _scaled(value, *_SCALES[unit])
    shown = _digits(value) if abs(value) < _LARGE[0][0] else f"{value:.3e}"
    return f"{shown} {unit}".rstrip()


def before_and_after(base: float, patch: float, unit: str) -> str:
    """Format the values of both sides: ``41.2 → 61.9 µs``, ``900 ns → 1.20 µs``."""
    before, after = quantity(base, unit), quantity(patch, unit)
    number, _, of_before = before.partition(" ")
    return f"{number if of_before == after.partition(' ')[2] else before} → {after}"


def duration(seconds: float) -> str:
    """Format seconds: ``40 s``, ``6 min``, ``2 h``."""
    if seconds < 90:  # noqa: PLR2004 - "1 min" would hide half of it
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"  # noqa: PLR2004 - ditto


def share(fraction: float) -> str:
    """Format a share of the whole: ``3 %``, ``2.5 %``; many times the whole are ``90,552 %``."""
    percent = fraction * 100
    return f"{percent:,.0f} %" if percent >= 999.5 else f"{percent:.3g} %"  # noqa: PLR2004 - rounds to 1,000


def interval(low: float, high: float, ratio: float | None = None) -> str:
    """Format a ratio's interval like :func:`change`: ``[−13.1, −11.4]``, ``[×51.8, ×54.3]``."""
    if (low if ratio is None else ratio) >= _SHOWN_AS_FACTOR:
        return f"[{factor(low)}, {factor(high)}]"
    return f"[{signed_percent(low).removesuffix(' %')}, {signed_percent(high).removesuffix(' %')}]"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], unit: str) -> str:
    for size, prefix in steps:
        if abs(value) >= size:
            return f"{_digits(value / size)} {prefix}{unit}"
    size, prefix = steps[-1]
    return f"{_digits(value / size)} {prefix}{unit}" if value else f"0 {unit}"


def _digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:  # noqa: PLR2004 - counts read better without a point
        return str(int(value))
    if abs(value) >= 100:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"  # noqa: PLR2004 - three digits
