"""Divide a slow-down among functions, by the stacks that launches of both sides sampled."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import fmean, variance
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.verdict.comparison.explanation import MOST_STACKS, Part, Stack
from service.domain.verdict.comparison.grown_functions import counterparts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.sampled_stacks import Function, Sampled

LAUNCHES: Final = 6  # of a side; with two or three, intervals are several times as wide
_SHOWN: Final = 10
_NEGLIGIBLE: Final = 0.05  # of the growth
_LEAST: Final = 0.0005  # of the parent's iteration: functions with less explain no slow-down that votes
_FAR: Final = 2.0  # a growth that differs from the measured slow-down by this factor is another one
_CONFIDENCE: Final = 0.95


class Attribution(NamedTuple):
    """Growth of a benchmark's time in launches that took samples, its parts, and both sides' stacks."""

    sampled: float
    parts: tuple[Part, ...]
    stacks: tuple[Stack, ...]


def attribute(base: Sequence[Sampled], patch: Sequence[Sampled], slowdown: float) -> Attribution:
    """Divide the growth of a benchmark's time among the functions of the program.

    A function's time in a launch is its share of the samples, times the launch's time per iteration. Samples
    of libraries count for the innermost function of the program that is above them. The growth of a function
    is the difference of the sides' means, as a share of the parent's mean time per iteration. With variances
    ``s²`` of ``n`` launches a side, its interval is ± ``t·√(s₁²/n₁ + s₂²/n₂)`` (Welch, "The generalization of
    'Student's' problem when several different population variances are involved", Biometrika 34, 1947).

    Args:
        base: the launches of the parent, two at least.
        patch: those of the patch.
        slowdown: the measured growth of the benchmark's time. If these launches contradict it, no function is
            a part of it.
    """
    whole = fmean(each.time for each in base)
    total = growth_of(*([each.time / whole for each in side] for side in (base, patch)))
    before, after = ([_by_function(each, whole) for each in side] for side in (base, patch))
    new = _own(patch, after)
    was, parts = counterparts(_own(base, before), new), []
    for name in new:
        old = [each.get(was.get(name, name), 0.0) for each in before]
        parts.append(Part(name, *growth_of(old, [each.get(name, 0.0) for each in after])))
    large = [each for each in parts if each.low > 0 and each.growth >= _NEGLIGIBLE * total[0]]
    if min(total[0], slowdown) <= 0 or total[2] * _FAR < slowdown or total[1] > slowdown * _FAR:
        large = []
    shown = sorted(large, key=lambda each: (-each.growth, each.function))[:_SHOWN]
    return Attribution(total[0], tuple(shown), _mean_stacks(base, patch, whole, was))


def growth_of(base: Sequence[float], patch: Sequence[float]) -> tuple[float, float, float]:
    """Return the difference of the means, and its interval of 95 % confidence."""
    growth = fmean(patch) - fmean(base)
    parts = [(variance(side) / len(side), len(side) - 1) for side in (base, patch)]
    squared = sum(part for part, _ in parts)
    if not squared:
        return growth, growth, growth
    from scipy.special import stdtrit  # noqa: PLC0415 - loads SciPy

    degrees = squared**2 / sum(part**2 / of for part, of in parts)  # Welch–Satterthwaite
    reach = float(stdtrit(degrees, (1 + _CONFIDENCE) / 2)) * math.sqrt(squared)
    return growth, growth - reach, growth + reach


def _by_function(launch: Sampled, whole: float) -> dict[str, float]:
    """Map functions of the program to their times, as shares of ``whole``."""
    scale = launch.time / whole / sum(launch.stacks.values())
    found = defaultdict[str, float](float)
    for stack, count in launch.stacks.items():
        found[owners(stack)[0]] += count * scale
    return found


def owners(stack: Sequence[Function]) -> tuple[str, str]:
    """Name the innermost function of the program, and the function of the program that called it."""
    own = [each.name for each in stack if not each.is_library] or [stack[0].name]
    return own[-1], next((name for name in reversed(own) if name != own[-1]), "")


def _own(launches: Sequence[Sampled], times: Sequence[Mapping[str, float]]) -> dict[str, tuple[str, float]]:
    """Map functions of the program to their usual caller and their mean time, the largest first."""
    callers = defaultdict[str, Counter[str]](Counter)
    for each in launches:
        for stack, count in each.stacks.items():
            name, caller = owners(stack)
            callers[name][caller] += count
    mean = {name: fmean(each.get(name, 0.0) for each in times) for name in callers}
    largest = sorted((name for name in mean if mean[name] >= _LEAST), key=lambda name: -mean[name])
    return {name: (callers[name].most_common(1)[0][0], mean[name]) for name in largest}


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
