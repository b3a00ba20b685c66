"""Decide the outcome of a build with a side that cannot be built or measured, by how far each side got.

A failure that only the patch causes never gets a +1. A comparison builds and rehearses the parent before any
code of the patch runs, so the patch cannot be the cause of its failure. There is no vote if the parent fails
later, or is built only after the patch failed and fails, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.building.spec import Revision
    from service.domain.measuring.formats.program import ForeignProgram


class Stage(IntEnum):
    """Stages that a side passes before it is measured, in order."""

    CHECKOUT = auto()  # check out complete sources
    CONFIGURE = auto()
    COMPILE = auto()
    PROGRAM = auto()  # find the program that the build makes
    PACK = auto()  # keep its files
    LISTING = auto()
    LAUNCH = auto()


class Parent(Enum):
    """Parent of the patch."""

    NONE = auto()
    MERGED = auto()
    UNMERGED = auto()  # the author of the patch chose it

    @staticmethod
    def of(base: Revision | None) -> Parent:
        """Return the kind of a base."""
        if base is None:
            return Parent.NONE
        return Parent.UNMERGED if base.is_under_review else Parent.MERGED


@dataclass(frozen=True, slots=True)
class SideEnd:
    """Stage at which a side failed, what failed, and how.

    ``is_empty``: a program has no benchmark or test, which is a failure only if the other side lists some.
    ``program`` is its kind, if its output shows one that cannot be measured; only messages use it.
    ``misses_input``: a build command tried to download a file, or did not find a package. ``is_foreign``: the
    operator does not let machines fetch a part of the sources.
    ``elsewhere`` is the path of a program with the name of the missing one.
    """

    stage: Stage
    what: str
    end: str
    is_empty: bool = False
    program: ForeignProgram | None = None
    misses_input: bool = False
    is_foreign: bool = False
    elsewhere: str = ""

    @property
    def is_build(self) -> bool:
        """Return whether it failed in its build."""
        return self.stage < Stage.LISTING

    def __str__(self) -> str:
        return f"{self.what}: {self.end}"


# The parent got further than the patch.
_FAILS: Final[Mapping[Stage, Outcome]] = MappingProxyType(
    {
        Stage.CHECKOUT: Outcome.FAILED,
        Stage.CONFIGURE: Outcome.FAILED,
        Stage.COMPILE: Outcome.FAILED,
        Stage.PROGRAM: Outcome.FAILED,
        Stage.PACK: Outcome.FAILED,
        Stage.LISTING: Outcome.MEASURED_NOTHING,
        Stage.LAUNCH: Outcome.MEASURED_NOTHING,
    }
)
# The parent got no further than the patch.
_FAILS_TOO: Final[Mapping[Stage, Outcome]] = MappingProxyType(
    {
        Stage.CHECKOUT: Outcome.PARENT_BROKEN,
        Stage.CONFIGURE: Outcome.PARENT_BROKEN,
        Stage.COMPILE: Outcome.PARENT_BROKEN,
        Stage.PROGRAM: Outcome.MISCONFIGURED,
        Stage.PACK: Outcome.MISCONFIGURED,
        Stage.LISTING: Outcome.MISCONFIGURED,
        Stage.LAUNCH: Outcome.MISCONFIGURED,
    }
)
_ORDER: Final = (Counts.FAIL, Counts.NOTHING_CERTAIN, Counts.PASS)


def outcome_of_sides(
    patch: SideEnd | None, base: SideEnd | None, parent: Parent, *, is_same_program: bool = False
) -> Outcome | None:
    """Decide the outcome by how both sides failed before measuring; None if they can be compared.

    Args:
        patch: how the patch failed; None if it runs.
        base: how the parent failed, before any code of the patch ran if the patch runs; None if it runs.
        parent: the kind of the parent.
        is_same_program: both sides were built to the same program.
    """
    if patch is not None and (patch.is_foreign or (patch.misses_input and base and base.misses_input)):
        return Outcome.MISCONFIGURED  # neither another patch nor another parent helps
    if parent is Parent.NONE:
        return Outcome.NO_PARENT if patch is None else _FAILS[patch.stage]
    if base is None or (base.is_empty and not (patch and patch.is_empty)):
        if patch is None:
            return None
        return Outcome.INFRASTRUCTURE if is_same_program else _FAILS[patch.stage]
    if patch is None:
        # The patch fixes a broken branch. But an author could choose a broken unmerged parent on purpose.
        return Outcome.NO_PARENT if parent is Parent.MERGED else Outcome.PARENT_BROKEN
    return _FAILS[patch.stage] if patch.stage < base.stage else _FAILS_TOO[patch.stage]


def outcome_after_rehearsal(side: Side, *, is_same_program: bool) -> Outcome:
    """Decide the outcome if a side fails after its rehearsal and before the first complete pair.

    A parent that ran before may fail because of the patch, and the patch is not to blame for a program that
    is the same on both sides.
    """
    is_blamed = side is Side.PATCH and not is_same_program
    return Outcome.MEASURED_NOTHING if is_blamed else Outcome.INFRASTRUCTURE


def gravest(outcomes: Collection[Outcome | None]) -> Outcome | None:
    """Choose the outcome of a build from those of its suites: a −1, else no vote, else None, else a +1.

    None, for suites to measure, takes precedence over a suite without anything to compare with: a patch that
    repairs one suite may slow down another.
    """
    found = [outcome for outcome in outcomes if outcome is not None]
    worst = min(found, key=lambda each: _ORDER.index(CONSEQUENCES[each].counts), default=None)
    if worst is None or (None in outcomes and CONSEQUENCES[worst].counts is Counts.PASS):
        return None
    return worst
