"""The configuration of a job that runs the Clang static analyzer, which is a part of clang-tidy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from service.kinds.clang_tidy.configuration import TidyConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzerConfiguration(TidyConfiguration):
    """The keys of a clang-tidy job."""

    checks: ClassVar = "-*,clang-analyzer-*"


CONFIGURATION: Final = AnalyzerConfiguration
