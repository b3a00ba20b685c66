"""The configuration of a clang-format job: the project's ``.clang-format`` has all settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from service.domain.project.job_kinds import Configuration, Work


@dataclass(frozen=True, slots=True)
class FormatConfiguration(Configuration):
    """No keys of its own: ``paths`` selects the files."""

    work: ClassVar = Work.FORMAT


CONFIGURATION: Final = FormatConfiguration
