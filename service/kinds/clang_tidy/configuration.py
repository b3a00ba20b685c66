"""The configuration of a clang-tidy job; the project's ``.clang-tidy`` has the checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from service.domain.project.build_commands import MEMORY, BuildCommands, InnerPath
from service.domain.project.forms import Duration, Size, about
from service.domain.project.job_kinds import Configuration, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class TidyConfiguration(Configuration):
    """The keys of jobs that run clang-tidy."""

    work: ClassVar = Work.LINT
    checks: ClassVar = ""  # clang-tidy's --checks; empty: those of the project

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    directory: Annotated[InnerPath, about("with compile_commands.json")] = "build"
    timeout: Annotated[Duration, about("of the check, without the build")] = 1800.0
    memory: Annotated[Size, about("of the check, with all its processes")] = MEMORY


CONFIGURATION: Final = TidyConfiguration
