"""Failures that builds of the parent have too: no reason to excuse a change, but to look there first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.identity import BuildName  # noqa: TC001 - the API's document reads the annotation
from service.domain.triage.known import is_specific

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.failures.failure import Failure


@dataclass(frozen=True, slots=True)
class ParentBuild:
    """A build of the parent, and what fails there in the same way."""

    build: BuildName
    names: tuple[str, ...]


def parent_builds(found: Iterable[tuple[Failure, BuildName]]) -> tuple[ParentBuild, ...]:
    """Name the failures by the build of the parent that has them, in their order.

    A failure that does not say what failed is left out: its signature is that of many faults.
    """
    names: dict[BuildName, dict[str, None]] = {}
    for failure, build in found:
        if is_specific(failure):
            names.setdefault(build, {})[failure.subject or failure.headline] = None
    return tuple(ParentBuild(build, tuple(each)) for build, each in names.items())
