"""Configure jobs that check touched lines; the project's own files have most settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from service.domain.project.build_commands import MEMORY, BuildCommands, InnerPath
from service.domain.project.configuration import Configuration, Work
from service.domain.project.forms import Duration, Size, about


@dataclass(frozen=True, slots=True, kw_only=True)
class TidyConfiguration(Configuration):
    """The keys of jobs that run clang-tidy."""

    work: ClassVar = Work.LINT
    checks: ClassVar = ""  # clang-tidy's --checks; empty: those of the project

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    directory: Annotated[InnerPath, about("with compile_commands.json")] = "build"
    timeout: Annotated[Duration, about("of the check, without the build")] = 1800.0
    memory: Annotated[Size, about("of the check, with all its processes")] = MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzerConfiguration(TidyConfiguration):
    """The keys of jobs that run the Clang static analyzer, which is a part of clang-tidy."""

    checks: ClassVar = "-*,clang-analyzer-*"


@dataclass(frozen=True, slots=True)
class FormatConfiguration(Configuration):
    """No keys of its own: ``paths`` selects the files."""

    work: ClassVar = Work.FORMAT
