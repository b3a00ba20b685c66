"""The configuration of a job that another CI runs: Benchgate only waits for its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from service.domain.project.job_kinds import Configuration


@dataclass(frozen=True, slots=True)
class ExternalConfiguration(Configuration):
    """No keys of its own."""

    is_external: ClassVar = True


CONFIGURATION: Final = ExternalConfiguration
