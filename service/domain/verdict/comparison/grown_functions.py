"""Find the functions in which the instructions of a benchmark grew."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.function_names import without_brackets
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import AGREEMENT, added_share
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from service.domain.measuring.callgrind import Counted, Counts
    from service.domain.verdict.inference.verdict import Comparison

_SHOWN: Final = 3
_NEGLIGIBLE: Final = 0.05  # of the growth
_ALIKE: Final = 1.25  # most growth of a function with a new name; beyond that, it is another function


class Grown(NamedTuple):
    """A function whose instructions per iteration grew by ``share`` of all that the parent's iteration has.

    ``libraries`` names what it calls of libraries, if most of the growth is there. A function that the parent
    does not have names its ``caller``, or as ``was`` what it was probably called: a function that only the
    parent has, with the same caller and about as many instructions.
    """

    name: str
    share: float
    libraries: tuple[str, ...] = ()
    caller: str = ""
    was: str = ""


class Growth(NamedTuple):
    """Relative growth of an iteration's instructions, and the functions that grew most, the largest first."""

    total: float
    functions: tuple[Grown, ...]

    @property
    def rest(self) -> float:
        """Net growth of all other functions, as a share of the parent's instructions."""
        return self.total - sum(each.share for each in self.functions)


class Explained(NamedTuple):
    """Growth of the instructions of a slower benchmark, and where they grew if that is known."""

    benchmark: str
    total: float
    growth: Growth | None = None


def explain(rows: Iterable[Comparison], counts: Counts, floor: float) -> tuple[Explained, ...]:
    """Explain each benchmark that is slower by its time and has counts that repeat, the slowest first."""
    slower = [row for row in rows if row.verdict is Verdict.SLOWER and row.row.metric.is_speed]
    found: dict[tuple[str, str], Explained] = {}
    for row in sorted(slower, key=lambda each: -each.worsening):
        suite, benchmark = key = row.row.suite, row.row.benchmark
        total = added_share(counts, suite, benchmark)
        if total is not None and key not in found:
            found[key] = Explained(benchmark, total, grown(counts, suite, benchmark, floor))
    return tuple(found.values())


def grown(counts: Counts, suite: str, benchmark: str, floor: float) -> Growth | None:
    """Find the functions in which a benchmark's instructions grew.

    Returns:
        None if the counts do not repeat or grew by no more than ``floor``, or if the functions are not known
        or do not explain the counts: those are of the last loop, which may do other work than the compared.
    """
    total = added_share(counts, suite, benchmark)
    if total is None or total <= max(floor, AGREEMENT):
        return None
    base, patch = (counts[suite, side][benchmark] for side in (Side.BASE, Side.PATCH))
    whole = _per_iteration(base)
    if whole <= 0:  # the compared loop is another one
        return None
    if abs(_per_iteration(patch) / whole / (1 + total) - 1) > AGREEMENT:
        return None
    if not base.functions or not patch.functions:
        return None
    was = renamed(base, patch)
    known = {**own(base), **was}
    new = {n: by for n, (by, _) in own(patch).items() if n not in known and not unseen(base)}
    found = []
    for name, parts in _shares(base, patch, was, whole).items():
        share = sum(parts.values())
        libraries = sorted((of for of in parts if of and parts[of] > 0), key=lambda of: -parts[of])
        is_called = sum(parts[of] for of in libraries) > share / 2
        called = tuple(libraries) if is_called else ()
        found.append(Grown(name, share, called, new.get(name, ""), was.get(name, "")))
    large = [each for each in found if each.share >= max(AGREEMENT, _NEGLIGIBLE * total)]
    return Growth(total, tuple(sorted(large, key=lambda each: -each.share)[:_SHOWN])) if large else None


def _shares(base: Counted, patch: Counted, was: dict[str, str], whole: float) -> dict[str, dict[str, float]]:
    """Map each function, under the patch's name, to its growth: its own under ``""``, else by library."""
    old_names = {old: new for new, old in was.items()}
    rates: list[dict[tuple[str, str], float]] = []
    for side in (base, patch):
        iterations = side.launches[-1][-1].iterations
        rates.append(defaultdict(float))
        for each in side.functions:
            name = old_names.get(each.name, each.name) if side is base else each.name
            rates[-1][name, each.library] += each.instructions / iterations
    before, after = rates
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for pair in {**before, **after}:
        old, new = before.get(pair), after.get(pair)
        if old is None:
            old = min(unseen(base), new or 0)
        elif new is None:
            new = min(unseen(patch), old)
        shares[pair[0]][pair[1]] = ((new or 0) - old) / whole
    return shares


def unseen(side: Counted) -> float:
    """Return the most instructions per iteration that a function missing from a side's list may have.

    That is 0 unless the list was cut. The kept functions are the largest, and their counts are rounded.
    """
    last, kept = side.launches[-1][-1], [each.instructions for each in side.functions]
    missing = last.instructions - sum(kept) - len(kept)
    return max(0, min([missing, *kept])) / last.iterations


def renamed(base: Counted, patch: Counted) -> dict[str, str]:
    """Map functions that only the patch has to what they were probably called in the parent.

    Lists that were cut do not show which side has a function.
    """
    if unseen(base) or unseen(patch):
        return {}
    return counterparts(own(base), own(patch))


def counterparts(
    old: Mapping[str, tuple[str, float]], new: Mapping[str, tuple[str, float]]
) -> dict[str, str]:
    """Map functions that only ``new`` has to those that only ``old`` has, if caller and size are alike.

    Instances of one template need not be alike.
    """
    found = instances(old, new)
    gone = {name: of for name, of in old.items() if name not in new and name not in found.values()}
    for name, (caller, rate) in new.items():
        if name in found:
            continue
        alike = {
            other: abs(before - rate)
            for other, (by, before) in gone.items()
            if caller and by == caller and max(rate, before) <= _ALIKE * min(rate, before)
        }
        if alike and name not in old:
            found[name] = min(alike, key=alike.__getitem__)
            del gone[found[name]]
    return found


def instances(old: Collection[str], new: Collection[str]) -> dict[str, str]:
    """Map each template's only instance that only ``new`` has to the only one that only ``old`` has."""
    sides = [defaultdict[str, list[str]](list) for _ in range(2)]
    for side, names, others in zip(sides, (old, new), (new, old), strict=True):
        for name in names:
            if name not in others and "<" in name:
                side[without_brackets(name)].append(name)
    before, after = sides
    return {
        names[0]: before[template][0]
        for template, names in after.items()
        if len(names) == len(before.get(template, ())) == 1
    }


def own(side: Counted) -> dict[str, tuple[str, float]]:
    """Map functions to their callers and their own instructions per iteration, the largest first."""
    iterations = side.launches[-1][-1].iterations
    return {
        each.name: (each.caller, each.instructions / iterations)
        for each in side.functions
        if not each.library
    }


def _per_iteration(side: Counted) -> float:
    last = side.launches[-1][-1]
    return last.instructions / last.iterations
