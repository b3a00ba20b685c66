"""Store the benchmarks of a suite as both sides list them before they are measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from service.domain.project.benchmark_names import is_chosen
from service.domain.values.identity import Side


@dataclass(frozen=True, slots=True)
class Listing:
    """Benchmarks of a suite on each side, as the programs list them before the first launch.

    ``base`` has the patch's names; ``renamed`` maps those that the patch changed to their names in the base.
    Left out are the tests that take too little time to be compared, which ``too_short`` counts, and the
    benchmarks ``not_chosen`` by the filter of the build. ``set_up`` is the seconds that a launch of the base
    takes whatever it measures; ``multiple`` is the factor on the usual repetitions.
    """

    suite: str
    base: tuple[str, ...]
    patch: tuple[str, ...]
    is_same_program: bool = False
    long: frozenset[str] = frozenset()  # those with few and long repetitions
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)
    too_short: int = 0
    not_chosen: tuple[str, ...] = ()
    set_up: float = 0.0
    multiple: int = 1

    @property
    def common(self) -> tuple[str, ...]:
        """Benchmarks that both sides list, in the patch's order."""
        known = set(self.base)
        return tuple(name for name in self.patch if name in known)

    def own_names(self, side: Side, benchmarks: Iterable[str]) -> tuple[str, ...]:
        """Return the names that these benchmarks have in the program of a side."""
        names = self.renamed if side is Side.BASE else {}
        return tuple(names.get(each, each) for each in benchmarks)

    def only(self, names: Collection[str]) -> Listing:
        """Leave out all benchmarks but these."""
        listed = dict.fromkeys((*self.patch, *self.base))
        return replace(
            self,
            base=tuple(each for each in self.base if each in names),
            patch=tuple(each for each in self.patch if each in names),
            renamed={each: old for each, old in self.renamed.items() if each in names},
            not_chosen=(*self.not_chosen, *(each for each in listed if each not in names)),
        )


def with_one_benchmark(listings: Sequence[Listing], name: str) -> tuple[Listing, ...]:
    """Choose the benchmark with exactly this name on either side, else the only one that the name chooses.

    Choose none if the name chooses several.
    """
    chosen = named_like(listings, name)
    return tuple(each.only(chosen if len(chosen) == 1 else ()) for each in listings)


def named_like(listings: Iterable[Listing], name: str) -> tuple[str, ...]:
    """Return the benchmark with exactly this name on either side; without one, all that the name chooses."""
    former = {
        each: listing.renamed.get(each, each)
        for listing in listings
        for each in (*listing.patch, *listing.base, *listing.not_chosen)
    }
    if name in former:
        return (name,)
    exact = tuple(each for each, old in former.items() if old == name)
    return exact or tuple(new for new, old in former.items() if is_chosen(name, new) or is_chosen(name, old))
