"""The configuration of a job that runs a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from service.domain.project.forms import about, text
from service.domain.project.job_kinds import Work
from service.domain.project.tests import TestsConfiguration

_COMMAND: Final = text(
    r"[^\x00]{0,4096}\S[^\x00]{0,4096}", "texts of at most 8192 characters, without NUL and not blank"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfiguration(TestsConfiguration):
    """The keys that only jobs of kind command have."""

    work: ClassVar = Work.COMMAND

    command: Annotated[str, _COMMAND, about("runs last, by sh -c in /src; passes with exit code 0")]


CONFIGURATION: Final = CommandConfiguration
