from __future__ import annotations

import json

import pytest

from service.domain.building.findings import Finding
from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.build_outcome import Circumstances
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome


@pytest.mark.parametrize(
    "execution",
    [
        MachineReport(),
        MachineReport(is_parent_lost=True),
        MachineReport(is_used_up_by_patch=True),
        MachineReport(pairs=24, seconds={"measure": 1.5}, conditions={"sandbox": {"network": "none"}}),
        MachineReport(Outcome.FAILED, findings=(Finding("lib/a.cc", 3, "error: no such thing"),)),
        MachineReport(Outcome.FAILED, failures=(Failure(FailureKind.TEST, "parse", "Failed"),), is_cut=True),
        MachineReport(Outcome.PASSED, tests="a1b2", retried=("parse",)),
        MachineReport(Outcome.PASSED, cleared=(Failure(FailureKind.TEST, "parse", "Failed"),)),
        *(MachineReport(outcome, ("a cause", "another")) for outcome in Outcome),
    ],
)
def test_an_execution_survives_the_database(execution: MachineReport) -> None:
    assert MachineReport.from_mapping(json.loads(json.dumps(execution.to_mapping()))) == execution


def test_an_unknown_outcome_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(ValueError, match="fine"):
        MachineReport.from_mapping({**MachineReport().to_mapping(), "outcome": "fine"})


def test_a_report_from_before_there_were_findings_is_read() -> None:
    reported = MachineReport(Outcome.FAILED, ("because",)).to_mapping()
    for key in ("findings", "is_parent_lost", "is_used_up_by_patch"):
        del reported[key]
    assert MachineReport.from_mapping(reported) == MachineReport(Outcome.FAILED, ("because",))


def test_findings_that_cannot_be_are_dropped_and_nothing_else() -> None:
    reported = {
        **MachineReport(Outcome.FAILED).to_mapping(),
        "findings": [{"path": "/etc/passwd", "line": 1}],
    }
    assert MachineReport.from_mapping(reported) == MachineReport(Outcome.FAILED)


def test_the_circumstances_of_measuring_are_those_that_the_machine_reports() -> None:
    assert MachineReport().circumstances == Circumstances()
    assert MachineReport(is_parent_lost=True).circumstances == Circumstances(is_parent_lost=True)
    assert MachineReport(is_used_up_by_patch=True).circumstances == Circumstances(is_used_up_by_patch=True)
