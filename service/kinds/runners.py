"""List the function that runs a build, for each kind that Benchgate itself runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from service.kinds import clang_format, clang_tidy, command, ctest, gtest
from service.kinds.comparing import compare_sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.runs.machine_report import MachineReport
    from service.steps.building.session import BuildSession

RUNNERS: Final[dict[str, Callable[[BuildSession[Any]], MachineReport]]] = {
    "benchmark": compare_sides,
    "clang-analyzer": clang_tidy.run,  # which reads the checks from the configuration
    "clang-format": clang_format.run,
    "clang-tidy": clang_tidy.run,
    "command": command.run,
    "ctest": ctest.run,
    "gtest": gtest.run,
}
