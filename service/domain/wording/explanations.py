"""Write where the time of a slower benchmark grew, and which kinds of causes were counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import finding_at
from service.domain.measuring.function_names import shown_name
from service.domain.values.text import before_and_after, both_ends, literal, plain, shortened
from service.domain.verdict.explanation.causes import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from service.domain.building.findings import Finding
    from service.domain.verdict.explanation.causes import Cause
    from service.domain.verdict.explanation.explanation import Explanation, Part

NOT_REACHED: Final = "the minute for explanations was used up"
WHY: Final = "Slow-Down Explained"
NOTHING: Final = "nothing that was counted grew for sure and by enough"
TOLD: Final = 3  # benchmarks of one build in a message; its page has all
_LINE: Final = 1000  # characters, as causes of builds have
_SHOWN: Final = 2  # kinds of one benchmark, and functions
_FUNCTION: Final = 60  # characters of its name
_PATH: Final = 80  # characters of a path and line
_ZERO: Final = 0.005  # per iteration; less is what a loop has once
_GROUPED: Final = 999.5  # rounded to an integer, with digits in groups
_MANY: Final = 10.0  # times as many, from which a percentage is hard to read


def explanation(found: Explanation, suite: str = "") -> str:
    """Write the sentence of one slower benchmark; ``suite`` is named if it is given."""
    name = plain(found.benchmark) + (f" in {plain(suite)}" if suite else "")
    return f"{name}: {why(found)}"


def explanations(found: Sequence[Explanation]) -> list[str]:
    """Write the sentence of each slower benchmark, with its suite if another one has its name."""
    named = Counter(each.benchmark for each in found)
    return [explanation(each, each.suite if named[each.benchmark] > 1 else "") for each in found]


def why(found: Explanation) -> str:
    """Write the functions that hold the slow-down, then the causes, without the benchmark's name."""
    grown = [_parts(found)] if found.parts else []
    grown += [_causes(found)] if found.causes else []
    if not grown:
        return f"not explained: {plain(found.obstacle) or NOTHING}"
    missing = f"; not complete: {plain(found.obstacle)}" if found.obstacle else ""
    return f"{': '.join(grown)}{missing}"


def known_why(found: Explanation) -> str:
    """Write only what is known of that; empty if nothing is."""
    return why(replace(found, obstacle="")) if _is_known(found) else ""


def _is_known(found: Explanation) -> bool:
    return bool(found.causes or found.parts)


def _parts(found: Explanation) -> str:
    if found.is_mostly_first:
        return f"mostly {_part(found.parts[0], found.sampled)}"
    return f"partly {' and '.join(_part(each, found.sampled) for each in found.parts[:_SHOWN])}"


def _part(found: Part, sampled: float) -> str:
    """Write a function's growth.

    Of a benchmark that is many times as slow it is a share of the slow-down, because points have five digits.
    """
    function, growth = _function(found), _points(found.growth)
    interval = f"[{_points(found.low)}, {_points(found.high)}]"
    if 1 + sampled >= _MANY:
        share, low, high = (f"{100 * each / sampled:.0f}" for each in (found.growth, found.low, found.high))
        return f"{function}, {share} % of the slow-down [{low}, {high}]"
    if found.low > sampled:  # code elsewhere became faster
        return f"{function}, {growth} points {interval}, with {_points(sampled - found.growth)} elsewhere"
    return f"{function}, {growth} of {_points(sampled)} points {interval}"


def _points(growth: float) -> str:
    return f"{100 * growth:+.1f}".replace("-", "−")


def _causes(found: Explanation) -> str:
    """Write the first causes, with the line of the one that it counts, if it is known."""
    shown, functions = found.causes[:_SHOWN], {each.function for each in found.causes[:_SHOWN]}
    counted = found.line_cause
    line = found.assembly.grown_line if found.assembly and counted else ""
    # The line of a lost inlining is in another function, the caller; a later cause keeps its own.
    is_one = len(functions) == 1 and Kind.INLINING not in {each.kind for each in shown}
    is_one &= not line or counted is shown[0]
    if is_one and found.parts and functions == {found.parts[0].function} and found.is_mostly_first:
        return " and ".join(map(_growth, shown)) + _place(line)
    if is_one and len(shown) == _SHOWN:
        return f"{' and '.join(map(_growth, shown))}, both in {_function(shown[0], line)}"
    return "; ".join(_cause(each, line if each is counted else "") for each in shown)


def causes_told(found: Iterable[Explanation]) -> tuple[str, ...]:
    """Write a line for each of the first benchmarks that are explained, and count the others."""
    known = [replace(each, obstacle="") for each in found if _is_known(each)]
    more = (f"and {len(known) - TOLD} more, on the page of the build",) if len(known) > TOLD else ()
    return (*explanations(known)[:TOLD], *more)


def benchmarks_told(found: Iterable[Explanation]) -> tuple[str, ...]:
    """Name the benchmarks that :func:`causes_told` writes a line for."""
    return tuple(each.benchmark for each in found if _is_known(each))[:TOLD]


def causes_on_lines(found: Iterable[Explanation]) -> tuple[Finding, ...]:
    """Write what to comment on the lines that the patch set touched, once for each line.

    A text has neither numbers nor benchmarks, so that it is equal on each patch set.
    """
    first: dict[tuple[str, int], Finding | None] = {}
    for each in found:
        if each.touched and each.causes:
            worse = "slower" if each.slowdown else "worse"
            text = f"a benchmark is {worse}: {_here(each.causes[0])}"
            first.setdefault(each.touched, finding_at(*each.touched, text))
    return tuple(filter(None, first.values()))


def _here(found: Cause) -> str:
    if found.kind is Kind.INLINING:
        return f"{_function(found)} is no longer inlined here"
    more = found.kind if found.kind is Kind.VECTORISATION else f"more {found.kind}"
    return f"{more} here, in {_function(found)}"


def are_told(lines: Collection[str], message: str) -> bool:
    """Return whether a message has all of these lines."""
    return {literal(shortened(line, _LINE)) for line in lines} <= set(message.splitlines())


def why_slower(lines: Iterable[str], link: str) -> str:
    """Compose the message that explains a build after its vote; the link is the last line."""
    return "\n\n".join([f"{WHY} ", *(literal(shortened(line, _LINE)) for line in lines), link])


def _place(line: str) -> str:
    return f" ({both_ends(line, _PATH)})" if line else ""


def _function(found: Cause | Part, line: str = "") -> str:
    new = shown_name(found.new_callee, _FUNCTION)
    name = f"{shown_name(found.function, _FUNCTION) or '?'}{_place(line)}"
    return f"{name}, which calls the new {new}" if new else name


def _cause(found: Cause, line: str) -> str:
    if found.kind is Kind.LAYOUT:
        return "the same instructions, misses and calls: perhaps only the placement of code or data differs"
    if found.kind is Kind.INLINING:
        return _growth(found) + (f", called at {both_ends(line, _PATH)}" if line else "")
    return f"{_growth(found)}, in {_function(found, line)}"


def _growth(found: Cause) -> str:
    if found.kind is Kind.WAITING:
        return f"waiting: {before_and_after(found.base, found.patch, 's')} per iteration"
    change = f"{_number(found.base)} → {_number(found.patch)} per iteration"
    if found.kind is Kind.INLINING:
        return f"lost inlining: {_function(found)} is a function of its own (calls {change})"
    if found.kind is Kind.VECTORISATION:
        return f"lost vectorisation (packed instructions {change})"
    if not found.base or found.base < _ZERO <= found.patch:
        size = f"new {found.kind}"
    elif found.patch >= _MANY * found.base:
        size = f"{found.patch / found.base:.0f} times as many {found.kind}"
    else:
        size = f"{100 * (found.patch / found.base - 1):.3g} % more {found.kind}"
    return f"{size} ({change})"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= _GROUPED else f"{rate:.3g}"
