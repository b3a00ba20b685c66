"""Write which kinds of causes were counted for a slower benchmark; never as time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.text import both_ends, plain
from service.domain.verdict.comparison.causes import Kind

if TYPE_CHECKING:
    from service.domain.verdict.comparison.causes import Cause, Explanation

NOT_REACHED: Final = "the minute for explanations was used up"
_SHOWN: Final = 2  # kinds of one benchmark
_FUNCTION: Final = 60  # characters of its name
_ZERO: Final = 0.005  # per iteration; less is what a loop has once
_GROUPED: Final = 999.5  # rounded to an integer, with digits in groups
_MANY: Final = 10.0  # times as many, from which a percentage is hard to read


def explanation(found: Explanation) -> str:
    """Write the sentence of one slower benchmark."""
    name = plain(found.benchmark)
    if found.obstacle:
        return f"{name}: not explained: {plain(found.obstacle)}"
    if not found.causes:
        return f"{name}: not explained: nothing that was counted grew for sure"
    return f"{name}: {'; '.join(map(_cause, found.causes[:_SHOWN]))}"


def _cause(found: Cause) -> str:
    function = both_ends(found.function, _FUNCTION) or "?"
    change = f"{_number(found.base)} → {_number(found.patch)} per iteration"
    if found.kind is Kind.INLINING:
        return f"lost inlining: {function} is a function of its own (calls {change})"
    if found.base < _ZERO <= found.patch:
        size = f"new {found.kind}"
    elif found.patch >= _MANY * found.base and found.base:
        size = f"{found.patch / found.base:.0f} times as many {found.kind}"
    else:
        size = f"{100 * (found.patch / found.base - 1):.3g} % more {found.kind}"
    return f"{size} ({change}), in {function}"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= _GROUPED else f"{rate:.3g}"
