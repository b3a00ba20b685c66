"""Write which kinds of causes were counted for a slower benchmark; never as time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.measuring.function_names import shown_name
from service.domain.values.text import plain
from service.domain.verdict.comparison.causes import Kind

if TYPE_CHECKING:
    from service.domain.verdict.comparison.causes import Cause
    from service.domain.verdict.comparison.explanation import Explanation

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
    shown = found.causes[:_SHOWN]
    if len(shown) == _SHOWN and len({each.function for each in shown}) == 1:
        growths = " and ".join(map(_growth, shown))
        return f"{name}: {growths}, both in {_function(shown[0])}"
    return f"{name}: {'; '.join(map(_cause, shown))}"


def _function(found: Cause) -> str:
    return shown_name(found.function, _FUNCTION) or "?"


def _cause(found: Cause) -> str:
    if found.kind is Kind.INLINING:
        return _growth(found)
    return f"{_growth(found)}, in {_function(found)}"


def _growth(found: Cause) -> str:
    change = f"{_number(found.base)} → {_number(found.patch)} per iteration"
    if found.kind is Kind.INLINING:
        return f"lost inlining: {_function(found)} is a function of its own (calls {change})"
    if found.base < _ZERO <= found.patch:
        size = f"new {found.kind}"
    elif found.patch >= _MANY * found.base and found.base:
        size = f"{found.patch / found.base:.0f} times as many {found.kind}"
    else:
        size = f"{100 * (found.patch / found.base - 1):.3g} % more {found.kind}"
    return f"{size} ({change})"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= _GROUPED else f"{rate:.3g}"
