from __future__ import annotations

import json

import pytest

from service.domain.building.findings import Finding
from service.domain.decision.execution import Execution
from service.domain.decision.vote import Outcome


@pytest.mark.parametrize(
    "execution",
    [
        Execution(),
        Execution(pairs=24, seconds={"measure": 1.5}, conditions={"sandbox": {"network": "none"}}),
        Execution(Outcome.FAILED, findings=(Finding("lib/a.cc", 3, "error: no such thing"),)),
        *(Execution(outcome, ("a cause", "another")) for outcome in Outcome),
    ],
)
def test_an_execution_survives_the_database(execution: Execution) -> None:
    assert Execution.from_mapping(json.loads(json.dumps(execution.to_mapping()))) == execution


def test_an_unknown_outcome_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(ValueError, match="fine"):
        Execution.from_mapping({**Execution().to_mapping(), "outcome": "fine"})


def test_what_a_worker_from_before_there_were_findings_reported_is_read() -> None:
    reported = Execution(Outcome.FAILED, ("because",)).to_mapping()
    del reported["findings"]
    assert Execution.from_mapping(reported) == Execution(Outcome.FAILED, ("because",))


def test_findings_that_cannot_be_are_dropped_and_nothing_else() -> None:
    reported = {**Execution(Outcome.FAILED).to_mapping(), "findings": [{"path": "/etc/passwd", "line": 1}]}
    assert Execution.from_mapping(reported) == Execution(Outcome.FAILED)
