"""The work on a benchmark build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.kinds.comparing import compare_sides

if TYPE_CHECKING:
    from service.domain.runs.machine_report import MachineReport
    from service.steps.building.session import BuildSession


def run(session: BuildSession) -> MachineReport:
    """Build both sides, and measure them in pairs."""
    return compare_sides(session)
