"""Run the command `recheck` on builds that were measured to their end."""

from __future__ import annotations

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.measuring.launch import SECOND
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import StoredPair
from tests.support.fakes import WRITTEN
from tests.support.review.changes import Service, change_at, project
from tests.unit.steps.runs.test_measure_longer import RIGHTS, TWO_JOBS, measured, say, spec


@pytest.fixture
def service() -> Service:
    """A finished run: the first job passed, the second is slower in one of three benchmarks."""
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    measured(service, 1, {"BM_other": Verdict.SAME, "BM_more": Verdict.FASTER})
    service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.PASSED)
    verdicts = {"BM_a": Verdict.SLOWER, "BM_b": Verdict.SAME, "BM_c": Verdict.UNDECIDED}
    measured(service, 2, verdicts)
    service.store.update(2, state=BuildState.FINISHED, outcome=Outcome.SLOWER, blamed=("BM_a",))
    service.vote()
    return service


def finish(service: Service, build: int, outcome: Outcome) -> None:
    """End a repeated build, which shares the sequence and has the same comparisons."""
    verdicts = {"BM_a": Verdict.SLOWER, "BM_b": Verdict.SAME, "BM_c": Verdict.UNDECIDED}
    measured(service, build, verdicts)
    service.store.update(build, state=BuildState.FINISHED, outcome=outcome)
    service.vote(2)


def with_second_opinion(service: Service) -> None:
    record = service.store.memory.builds[1]
    assert record.sequence_id is not None
    pairs = service.store.memory.pairs
    pairs[record.sequence_id] = [*pairs[record.sequence_id], StoredPair(0, "another", SECOND)]


@pytest.mark.parametrize("command", ["recheck", "recheck perf"])
def test_a_slow_down_gets_a_second_opinion(service: Service, command: str) -> None:
    assert say(service, command) == []
    assert spec(service, 3).second
    assert spec(service, 3).sequence == spec(service, 2).sequence


def test_there_is_one_for_each_sequence(service: Service) -> None:
    with_second_opinion(service)
    (answer,) = say(service, "recheck perf")

    assert not spec(service, 3).second
    assert "perf: 2 decided, which is final; 1 undecided, of which more pairs are measured only if" in answer
    assert "`benchmark FILTER xN` measures them longer" in answer


def test_the_reply_calls_decided_benchmarks_final(service: Service) -> None:
    (answer,) = say(service, "recheck other")

    assert answer.startswith("{} `recheck`: other: nothing to measure: every verdict is final (2 decided)")


def test_a_recheck_of_all_jobs_names_those_without_a_slow_down(service: Service) -> None:
    (answer,) = say(service, "recheck all")

    assert "other: nothing to measure" in answer
    assert "perf" not in answer.partition(":")[2].partition("\n")[0]
    assert [BuildSpec.from_mapping(each.spec).second for each in service.store.memory.builds[2:]] == [
        False,
        True,
    ]


def test_a_build_that_failed_before_it_was_measured_just_runs_again(service: Service) -> None:
    service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.INFRASTRUCTURE)

    assert say(service, "recheck other") == []


def test_a_new_configuration_begins_anew(service: Service) -> None:
    service.source = project((TWO_JOBS + RIGHTS).replace("make", "make -j"))

    assert say(service, "recheck perf") == []
    assert not spec(service, 3).second
    assert spec(service, 3).sequence != spec(service, 2).sequence


def test_asking_longer_asks_for_no_second_opinion(service: Service) -> None:
    say(service, "recheck perf")
    finish(service, 3, Outcome.SLOWER)
    say(service, "benchmark BM_c x10")

    assert spec(service, 3).second
    assert not spec(service, 4).second
