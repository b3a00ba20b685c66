"""List the code of a benchmark's loop: that of its hottest functions, and of the one with the first cause."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind_events import Event, counted_as
from service.domain.measuring.disassembly import executed, hottest, instructions, list_of
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side
from service.domain.verdict.comparison.grown_functions import own, renamed
from service.domain.verdict.explanation.assembly import CALLS, SideCode, align
from service.domain.verdict.explanation.causes import Kind
from service.steps.measuring.launching import Launcher, SideFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.callgrind_events import LoopEvents, Ways
    from service.domain.measuring.callgrind_loop import Code
    from service.domain.project.benchmark import Suite
    from service.domain.verdict.explanation.explanation import Explanation

_SECONDS: Final = 10.0  # of objdump, which reads the symbols of the whole program
_LINES_SECONDS: Final = 20.0  # of one that reads all debug information, too
_REACH: Final = 256 << 10  # bytes; functions of one name may be far apart
_LAST: Final = 16  # bytes of the longest instruction


def listed(launcher: Launcher, suite: Suite, side: Side, events: LoopEvents, seconds: float) -> LoopEvents:
    """Add which instructions the hottest functions executed, if objdump can list them."""
    code = events.loop.code()
    ranges = hottest(code)
    if not ranges or seconds <= 0:
        return events
    with suppress(SideFailed, BadResults):  # the counts are as good without it
        listing = launcher.run_tool(suite, side, list_of(ranges, min(_SECONDS, seconds)))
        return replace(events, executed=executed(code, listing, events.iterations))
    return events


def disassembled(
    launcher: Launcher,
    suite: Suite,
    found: Explanation,
    sides: Sequence[Sequence[LoopEvents]],
    seconds: float,
) -> Explanation:
    """Add the code of the function of the first cause, in at most ``seconds``.

    ``sides`` are the counted launches of the parent and of the patch. The explanation stays as it is if the
    function is not known, or has no symbol, or objdump fails.
    """
    base, patch = (launches[-1] for launches in sides)
    function, counted, ways = _asked(found, patch)
    if not function or seconds <= 0:
        return found
    was = renamed(base.counted, patch.counted).get(function, function)
    after = patch.loop.code(function, *ways)
    if not any(code.costs.total() for code in after):  # a library makes the calls
        counted, ways = Event.INSTRUCTIONS, counted_as(Event.INSTRUCTIONS)
        after = patch.loop.code(function, *ways)
    if not after:
        return found
    chosen = _grown_most(base.loop.code(was, *ways), after, base.iterations, patch.iterations)
    try:
        shown = [
            _side(launcher, suite, side, code, of, min(_LINES_SECONDS, seconds / 2))
            for side, code, of in zip(Side, chosen, (base, patch), strict=True)
        ]
    except (SideFailed, BadResults):
        return found
    if not shown[1].instructions:
        return found
    return replace(found, assembly=align(function, *shown, counted=counted))


def _asked(found: Explanation, patch: LoopEvents) -> tuple[str, str, Ways]:
    """Choose the function to show, the events that compare its lines, and how these are counted."""
    if not found.causes:
        return "", "", ((), frozenset())
    cause = found.causes[0]
    if cause.kind is Kind.INLINING:
        caller, _ = own(patch.counted).get(cause.function, ("", 0.0))
        return caller, CALLS, ((), frozenset({cause.function}))
    counted = next((event for event in Event if event.value == cause.kind.value), Event.INSTRUCTIONS)
    if cause.kind is Kind.CACHE_MISSES:  # the level that is shown
        levels = Event.L1_MISSES, Event.LL_MISSES
        counted = min(levels, key=lambda event: abs(patch.rates[event] - cause.patch))
    return cause.function, counted, counted_as(counted)


def _side(
    launcher: Launcher, suite: Suite, side: Side, code: Code | None, events: LoopEvents, seconds: float
) -> SideCode:
    if code is None or not code.path.startswith("/"):
        return SideCode()
    most = max(code.executed, key=code.executed.__getitem__)
    reached = [at for at in code.executed if abs(at - most) <= _REACH]
    shown = code.path, min(reached), max(reached) + _LAST
    listing = launcher.run_tool(suite, side, list_of([shown], seconds, has_lines=True))
    found = instructions(listing, ("/src", str(launcher.trees[side])))
    found = tuple(each for each in found if each.address <= max(reached))  # others are of the next function
    counts = code.executed, code.costs
    return SideCode(found, *({at: each[at] / events.iterations for at in each} for each in counts))


def _grown_most(
    before: Sequence[Code], after: Sequence[Code], base_iterations: int, patch_iterations: int
) -> tuple[Code | None, Code]:
    """Choose of functions of one name, such as overloads, the one whose costs grew most.

    One whose arguments changed is paired with the largest that only the parent has.
    """
    names = {code.name for code in after}
    old = {code.name: code for code in before}
    gone = max(
        (code for code in before if code.name not in names), key=lambda code: code.costs.total(), default=None
    )
    pairs = [(old.get(code.name, gone), code) for code in after]
    rates = [
        code.costs.total() / patch_iterations - (was.costs.total() / base_iterations if was else 0.0)
        for was, code in pairs
    ]
    return pairs[rates.index(max(rates))]
