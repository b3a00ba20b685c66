"""The configuration of a clang-format job: the project's ``.clang-format`` has all settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from service.domain.project.job_kinds import Configuration


@dataclass(frozen=True, slots=True)
class FormatConfiguration(Configuration):
    """No keys of its own: ``paths`` selects the files."""


CONFIGURATION: Final = FormatConfiguration
