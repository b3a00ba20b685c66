"""Format values for the pages: SI units, signs and words."""

from __future__ import annotations

import math
import re
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from service.domain.measuring.metric import metric_named
from service.domain.values.text import plain, signed_percent
from service.domain.values.text import quantity as of_finite

if TYPE_CHECKING:
    from datetime import datetime

    from service.ports.verdict import Comparison

NOTHING: Final = "–"
_GROUPED: Final = 9.995  # growth; 1,000 points
_WEB_ADDRESS: Final = re.compile(r"https?://[!#-;=?-~]{1,2000}", re.ASCII | re.IGNORECASE)


def points(growth: float) -> str:
    """Write a growth, given as a share, in percentage points: ``+9.8``, ``−0.42``, ``+39,369``."""
    if growth >= _GROUPED:
        return f"{100 * growth:+,.0f}"
    return signed_percent(1 + growth).removesuffix(" %")


def quantity(value: float | None, unit: str) -> str:
    """Write a value as messages do; a dash without one."""
    return NOTHING if value is None or not math.isfinite(value) else of_finite(value, unit)


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


@lru_cache(maxsize=1024)  # a figure asks once for each of its points
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
    return Markup(str(escape(text)).replace("/", "/<wbr>"))  # noqa: S704 - escaped


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
