"""Divide a slow-down among functions, by the stacks that launches of both sides sampled."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import chain
from statistics import fmean, variance
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.verdict.comparison.grown_functions import counterparts
from service.domain.verdict.explanation.causes import largest_below
from service.domain.verdict.explanation.explanation import MOST_STACKS, Part, Stack

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.measuring.sampled_stacks import Function, Sampled

LAUNCHES: Final = 6  # of a side; with two or three, intervals are several times as wide
_SHOWN: Final = 10
_NEGLIGIBLE: Final = 0.05  # of the growth
_LEAST: Final = 0.0005  # of the parent's iteration: functions with less explain no slow-down that votes
_FAR: Final = 2.0  # a growth that differs from the measured slow-down by this factor is another one
_CHANCE: Final = 0.025  # on one side: intervals of 95 %


class Attribution(NamedTuple):
    """Growth of a benchmark's time in launches that took samples, its parts, and both sides' stacks."""

    sampled: float
    parts: tuple[Part, ...]
    stacks: tuple[Stack, ...]


def attribute(base: Sequence[Sampled], patch: Sequence[Sampled], slowdown: float) -> Attribution:
    """Divide the growth of a benchmark's time among the functions of the program.

    A function's time in a launch is its share of the samples, times the launch's time per iteration. Samples
    of libraries count for the innermost function of the program that is above them, and those of a function
    that only one side has for its nearest caller on both sides: code that moved did not grow. Growth is the
    difference of the sides' means, as a share of the parent's. All functions that take time in the patch are
    one family: Holm's procedure ("A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6, 1979) names one that did not grow with a probability of 2.5 % at most. The
    intervals that are shown are those of single functions.

    Args:
        base: the launches of the parent, two at least.
        patch: those of the patch.
        slowdown: the measured growth of the benchmark's time; 0 if it is not slower. No function is a part of
            it if these launches contradict it, or did not surely grow themselves.
    """
    whole = fmean(each.time for each in base)
    total = growth_of(*([each.time / whole for each in side] for side in (base, patch)))
    was, kept = matched(base, patch)
    before, after = (by_function(side, kept, whole) for side in (base, patch))
    gone, new = (_below(side, kept, whole) for side in (base, patch))
    parts = dict[Part, float]()
    for name in _large(after):
        home = was.get(name, name)
        old = [each.get(home, 0.0) for each in before]
        grown = growth_of(old, [each.get(name, 0.0) for each in after])
        callee = largest_below(grown.growth, gone.get(home, {}), new.get(name, {}))
        parts[Part(name, grown.growth, grown.low, grown.high, callee)] = grown.chance
    large = [each for each in _surely_grown(parts) if each.growth >= _NEGLIGIBLE * total.growth]
    if min(total.low, slowdown) <= 0 or total.high * _FAR < slowdown or total.low > slowdown * _FAR:
        large = []
    shown = sorted(large, key=lambda each: (-each.growth, each.function))[:_SHOWN]
    return Attribution(total.growth, tuple(shown), _mean_stacks(base, patch, whole, was))


def matched(base: Sequence[Sampled], patch: Sequence[Sampled]) -> tuple[dict[str, str], frozenset[str]]:
    """Map functions with a new name to what they were called, and list all that both sides have."""
    whole = fmean(each.time for each in base)
    was = counterparts(*(_own(side, by_function(side, (), whole)) for side in (base, patch)))
    return was, (_program(base) & _program(patch)).union(was, was.values())


class Growth(NamedTuple):
    """A difference of means, its interval, and how often one as large comes by chance."""

    growth: float
    low: float
    high: float
    chance: float


def growth_of(base: Sequence[float], patch: Sequence[float]) -> Growth:
    """Compare the launches of both sides.

    With variances ``s²`` of ``n`` launches a side, the interval is ± ``t·√(s₁²/n₁ + s₂²/n₂)`` (Welch, "The
    generalization of 'Student's' problem when several different population variances are involved",
    Biometrika 34, 1947).
    """
    growth = fmean(patch) - fmean(base)
    parts = [(variance(side) / len(side), len(side) - 1) for side in (base, patch)]
    squared = sum(part for part, _ in parts)
    if not squared:
        return Growth(growth, growth, growth, float(growth <= 0))
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - loads SciPy

    degrees = squared**2 / sum(part**2 / of for part, of in parts)  # Welch–Satterthwaite
    error = math.sqrt(squared)
    reach = float(stdtrit(degrees, 1 - _CHANCE)) * error
    return Growth(growth, growth - reach, growth + reach, float(stdtr(degrees, -growth / error)))


def _surely_grown(chances: Mapping[Part, float]) -> list[Part]:
    """Choose the functions that grew, with a probability of ``_CHANCE`` that one of them did not (Holm)."""
    found = list[Part]()
    for part in sorted(chances, key=lambda each: (chances[each], each.function)):
        if chances[part] > _CHANCE / (len(chances) - len(found)):
            break
        found.append(part)
    return found


def _program(launches: Sequence[Sampled]) -> frozenset[str]:
    """Name the functions of the program in all stacks, callers too."""
    functions = set(chain.from_iterable(chain.from_iterable(each.stacks for each in launches)))
    return frozenset(each.name for each in functions if not each.is_library)


def by_function(
    launches: Sequence[Sampled], kept: Collection[str], whole: float = 1.0
) -> list[dict[str, float]]:
    """Map functions of the program to their times in each launch, as shares of ``whole``.

    A stack counts for its innermost function of the program that is ``kept``, or the innermost if none is.
    """
    found = list[dict[str, float]]()
    for launch in launches:
        scale = launch.time / whole / max(sum(launch.stacks.values()), 1)
        times = defaultdict[str, float](float)
        for stack, count in launch.stacks.items():
            times[_counted_for(stack, kept)[0]] += count * scale
        found.append(times)
    return found


def _below(
    launches: Sequence[Sampled], kept: Collection[str], whole: float
) -> Mapping[str, Mapping[str, float]]:
    """Map functions to those that count for them, as they are not kept, and these to their mean times."""
    found = defaultdict[str, dict[str, float]](lambda: defaultdict(float))
    for launch in launches:
        scale = launch.time / whole / max(sum(launch.stacks.values()), 1) / len(launches)
        for stack, count in launch.stacks.items():
            function, innermost = _counted_for(stack, kept)
            if function != innermost:
                found[function][innermost] += count * scale
    return found


def _counted_for(stack: Sequence[Function], kept: Collection[str]) -> tuple[str, str]:
    """Return the function that a stack counts for, and the innermost of the program."""
    own = _owners(stack)
    return next((name for name in reversed(own) if name in kept), own[-1]), own[-1]


def mean(function: str, times: Sequence[Mapping[str, float]]) -> float:
    """Return the mean of a function's times."""
    return fmean(each.get(function, 0.0) for each in times)


def _owners(stack: Sequence[Function]) -> list[str]:
    """Name the functions of the program in a stack, the outermost first; its outermost frame without one."""
    return [each.name for each in stack if not each.is_library] or [stack[0].name]


def _large(times: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Map functions to their mean time, the largest first."""
    means = {name: mean(name, times) for name in sorted(set(chain(*times)))}
    largest = sorted((name for name in means if means[name] >= _LEAST), key=lambda name: -means[name])
    return {name: means[name] for name in largest}


def _own(launches: Sequence[Sampled], times: Sequence[Mapping[str, float]]) -> dict[str, tuple[str, float]]:
    """Map functions of the program to their usual caller and their mean time, the largest first."""
    callers = defaultdict[str, Counter[str]](Counter)
    for each in launches:
        for stack, count in each.stacks.items():
            own = _owners(stack)
            callers[own[-1]][next((name for name in reversed(own) if name != own[-1]), "")] += count
    return {name: (callers[name].most_common(1)[0][0], took) for name, took in _large(times).items()}


def _mean_stacks(
    base: Sequence[Sampled], patch: Sequence[Sampled], whole: float, was: Mapping[str, str]
) -> tuple[Stack, ...]:
    """Merge the stacks of both sides; the parent's functions get the names that they have in the patch."""
    renamed: tuple[dict[str, str], ...] = {old: new for new, old in was.items()}, {}
    found = defaultdict[tuple[str, ...], list[float]](lambda: [0.0, 0.0])
    for side, launches in enumerate((base, patch)):
        for each in launches:
            scale = each.time / whole / sum(each.stacks.values()) / len(launches)
            for stack, count in each.stacks.items():
                names = (of.name if of.is_library else renamed[side].get(of.name, of.name) for of in stack)
                found[tuple(names)][side] += count * scale
    rows = [Stack(frames, *times) for frames, times in found.items()]
    return tuple(sorted(rows, key=lambda each: (-max(each.base, each.patch), each.frames))[:MOST_STACKS])
