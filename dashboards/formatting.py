"""How values read on the pages: SI units, signs and words."""

from __future__ import annotations

import math
import re
from datetime import UTC
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from datetime import datetime

NOTHING: Final = "–"
# Of bytes too, since the axes of the figures know no others.
_LARGE: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL: Final = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_PER_SECOND: Final = "1/s"
_WEB_ADDRESS: Final = re.compile(r"https?://[!#-;=?-~]{1,2000}", re.ASCII | re.IGNORECASE)


def quantity(value: float | None, unit: str) -> str:
    """A value with three digits and a readable unit: ``1.82 µs``, ``12.4 M/s``, ``3.58 kB``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if unit == "s":
        return _scaled(value, _SMALL, "s")
    if unit == _PER_SECOND:
        return _scaled(value, _LARGE, "/s")
    if unit in {"B", "B/s"}:
        return _scaled(value, _LARGE, unit)
    return (
        f"{_digits(value)} {unit}".rstrip() if abs(value) < _LARGE[0][0] else f"{value:.3e} {unit}".rstrip()
    )


def exact(value: float | None) -> str:
    """All digits that tell a value from its neighbours."""
    return NOTHING if value is None else repr(value)


def moment(value: datetime | None) -> str:
    """``2026-11-21 02:36``, in UTC."""
    return NOTHING if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def stamp(value: datetime) -> str:
    """The same for machines, to the second."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def percent(value: float | None) -> str:
    """A share of the whole with two digits: ``0.42 %``, ``7.1 %``, ``14 %``."""
    return NOTHING if value is None else f"{_two_digits(100 * value)} %"


def _two_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - digits before the point


def lasting(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004 - seconds of an hour
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def counted(number: int, noun: str) -> str:
    """``1 build``, ``2 builds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def middle_cut(text: str, limit: int = 96) -> str:
    """A long name with its middle left out: benchmarks differ at both ends."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def breakable(text: str) -> Markup:
    """A name that may be broken after each slash, where its readers would."""
    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))


def is_web_address(text: str) -> bool:
    """Whether it is an address of the web as a whole, which may be made a link."""
    return _WEB_ADDRESS.fullmatch(text) is not None


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


def fact(value: object) -> str:
    """A fact of a machine's environment for people: lists and mappings without their brackets."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(fact(each) for each in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {fact(each)}" for name, each in value.items())
    return str(value)
