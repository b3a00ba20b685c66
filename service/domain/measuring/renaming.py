"""Match benchmarks that the patch renames to their names in the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.measuring.launch import ITSELF
from service.domain.project.benchmark_names import entry_for, heads
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing


def new_name(renamed: Mapping[str, str], name: str) -> str:
    """Find the patch's name of a benchmark of the base; its own if no entry covers it."""
    head = entry_for(name, renamed)
    return name if head is None else renamed[head] + name[len(head) :]


def former_names(renamed: Mapping[str, str], patch: Sequence[str]) -> dict[str, str]:
    """Map each renamed benchmark to its former name, unless the patch still lists that."""
    before = {new: old for old, new in renamed.items()}
    in_patch = set(patch)
    found = {
        name: before[head] + name[len(head) :] for name in patch for head in heads(name) if head in before
    }
    return {new: old for new, old in found.items() if old not in in_patch and new_name(renamed, old) == new}


def renamed_benchmarks(
    renamed: Mapping[str, str], base: Sequence[str], patch: Collection[str]
) -> dict[str, str]:
    """Map the new name of each benchmark that the patch renames to its name in the base.

    An entry takes effect only in the patch that renames: a benchmark that both sides list keeps its name.
    """
    in_base, in_patch = set(base), set(patch)
    found: dict[str, str] = {}
    for old in base:
        new = new_name(renamed, old)
        if old not in in_patch and new in in_patch and new not in in_base:
            found.setdefault(new, old)
    return found


def unused_entries(
    renamed: Mapping[str, str], base: Collection[str], patch: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the entries (old name, new name) that rename nothing and do not fit benchmarks of both sides."""
    in_base, in_patch = ({head for name in side for head in heads(name)} for side in (base, patch))
    for old, new in renamed.items():
        is_done = new in in_base
        is_ahead = old in in_base and old in in_patch
        is_made = old in in_base and new in in_patch
        if not (is_done or is_ahead or is_made):
            yield old, new


def short_form(old: str, new: str) -> tuple[str, str]:
    """Strip the common ending of two names: ``BM_a/8/4`` and ``BM_b/8/4`` become ``BM_a`` and ``BM_b``."""
    rests = (new[len(head) :] for head in heads(new))
    equal = [rest for rest in rests if rest and old.endswith(rest) and old != rest]
    longest = max(map(len, equal), default=0)
    return old[: len(old) - longest], new[: len(new) - longest]


def under_new_names(launches: Iterable[Launch], listings: Iterable[Listing]) -> tuple[Launch, ...]:
    """Rename the base's results to the patch's names; in the control, both sides are the base."""
    by_suite = {
        each.suite: {old: new for new, old in each.renamed.items()} for each in listings if each.renamed
    }
    return tuple(
        launch.renamed(by_suite[launch.suite])
        if launch.suite in by_suite and (launch.side is Side.BASE or launch.variant == ITSELF)
        else launch
        for launch in launches
    )
