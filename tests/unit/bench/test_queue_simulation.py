from __future__ import annotations

import numpy as np
import pytest

from bench.simulations.queue import (
    MACHINES,
    ByNumber,
    ByTurn,
    Queued,
    Waits,
    beside_stacks,
    builds,
    served,
)


@pytest.fixture(scope="module")
def queued() -> list[Queued]:
    return builds(np.random.default_rng(3), 3000, 5000.0, 0.9)


def late(waits: list[float]) -> float:
    return float(np.quantile(waits, 0.95))


def test_turns_let_a_single_change_pass_a_stack_of_thirty(queued: list[Queued]) -> None:
    """They wait a third of the time, at no cost of machine time, and nobody waits twice as long."""
    first = Waits(served(queued, ByNumber()))
    turns = Waits(served(queued, ByTurn()))
    beside = beside_stacks(first.queued)

    assert late(turns.of(beside)) < late(first.of(beside)) / 3
    assert max(turns.of()) < 2 * max(first.of())
    ends = [max(each.begins + each.seconds for each in waits.queued) for waits in (first, turns)]
    assert ends[1] == pytest.approx(ends[0], rel=0.01)


def test_no_machine_is_idle_while_a_build_waits(queued: list[Queued]) -> None:
    found = served(queued, ByTurn())
    for each in found[:: len(found) // 50]:
        between = (each.arrives + each.begins) / 2
        running = sum(other.begins <= between < other.begins + other.seconds for other in found)
        assert running == MACHINES or each.begins == each.arrives
