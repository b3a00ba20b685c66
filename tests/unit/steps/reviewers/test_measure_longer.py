"""People ask for more pairs of what is undecided, and the same sequence goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec, Longer
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.identity import RunKind, SeriesKey
from service.domain.inference.verdict import Verdict
from service.ports.records import StoredComparison
from service.steps.reviewers.measure_longer import MOST_PAIRS, OVERRIDDEN
from tests.support.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.support.fakes import WRITTEN

if TYPE_CHECKING:
    from collections.abc import Mapping

RIGHTS = "commands: {rerun: committers}\n"
HEAD, JOB = PROJECT_FILE.split("jobs:\n")
TWO_JOBS = f"{HEAD}jobs:\n{JOB.replace('perf:', 'other:')}{JOB}"


@pytest.fixture
def service() -> Service:
    """A finished round of two builds; in the second, HTB/Find is undecided after 32 pairs."""
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
    """Store what a build compared, and finish it."""
    memory = service.store.memory
    record = memory.builds[build - 1]
    assert record.sequence_id is not None
    names = list(verdicts)
    memory.listings[record.sequence_id] = [{"suite": "s", "patch": names, "base": names}]
    memory.pairs[record.sequence_id] = {pair: f"artifact {pair}" for pair in range(pairs)}
    series = {name: SeriesKey("i", "kv", "main", "perf", record.job, "s", name, "cpu_time") for name in names}
    rows = [
        StoredComparison(series[name], position, pairs, verdict, 1.0, 0.9, 1.1, 1.0, 1.0, "")
        for position, (name, verdict) in enumerate(verdicts.items())
    ]
    with service.store.transaction() as tx:
        kinds = dict.fromkeys(series.values(), ("ns", "lower"))
        tx.store_results(record, RunKind.CHECK, kinds, [], rows)
    service.store.update(build, state=BuildState.FINISHED, outcome=Outcome.UNDECIDED)


def say(service: Service, text: str, who: str = "bob") -> list[str]:
    """Somebody writes on the change; what is posted for it."""
    service.server.say(KEY, who, f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def spec(service: Service, build: int) -> BuildSpec:
    return BuildSpec.from_mapping(service.store.memory.builds[build - 1].spec)


def test_only_the_job_with_what_is_undecided_runs_again(service: Service) -> None:
    assert say(service, "benchmark HTB/* x10") == []
    assert service.runs()[-1] == ("patch1", RunState.RUNNING)
    assert [build for run, build in service.store.memory.run_builds if run == 2] == [1, 3]


def test_it_continues_the_same_pairs_up_to_the_next_look(service: Service) -> None:
    say(service, "benchmark HTB/* x10")

    assert spec(service, 3).longer == Longer("HTB/*", 50)
    assert spec(service, 3).sequence == spec(service, 2).sequence
    assert service.store.memory.builds[2].sequence_id == service.store.memory.builds[1].sequence_id


def test_without_a_number_it_is_measured_twice_as_long(service: Service) -> None:
    say(service, "benchmark HTB/Find")

    assert spec(service, 3).longer == Longer("HTB/Find", 64)


def test_the_job_stays_as_it_was_configured(service: Service) -> None:
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


def test_what_is_decided_is_not_measured_longer(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Insert x8")

    assert answer.startswith(
        "{} `benchmark`: more pairs would change nothing of what it chooses: it is decided, or undecided for "
        "another reason, which its row tells"
    )


def test_a_filter_that_chooses_nothing_is_said(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Erase x8")

    assert answer.startswith("{} `benchmark`: no benchmark that was measured is like HTB/Erase")


def test_before_anything_is_measured_it_says_so() -> None:
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert answer.startswith("{} `benchmark`: nothing is measured yet")


def test_while_it_runs_it_is_left_to_arrive(service: Service) -> None:
    say(service, "benchmark HTB/Find x8")
    (answer,) = say(service, "benchmark HTB/Find x16")

    assert answer.startswith("{} `benchmark`: it is still running")


def test_a_sequence_does_not_grow_for_ever(service: Service) -> None:
    measured(service, 2, {"HTB/Find": Verdict.UNDECIDED}, MOST_PAIRS - 8)
    (answer,) = say(service, "benchmark HTB/Find x1000")

    assert answer.startswith(f"{{}} `benchmark`: perf: {MOST_PAIRS} pairs are the most of a sequence")


def test_one_job_that_is_exhausted_does_not_keep_the_other(service: Service) -> None:
    measured(service, 1, {"HTB/Find": Verdict.UNDECIDED}, MOST_PAIRS)
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert "other: " in answer
    assert [build for run, build in service.store.memory.run_builds if run == 2] == [1, 3]


def test_an_override_is_not_lost_by_measuring_longer(service: Service) -> None:
    service.server.members.add(("bob", "reviewers"))
    service.source = project(TWO_JOBS + "commands: {rerun: committers, override: reviewers}\n")
    service.store.update(2, outcome=Outcome.SLOWER, blamed=("HTB/Insert",))
    say(service, "override MB-1 known")
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert f"perf: {OVERRIDDEN}" in answer
    assert len(service.store.memory.builds) == 2


def test_what_no_pairs_can_decide_is_not_measured_longer(service: Service) -> None:
    found = service.store.memory.results[2]
    by_layout = [replace(row, reason="layout: not checked by relinking") for row in found.comparisons]
    service.store.memory.results[2] = replace(found, comparisons=by_layout)
    (answer,) = say(service, "benchmark HTB/Find x8")

    assert "more pairs would change nothing" in answer


def test_a_stranger_is_refused(service: Service) -> None:
    (answer,) = say(service, "benchmark HTB/Find x8", who="mallory")

    assert "refused" in answer
