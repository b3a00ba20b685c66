"""Run the command `benchmark`: it continues the same sequence of pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec, MorePairs
from service.domain.measuring.listing import Listing
from service.domain.project.policy import MOST_PAIRS
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.replies import OVERRIDDEN
from service.ports.verdict import StoredPair
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.support.store_samples import compared

if TYPE_CHECKING:
    from collections.abc import Mapping

RIGHTS = "commands: {rerun: committers}\n"
HEAD, JOB = PROJECT_FILE.split("jobs:\n")
TWO_JOBS = f"{HEAD}jobs:\n{JOB.replace('perf:', 'other:')}{JOB}"


@pytest.fixture
def service() -> Service:
    """A finished run of two builds; in the second, HTB/Find is undecided after 32 pairs."""
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    measured(service, 1, {"BM_other": Verdict.SAME})
    measured(service, 2, {"HTB/Insert": Verdict.SLOWER, "HTB/Find": Verdict.UNDECIDED})
    service.vote()
    return service


def measured(service: Service, build: int, verdicts: Mapping[str, Verdict], pairs: int = 32) -> None:
    """Store the comparisons of a build, and finish it."""
    memory = service.store.memory
    record = memory.builds[build - 1]
    assert record.sequence_id is not None
    names = tuple(verdicts)
    memory.listings[record.sequence_id] = [Listing("s", names, names)]
    memory.pairs[record.sequence_id] = [StoredPair(pair, f"artifact {pair}") for pair in range(pairs)]
    series = {name: SeriesKey("i", "kv", "main", "perf", record.job, "s", name, "cpu_time") for name in names}
    rows = [
        compared(series[name], verdict, position=position, pairs=pairs)
        for position, (name, verdict) in enumerate(verdicts.items())
    ]
    with service.store.transaction() as tx:
        kinds = dict.fromkeys(series.values(), ("ns", "lower"))
        tx.measurements.store_results(record, RunKind.CHECK, kinds, [], rows)
    service.store.update(build, state=BuildState.FINISHED, outcome=Outcome.UNDECIDED)


def say(service: Service, text: str, who: str = "bob") -> list[str]:
    """Post a message on the change, and return the replies."""
    service.server.say(KEY, who, f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def spec(service: Service, build: int) -> BuildSpec:
    return BuildSpec.from_mapping(service.store.memory.builds[build - 1].spec)


def test_only_the_job_with_an_undecided_benchmark_runs_again(service: Service) -> None:
    assert say(service, "benchmark HTB/* x10") == []
    assert service.runs()[-1] == ("patch1", RunState.RUNNING)
    assert [build for run, build in service.store.memory.run_builds if run == 2] == [1, 3]


def test_it_continues_the_same_sequence_up_to_the_next_look(service: Service) -> None:
    say(service, "benchmark HTB/* x10")

    assert spec(service, 3).longer == MorePairs("HTB/*", 50)
    assert spec(service, 3).sequence == spec(service, 2).sequence
    assert service.store.memory.builds[2].sequence_id == service.store.memory.builds[1].sequence_id


def test_without_a_number_the_pairs_are_doubled(service: Service) -> None:
    say(service, "benchmark HTB/Find")

    assert spec(service, 3).longer == MorePairs("HTB/Find", 64)


def test_the_job_keeps_its_configuration(service: Service) -> None:
    service.source = project((TWO_JOBS + RIGHTS).replace("make", "make -j"))
    say(service, "benchmark HTB/Find x8")

    assert spec(service, 3).job == spec(service, 2).job


def test_a_later_recheck_asks_for_no_more_pairs(service: Service) -> None:
    say(service, "benchmark HTB/Find x8")
    service.store.update(3, state=BuildState.FINISHED, outcome=Outcome.SLOWER)
    service.vote(2)
    say(service, "recheck perf")

    assert spec(service, 4).longer is None
    assert spec(service, 4).sequence == spec(service, 2).sequence


def test_a_decided_benchmark_is_not_measured_again(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Insert x8")

    assert answer.startswith("{} `benchmark`: no selected benchmark needs more pairs: each is decided, or ")


def test_a_filter_without_a_match_gets_a_reply(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Erase x8")

    assert answer.startswith("{} `benchmark`: the filter HTB/Erase matches no measured benchmark")


def test_a_run_without_measurements_gets_a_reply() -> None:
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert answer.startswith("{} `benchmark`: no benchmark has been measured yet")


def test_a_running_build_is_not_replaced(service: Service) -> None:
    say(service, "benchmark HTB/Find x8")
    (answer,) = say(service, "benchmark HTB/Find x16")

    assert answer.startswith("{} `benchmark`: a build is still running")


def test_a_sequence_has_a_limit(service: Service) -> None:
    measured(service, 2, {"HTB/Find": Verdict.UNDECIDED}, MOST_PAIRS - 8)
    (answer,) = say(service, "benchmark HTB/Find x1000")

    assert answer.startswith(f"{{}} `benchmark`: perf: a benchmark can have at most {MOST_PAIRS} pairs")


def test_a_job_at_the_limit_does_not_block_another_job(service: Service) -> None:
    measured(service, 1, {"HTB/Find": Verdict.UNDECIDED}, MOST_PAIRS)
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert "other: " in answer
    assert [build for run, build in service.store.memory.run_builds if run == 2] == [1, 3]


def test_an_overridden_build_is_not_replaced(service: Service) -> None:
    service.server.members.add(("bob", "reviewers"))
    service.source = project(TWO_JOBS + "commands: {rerun: committers, override: reviewers}\n")
    service.store.update(2, outcome=Outcome.SLOWER, blamed=("HTB/Insert",))
    say(service, "override MB-1 the builder was full")
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert f"perf: {OVERRIDDEN}" in answer
    assert len(service.store.memory.builds) == 2


def test_a_benchmark_undecided_for_another_reason_is_not_measured_again(service: Service) -> None:
    stored = service.store.memory.results[2]
    layout = (Reason(ReasonKind.LAYOUT_NOT_CHECKED),)
    by_layout = [replace(row, reasons=layout) for row in stored.comparisons]
    service.store.memory.results[2] = replace(stored, comparisons=by_layout)
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert "no selected benchmark needs more pairs" in answer


def test_a_stranger_is_refused(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Find x8", who="mallory")

    assert "refused" in answer
