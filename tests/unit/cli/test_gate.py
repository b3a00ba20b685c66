from __future__ import annotations

import pytest

from service.cli import EXIT_CANNOT, EXIT_OK, EXIT_SLOWER
from service.cli.local.gate import exit_code
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome

OK = {Outcome.PASSED, Outcome.UNDECIDED, Outcome.NOT_BUILT}


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_verdict_without_a_failure_ends_with_0(outcome: Outcome) -> None:
    """So that `gate && git push` never pushes what nothing was measured of."""
    fails = CONSEQUENCES[outcome].counts is Counts.FAIL
    expected = EXIT_SLOWER if fails else EXIT_OK if outcome in OK else EXIT_CANNOT

    assert exit_code([outcome]) == expected
    assert exit_code([Outcome.PASSED, outcome]) == expected


def test_a_failure_outweighs_a_job_without_a_verdict() -> None:
    assert exit_code([Outcome.MISCONFIGURED, Outcome.SLOWER]) == EXIT_SLOWER
