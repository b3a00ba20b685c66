"""Store the benchmarks of a suite as both sides list them before they are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> Listing:
        """Read a stored listing, also of a version that stored fewer values."""
        is_same = bool(found.get("same_program", False))
        long = frozenset(found.get("long", ()))
        renamed = dict(found.get("renamed", {}))
        return Listing(
            found["suite"],
            tuple(found["base"]),
            tuple(found["patch"]),
            is_same,
            long,
            renamed,
            int(found.get("too_short", 0)),
            not_chosen=tuple(found.get("not_chosen", ())),
            set_up=float(found.get("set_up", 0.0)),
            multiple=int(found.get("multiple", 1)),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return {
            "suite": self.suite,
            "patch": list(self.patch),
            "base": list(self.base),
            "same_program": self.is_same_program,
            "long": sorted(self.long),
            **({"renamed": dict(self.renamed)} if self.renamed else {}),
            **({"too_short": self.too_short} if self.too_short else {}),
            **({"not_chosen": list(self.not_chosen)} if self.not_chosen else {}),
            **({"set_up": self.set_up} if self.set_up else {}),
            **({"multiple": self.multiple} if self.multiple > 1 else {}),
        }

    @property
    def common(self) -> tuple[str, ...]:
        """Benchmarks that both sides list, in the patch's order."""
        known = set(self.base)
        return tuple(name for name in self.patch if name in known)

    def own_names(self, side: Side, benchmarks: Iterable[str]) -> tuple[str, ...]:
        """Return the names that these benchmarks have in the program of a side."""
        names = self.renamed if side is Side.BASE else {}
        return tuple(names.get(each, each) for each in benchmarks)
