"""Note the tests that ran for the parent, as far as its results are stored, and no longer run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.measuring.tests.lost import lost_tests
from service.domain.measuring.tests.record import RECORD_BYTES, read_tests
from service.domain.values.errors import BadInput, Permanent
from service.domain.wording.failures import losses_of_tests

if TYPE_CHECKING:
    from service.domain.building.spec import BuildSpec
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import Artifacts
    from service.ports.runs.history import RunHistory


def note_lost_tests(
    history: RunHistory, artifacts: Artifacts, spec: BuildSpec, report: MachineReport
) -> tuple[str, ...]:
    """Return a sentence for each kind of loss; nothing about a build whose tests did not all run."""
    if not report.tests or report.is_cut or not (before := history.tests_on_base(spec)):
        return ()
    try:
        parent, patch = (
            read_tests(artifacts.get(key, at_most=RECORD_BYTES)) for key in (before, report.tests)
        )
    except (BadInput, Permanent):  # old results are deleted
        return ()
    return losses_of_tests(lost_tests(parent, patch))
