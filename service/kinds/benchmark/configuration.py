"""The configuration of a benchmark job, which is a part of the domain: most of it is about benchmarks."""

from __future__ import annotations

from typing import Final

from service.domain.project.benchmark import BenchmarkConfiguration

CONFIGURATION: Final = BenchmarkConfiguration
