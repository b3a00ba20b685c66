"""Values as text on the pages: SI units, signs and words."""

from __future__ import annotations

import math
import re
from datetime import UTC
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from service.domain.inference.metric import metric_named
from service.domain.text import plain

if TYPE_CHECKING:
    from datetime import datetime

    from service.ports.views import Comparison

NOTHING: Final = "–"
# Of bytes too, since the axes of the figures know no others.
_LARGE: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL: Final = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_SCALES: Final = {"s": (_SMALL, "s"), "1/s": (_LARGE, "/s"), "B": (_LARGE, "B"), "B/s": (_LARGE, "B/s")}
_WEB_ADDRESS: Final = re.compile(r"https?://[!#-;=?-~]{1,2000}", re.ASCII | re.IGNORECASE)


def quantity(value: float | None, unit: str) -> str:
    """Write a value with three digits and a readable unit: ``1.82 µs``, ``12.4 M/s``, ``3.58 kB``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if unit in _SCALES:
        return _scaled(value, *_SCALES[unit])
    shown = _digits(value) if abs(value) < _LARGE[0][0] else f"{value:.3e}"
    return f"{shown} {unit}".rstrip()


def moment(value: datetime | None) -> str:
    """Write a time in UTC: ``2026-11-21 02:36``."""
    return NOTHING if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def stamp(value: datetime) -> str:
    """Write a time in UTC for programs: ``2026-11-21T02:36:00Z``."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def percent(value: float | None) -> str:
    """Write a share of the whole with two digits: ``0.42 %``, ``7.1 %``, ``14 %``."""
    if value is None:
        return NOTHING
    number = 100 * value
    return f"{number:.0f} %" if number >= 10 else f"{number:.2g} %"  # noqa: PLR2004 - two digits


def metric_label(name: str) -> str:
    """Name a metric as messages do: ``items/s``, ``CPU time``."""
    return plain(metric_named(name).label, 100)


def labelled_quantity(value: float | None, unit: str, metric: str) -> str:
    """Write a value with its metric, and the unit once: ``726 M items/s``, ``1.2 ms CPU time``."""
    shown = quantity(value, unit)
    if unit == "B/s":
        return shown
    return f"{shown.removesuffix('/s').rstrip() if unit == '1/s' else shown} {metric_label(metric)}"


def details(row: Comparison) -> str:
    """Write a comparison's values and reason on one line."""
    values = f"{quantity(row.base, row.unit)} → {quantity(row.patch, row.unit)}, {counted(row.pairs, 'pair')}"
    return "; ".join(filter(None, (values if row.ratio is not None else "", plain(row.reason, 300))))


def tone(judged: int | None, undecided: int = 0) -> str:
    """Name the colours of a vote or result: +1 is good, −1 is bad; with undecided results, +1 is neither."""
    if judged == 1:
        return "busy" if undecided else "good"
    return "bad" if judged == -1 else "quiet"


def lasting(seconds: float) -> str:
    """Write a duration: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004 - seconds of an hour
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 build``, ``2 builds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def middle_cut(text: str, limit: int = 96) -> str:
    """Shorten a long name in its middle: benchmarks differ at both ends."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def breakable(text: str) -> Markup:
    """Allow a line break after each slash of a name."""
    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))


def is_web_address(text: str) -> bool:
    """Return whether a text as a whole is a web address, which may become a link."""
    return _WEB_ADDRESS.fullmatch(text) is not None


def fact(value: object) -> str:
    """Write a fact of a machine's environment: lists and mappings without their brackets."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(fact(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {fact(item)}" for name, item in value.items())
    return str(value)


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
