"""Tell what made a build slower, after its vote or with it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from service.domain.review.change import InlineComment, Review
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, pack, unpack
from service.ports.runs.decisions import NewOverride
from service.steps.runs.decide_run import decide_run
from tests.support.building.memory_source import CODE
from tests.support.review.changes import KEY, LINKS, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LOCKS = Cause(Kind.LOCKS, "f", 1.0, 2.0)
LINE = "BM_a: 300 % more branch misses (10 → 40 per iteration), in work"


def program(factor: float, misses: int) -> str:
    times = {"BM_a": factor * 1e-6, "BM_b": 2e-6}
    counted = {"instructions": dict.fromkeys(times, 500), "events": {"Bcm": misses}}
    return json.dumps({"benchmarks": times, **counted})


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A change that is slower because it misses more branches; its machine has explained it."""
    source = project()
    kept = source.commits["parent"].files
    source.commit("parent", "root", {**kept, CODE: program(1, 10)}, "refs/heads/master")
    source.commit("patch1", "parent", {**kept, CODE: program(1.5, 40)}, "refs/changes/07/7/1")
    farm = Farm(tmp_path, Service(source=source))
    farm.review()
    farm.execute()
    farm.analyse()
    return farm


def decide_first(farm: Farm) -> None:
    """Decide the run before its build is explained."""
    memory = farm.service.store.memory
    found = memory.explanations.pop(1)
    farm.service.vote()
    memory.explanations[1] = found


def message(farm: Farm) -> str:
    return farm.service.store.memory.decisions[-1].message


def decide_again(farm: Farm) -> None:
    with farm.service.store.transaction() as tx:
        decide_run(tx, tx.runs.lock(1), tx.builds.of_run(1), LINKS)


def test_a_decided_run_is_explained_once_without_a_vote_and_without_mail(farm: Farm) -> None:
    decide_first(farm)
    assert LINE not in message(farm)
    text = f"Slow-Down Explained \n\n{LINE}\n\nhttps://bench.example.com/job/perf/1/#why"
    assert farm.tell_why() == [Review(KEY, "patch1", text, is_silent=True)]
    assert farm.tell_why() == []
    assert [farm.service.deliver() for _ in range(2)] == [1, 2]  # and the vote is not granted
    assert "run/1/why/1" in farm.service.store.memory.reviews


def test_a_run_that_is_decided_later_says_it_in_its_message(farm: Farm) -> None:
    assert farm.tell_why() == []
    farm.service.vote()
    assert message(farm).count(LINE) == 1
    assert farm.tell_why() == []


def test_a_decision_that_is_made_again_says_it_too(farm: Farm) -> None:
    decide_first(farm)
    decide_again(farm)
    assert message(farm).count(LINE) == 1
    assert farm.tell_why() == []


def test_an_explanation_replaces_the_line_that_only_counts_instructions(farm: Farm) -> None:
    counted = tuple(f"{name}: instructions +300 %: all in work" for name in ("BM_a", "BM_b"))
    with farm.service.store.transaction() as tx:
        builds = [replace(each, causes=(*each.causes, *counted)) for each in tx.builds.of_run(1)]
        decide_run(tx, tx.runs.lock(1), builds, LINKS)
    assert [line in message(farm) for line in (LINE, *counted)] == [True, False, True]


def test_a_benchmark_that_no_line_explains_keeps_the_line_that_only_counts_instructions(farm: Farm) -> None:
    names = [f"BM_{letter}" for letter in "bcdef"]
    counted = tuple(f"{name}: instructions +300 %: all in work" for name in names)
    found = [Explanation("bench", name, causes=(LOCKS,)) for name in names[1:]]
    hindered = Explanation("bench", "BM_b", obstacle="the minute was used up")
    farm.service.store.memory.explanations[1] = pack([hindered, *found])
    with farm.service.store.transaction() as tx:
        builds = [
            replace(each, blamed=tuple(names), causes=(*each.causes, *counted))
            for each in tx.builds.of_run(1)
        ]
        decide_run(tx, tx.runs.lock(1), builds, LINKS)
    assert [line in message(farm) for line in counted] == [True, False, False, False, True]
    assert "and 1 more, on the page of the build" in message(farm)


def test_an_overridden_build_is_not_explained(farm: Farm) -> None:
    touch(farm)
    decide_first(farm)
    with farm.service.store.transaction() as tx:
        entry = NewOverride(OverrideKind.OVERRIDE, "1", "Ann", builds=[1], reason="wanted")
        tx.overrides.add(1, entry)
    decide_again(farm)
    assert LINE not in message(farm)
    assert farm.tell_why() == []
    assert comments(farm) == [(), ()]


def test_an_override_also_stops_what_waits_for_delivery(farm: Farm) -> None:
    decide_first(farm)
    assert len(farm.tell_why()) == 1
    with farm.service.store.transaction() as tx:
        tx.overrides.add(1, NewOverride(OverrideKind.OVERRIDE, "1", "Ann", builds=[1], reason="wanted"))
    decide_again(farm)
    while farm.service.deliver():
        pass
    assert not [each for each in farm.service.server.reviews if LINE in each.message]


def test_the_log_names_the_run_of_a_message_that_explains(farm: Farm) -> None:
    decide_first(farm)
    farm.tell_why()
    with capture_logs(processors=[merge_contextvars]) as logs:
        assert [farm.service.deliver() for _ in range(2)] == [1, 2]
    assert [each["run"] for each in logs if each["event"] == "review.posted"] == [1, 1, 1]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.CANCELLED])
def test_a_run_without_a_decision_gets_no_message(farm: Farm, state: RunState) -> None:
    memory = farm.service.store.memory
    memory.runs[0] = replace(memory.runs[0], state=state)
    assert farm.tell_why() == []


@pytest.mark.parametrize(
    ("suite", "benchmark", "causes"),
    [("bench", "BM_b", [LOCKS]), ("other", "BM_a", [LOCKS]), ("bench", "BM_a", [])],
    ids=["of a benchmark that counts not", "of another suite", "without a cause"],
)
def test_what_says_nothing_about_the_vote_makes_no_message(
    farm: Farm, suite: str, benchmark: str, causes: Sequence[Cause]
) -> None:
    decide_first(farm)
    memory = farm.service.store.memory
    memory.explanations[1] = pack([Explanation(suite, benchmark, causes=tuple(causes))])
    assert farm.tell_why() == []


@pytest.mark.parametrize("fault", [BadResults("no gzip"), ArithmeticError("a bug")])
def test_an_explanation_that_cannot_be_read_hinders_no_decision(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("service.steps.runs.decide_run.unpack", fail)
    with capture_logs() as logs:
        farm.service.vote()
    assert repr(fault) in [each.get("error") for each in logs]
    assert message(farm).startswith("Benchmarks Failed")
    assert farm.tell_why() == []


COMMENT = InlineComment(CODE, 1, "perf: a benchmark is slower: more branch misses here, in work")


def touch(farm: Farm) -> None:
    """The machine has found the line that the patch set touched."""
    memory = farm.service.store.memory
    (found,) = unpack(memory.explanations[1])
    memory.explanations[1] = pack([replace(found, touched=(CODE, 1))])


def test_a_message_of_its_own_comes_with_the_comment_on_the_line(farm: Farm) -> None:
    touch(farm)
    decide_first(farm)
    (review,) = farm.tell_why()
    assert (review.comments, review.labels, review.is_silent) == ((COMMENT,), {}, True)
    decide_again(farm)
    assert comments(farm) == [(), (COMMENT,), (COMMENT,)], "the decision replaces a reply that was not posted"


def test_a_decision_that_comes_later_has_the_comment(farm: Farm) -> None:
    touch(farm)
    farm.service.vote()
    assert comments(farm) == [(COMMENT,)]
    assert farm.tell_why() == []


def comments(farm: Farm) -> list[tuple[InlineComment, ...]]:
    """The comments of each review, the first one first."""
    return [stored.review.comments for stored in farm.service.store.memory.reviews.values()]
