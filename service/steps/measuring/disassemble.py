"""Disassemble, on both sides, the function in which the first cause of a slow-down grew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.callgrind_events import Event, counted_as
from service.domain.measuring.code_costs import code_costs
from service.domain.measuring.disassembly import MOST_BYTES, OBJDUMP, instructions
from service.domain.measuring.formats.program import OUT, Invocation
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side
from service.domain.verdict.comparison.grown_functions import own, renamed
from service.domain.verdict.explanation.assembly import CALLS, SideCode, align
from service.domain.verdict.explanation.causes import Kind
from service.steps.measuring.launching import Launcher, SideFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.callgrind_events import LoopEvents
    from service.domain.measuring.code_costs import Code
    from service.domain.project.benchmark import Suite
    from service.domain.verdict.explanation.explanation import Explanation

_LISTING: Final = "listing"
_SECONDS: Final = 20.0  # of an objdump; it reads all debug information of the program
_REACH: Final = 256 << 10  # bytes; functions of one name may be far apart
_LAST: Final = 16  # bytes of the longest instruction


def disassembled(
    launcher: Launcher,
    suite: Suite,
    found: Explanation,
    sides: Sequence[Sequence[LoopEvents]],
    seconds: float,
) -> Explanation:
    """Add the code of the function of the first cause.

    The explanation stays as it is if that is not known, or has no symbol, or objdump fails.

    Args:
        launcher: runs objdump in the sandbox.
        suite: has the benchmark.
        found: explains it.
        sides: the counted launches of the parent and of the patch.
        seconds: at most for both sides.
    """
    base, patch = (launches[-1] for launches in sides)
    function, counted, columns, callees = _asked(found, patch)
    if not function:
        return found
    was = renamed(base.counted, patch.counted).get(function, function)
    try:
        after = code_costs(patch.dumps, function, columns, callees)
        if not any(code.costs.total() for code in after):  # a library makes the calls
            counted = Event.INSTRUCTIONS
            columns, callees = counted_as(counted)
            after = code_costs(patch.dumps, function, columns)
        if not after:
            return found
        before = code_costs(base.dumps, was, columns, callees)
        chosen = _grown_most(before, after, *map(_iterations, (base, patch)))
        shown = [
            _side(launcher, suite, side, code, of, min(_SECONDS, seconds / 2))
            for side, code, of in zip(Side, chosen, (base, patch), strict=True)
        ]
    except (SideFailed, BadResults):
        return found
    if not shown[1].instructions:
        return found
    return replace(found, assembly=align(function, *shown, counted=counted))


def _asked(found: Explanation, patch: LoopEvents) -> tuple[str, str, tuple[str, ...], frozenset[str]]:
    """Choose the function to show, and the events with their columns or callees that compare its lines."""
    cause = next(iter(found.causes), None)
    if cause is None:
        return "", "", (), frozenset()
    if cause.kind is Kind.INLINING:
        return own(patch.counted).get(cause.function, ("", 0.0))[0], CALLS, (), frozenset({cause.function})
    named = [event for event in Event if event.value == cause.kind.value]
    if cause.kind is Kind.CACHE_MISSES:  # the level that is shown
        levels = Event.L1_MISSES, Event.LL_MISSES
        named = [min(levels, key=lambda event: abs(patch.rates[event] - cause.patch))]
    counted = named[0] if named else Event.INSTRUCTIONS
    return cause.function, counted, *counted_as(counted)


def _side(
    launcher: Launcher, suite: Suite, side: Side, code: Code | None, events: LoopEvents, seconds: float
) -> SideCode:
    if code is None or not code.file.startswith("/") or not code.executed:
        return SideCode()
    hottest = max(code.executed, key=code.executed.__getitem__)
    reached = [at for at in code.executed if abs(at - hottest) <= _REACH]
    first, last = min(reached), max(reached)
    line = f'exec {OBJDUMP} "$@" >"{OUT}/{_LISTING}"'
    arguments = f"--start-address={first:#x}", f"--stop-address={last + _LAST:#x}", code.file
    limits = Limits(seconds, file_bytes=MOST_BYTES)
    listing = launcher.run_tool(suite, side, Invocation(line, arguments, limits, file=_LISTING))
    found = instructions(listing, ("/src", str(launcher.trees[side])))
    found = tuple(each for each in found if each.address <= last)  # what follows may be another function
    executed, costs = (
        {at: count / _iterations(events) for at, count in counts.items()}
        for counts in (code.executed, code.costs)
    )
    return SideCode(found, executed, costs)


def _grown_most(
    before: Sequence[Code], after: Sequence[Code], base_iterations: int, patch_iterations: int
) -> tuple[Code | None, Code]:
    """Choose of functions of one name, such as overloads, the one whose costs grew most.

    One whose arguments changed is paired with the largest that only the parent has.
    """
    old = {code.name: code for code in before}
    gone = [code for code in before if code.name not in {each.name for each in after}]
    gone.sort(key=lambda code: -code.costs.total())
    new = sorted((code for code in after if code.name not in old), key=lambda code: -code.costs.total())
    old |= {code.name: was for code, was in zip(new, gone, strict=False)}
    pairs = [(old.get(code.name), code) for code in after]
    rates = [
        code.costs.total() / patch_iterations - (was.costs.total() / base_iterations if was else 0.0)
        for was, code in pairs
    ]
    return pairs[rates.index(max(rates))]


def _iterations(events: LoopEvents) -> int:
    return events.counted.launches[-1][-1].iterations
