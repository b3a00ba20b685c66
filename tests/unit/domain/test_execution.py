from __future__ import annotations

import json

import pytest

from service.domain.execution import Execution
from service.domain.vote import Outcome


@pytest.mark.parametrize(
    "execution",
    [
        Execution(),
        Execution(pairs=24, seconds={"measure": 1.5}, conditions={"sandbox": {"network": "none"}}),
        *(Execution(outcome, ("a cause", "another")) for outcome in Outcome),
    ],
)
def test_an_execution_survives_the_database(execution: Execution) -> None:
    assert Execution.from_mapping(json.loads(json.dumps(execution.to_mapping()))) == execution


def test_an_unknown_outcome_is_an_error_and_not_a_pass() -> None:
    with pytest.raises(ValueError, match="fine"):
        Execution.from_mapping({**Execution().to_mapping(), "outcome": "fine"})
