"""The configuration of a job that another CI runs: Benchgate only waits for its result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from service.domain.project.forms import about
from service.domain.project.job_kinds import Configuration


class Reuse(StrEnum):
    """The results of earlier patch sets that count for a new one."""

    NEVER = "never"
    EQUAL_TREES = "equal-trees"


@dataclass(frozen=True, slots=True)
class ExternalConfiguration(Configuration):
    """The one key of its own."""

    is_external: ClassVar = True
    reuse: Annotated[
        Reuse, about("equal-trees: a result also counts for a patch set with the same code and parent")
    ] = Reuse.NEVER

    @property
    def shares_results(self) -> bool:
        """Return whether a build also counts for a patch set with equal trees."""
        return self.reuse is Reuse.EQUAL_TREES


CONFIGURATION: Final = ExternalConfiguration
