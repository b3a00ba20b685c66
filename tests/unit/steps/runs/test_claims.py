"""Claims of a commit message are kept at planning, answered in a check's message, and never change a vote."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from service.domain.building.spec import BuildSpec
from service.domain.claims.values import Claim
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput, Transient
from service.domain.values.identity import RunKind
from service.steps.runs import claims as step
from tests.support.building.memory_source import CODE, MemorySource
from tests.support.memory.claims import MemoryClaims
from tests.support.review.changes import PROJECT_FILE, Service, change_at, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

KEY = ("gerrit", "kv", "patch1")
KEPT = [f"BM_{letter}" for letter in "ab"]


def message(names: Sequence[str], factor: float) -> str:
    """Tables of benchmarks that take ``factor`` times as long after the change."""

    def table(heading: str, times: float) -> list[str]:
        return [heading, *(f"{name:<20} {times:>12.0f} ns {times:>12.0f} ns {9000}" for name in names), ""]

    return "\n".join(["Speed up", "", *table("Before:", 100_000.0), *table("After:", 100_000.0 * factor)])


def slower(said: str, text: str = PROJECT_FILE) -> MemorySource:
    """A change that makes BM_a slower by half."""
    source = project(text)
    kept = source.commits["parent"].files
    times = {"BM_a": 1.5e-6, "BM_b": 2e-6}
    source.commit(
        "patch1", "parent", {**kept, CODE: json.dumps({"benchmarks": times})}, "refs/changes/07/7/1"
    )
    source.commits["patch1"] = replace(source.commits["patch1"], message=said)
    return source


def filtered(said: str) -> MemorySource:
    """A change that halves BM_c, once BM_old, which the suite's filter leaves out."""
    keys = 'build/bench, filter: "BM_[ab]", renamed: {BM_old: BM_c}}'
    source = project(PROJECT_FILE.replace("build/bench}", keys))
    kept = source.commits["parent"].files
    places = (("parent", "root", "refs/heads/master"), ("patch1", "parent", "refs/changes/07/7/1"))
    for factor, (commit, parent, ref) in zip((1, 0.5), places, strict=True):
        times = {"BM_a": 1e-6, "BM_b": 2e-6, "BM_c": factor * 3e-6}
        source.commit(commit, parent, {**kept, CODE: json.dumps({"benchmarks": times})}, ref)
    source.commits["patch1"] = replace(source.commits["patch1"], message=said)
    return source


def decided(scratch: Path, said: str, of: Callable[[str], MemorySource] = slower) -> Farm:
    scratch.mkdir(exist_ok=True)
    farm = Farm(scratch, Service(source=of(said)))
    farm.review()
    farm.execute()
    farm.analyse()
    farm.service.vote()
    return farm


def told(farm: Farm) -> list[str]:
    (decision,) = farm.service.store.memory.decisions
    return [line for line in decision.message.split("\n\n") if "laim" in line]


def test_a_message_answers_the_claims_of_its_commit(tmp_path: Path) -> None:
    farm = decided(tmp_path, message(["BM_a", "BM_b", "BM_gone"], 0.5))
    sentence, opposite, same = told(farm)
    assert sentence == (
        "Claims of the commit message: 0 of 3 benchmarks confirmed, 1 not reproduced, 1 opposite, "
        "1 not measurable here"
    )
    assert opposite.startswith("`BM_a`: claimed −50.0 % CPU time, measured +50.0 % [")
    assert opposite.endswith("]: opposite")
    assert same.startswith("`BM_b`: claimed −50.0 % CPU time, measured ")


def test_a_message_answers_claims_of_old_names_and_has_near_ones(tmp_path: Path) -> None:
    text = PROJECT_FILE.replace("build/bench}", "build/bench, renamed: {BM_old: BM_a}}")
    said = message(["BM_old", "Bench/BM_b"], 0.5)
    farm = decided(tmp_path, said, lambda message: slower(message, text))
    lines = farm.service.store.memory.decisions[0].message.split("\n\n")
    place = lines.index(
        "Claims of the commit message: 0 of 2 benchmarks confirmed, 1 opposite, 1 not measurable here"
    )
    assert lines[place + 1].startswith("`BM_old`, measured as `BM_a`: claimed −50.0 % CPU time, measured +50")
    assert lines[place + 2] == (
        "`Bench/BM_b`: no benchmark of this name was measured; `BM_b` differs in fixture"
    )


@pytest.mark.parametrize("names", [[], KEPT, [f"BM_{number}" for number in range(100)]], ids=len)
def test_no_claim_changes_a_vote_or_what_is_measured(tmp_path: Path, names: list[str]) -> None:
    """Each benchmark has a claim of each of its times."""
    plain, other = decided(tmp_path / "a", ""), decided(tmp_path / "b", message(names, 0.8))
    ours, theirs = (each.service.store.memory for each in (plain, other))
    assert len(theirs.claims.get(KEY, ())) == 2 * len(names)
    assert told(plain) == []
    assert [each.vote for each in ours.decisions] == [each.vote for each in theirs.decisions] == [-1]
    specs = [[BuildSpec.from_mapping(each.spec) for each in memory.builds] for memory in (ours, theirs)]
    assert specs[0] == specs[1]
    assert (ours.sequences, ours.listings) == (theirs.sequences, theirs.listings)
    pairs = [memory.pairs for memory in (ours, theirs)]
    assert pairs[0] == pairs[1]
    assert [each.header for each in ours.decisions] == [each.header for each in theirs.decisions]


@pytest.mark.parametrize(("name", "lines"), [("BM_c", ()), ("BM_old", ("`BM_old` was measured as `BM_c`",))])
def test_what_a_filter_leaves_out_is_measured_if_it_is_claimed_and_changes_nothing_else(
    tmp_path: Path, name: str, lines: tuple[str, ...]
) -> None:
    plain = decided(tmp_path / "a", "", filtered)
    other = decided(tmp_path / "b", message([name, "BM_gone"], 0.5), filtered)
    ours, theirs = (each.service.store.memory for each in (plain, other))
    assert [each.vote for each in ours.decisions] == [each.vote for each in theirs.decisions] == [1]
    assert (ours.sequences, ours.listings) == (theirs.sequences, theirs.listings)
    assert (ours.pairs, ours.results) == (theirs.pairs, theirs.results)
    specs = [BuildSpec.from_mapping(memory.builds[0].spec) for memory in (ours, theirs)]
    assert [each.claimed_names[:1] for each in specs] == [(), (name,)]
    assert specs[0] == replace(specs[1], claimed_names=())
    counted = "Claims of the commit message: 1 of 2 benchmarks confirmed, 1 not measurable here"
    assert step.answered_claims(MemoryClaims(theirs), theirs.runs[0], ()) == (counted, *lines)
    assert told(other) == [counted]


def test_a_message_says_what_may_follow_until_the_rows_are_there(tmp_path: Path) -> None:
    """A build that is reused was asked for the names of another message."""
    farm = Farm(tmp_path, Service(source=filtered(message(["BM_a", "BM_c"], 0.5))))
    source, memory = farm.service.source, farm.service.store.memory
    farm.review()
    farm.execute()
    memory.explanations.clear()  # the machine still measures
    farm.analyse()
    farm.service.vote()
    assert told(farm)[0].endswith(", 1 not compared; what a filter leaves out may follow on the page")
    source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
    source.commits["patch2"] = replace(source.commits["patch2"], message=message(["BM_c"], 0.5))
    farm.review(2)
    farm.service.vote(2)
    assert "the benchmark is not answered: no benchmark" in memory.decisions[-1].message


def test_nothing_follows_a_build_that_fails(tmp_path: Path) -> None:
    source = filtered("")
    files = {**source.commits["patch1"].files, CODE: '{"does not compile": true}'}
    source.commit("patch1", "parent", files, "refs/changes/07/7/1")
    source.commits["patch1"] = replace(source.commits["patch1"], message=message(["BM_c"], 0.5))
    farm = decided(tmp_path, "", lambda _: source)
    assert BuildSpec.from_mapping(farm.service.store.memory.builds[0].spec).claimed_names
    missing = "the benchmark is not answered: no benchmark of this name was measured"
    assert told(farm) == [f"Claims of the commit message: {missing}"]


def test_a_result_of_equal_trees_answers_the_claims_of_the_new_message(tmp_path: Path) -> None:
    farm = decided(tmp_path, "")
    source = farm.service.source
    source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
    source.commits["patch2"] = replace(source.commits["patch2"], message=message(["BM_a"], 1.5))
    farm.review(2)
    farm.service.vote(2)
    newest = farm.service.store.memory.decisions[-1].message
    assert "Claims of the commit message: 1 of 1 benchmark confirmed" in newest
    assert farm.service.store.memory.run_builds == [(1, 1), (2, 1)]


@pytest.mark.parametrize("fault", [ValueError("odd"), BadInput("git wrote too much"), RecursionError()])
def test_a_message_that_cannot_be_read_ends_no_planning(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(message: str) -> None:
        raise fault

    monkeypatch.setattr(step, "claims_to_keep", fail)
    service = Service(source=slower(message(KEPT, 0.5)))
    service.see(change_at(1))
    with capture_logs() as logs:
        service.plan()
    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert [each["event"] for each in logs if each["log_level"] == "warning"] == ["claims.unreadable"]


@pytest.mark.parametrize("silent", [(MemorySource, "message"), (MemoryClaims, "keep")])
def test_planning_is_tried_again_if_git_or_the_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, silent: tuple[type, str]
) -> None:
    def fail(*_: object) -> None:
        raise Transient("no answer")

    service = Service(source=slower(message(KEPT, 0.5)))
    service.see(change_at(1))
    with monkeypatch.context() as patched:
        patched.setattr(*silent, fail)
        with pytest.raises(Transient):
            service.plan()
    assert service.runs() == [("patch1", RunState.PLANNING)]
    service.plan()
    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert service.store.memory.claims.keys() == {KEY}


def test_claims_that_cannot_be_answered_end_no_vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(step, "answers", fail)
    farm = decided(tmp_path, message(KEPT, 0.5))
    assert [each.vote for each in farm.service.store.memory.decisions] == [-1]
    assert told(farm) == []


@pytest.mark.parametrize("fault", [ValueError("a verdict of a later version"), Transient("database")])
def test_only_a_fault_of_the_database_postpones_a_vote(fault: Exception) -> None:
    class Broken(MemoryClaims):
        def of(self, instance: str, project: str, revision: str) -> Sequence[Claim]:
            raise fault

    service = Service(source=slower(""))
    service.see(change_at(1))
    memory = service.store.memory
    ends = pytest.raises(Transient) if isinstance(fault, Transient) else nullcontext()
    with ends:
        assert step.answered_claims(Broken(memory), memory.runs[0], ()) == ()


def test_a_planning_that_dies_after_the_claims_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(source=slower(message(KEPT, 0.5)))
    service.see(change_at(1))
    keep = step.keep_claims

    def die(*arguments: object) -> None:
        keep(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("service.steps.runs.plan_run.keep_claims", die)
        with pytest.raises(KeyboardInterrupt):
            service.plan()
    assert service.runs() == [("patch1", RunState.PLANNING)]
    service.plan()
    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert len(service.store.memory.claims[KEY]) == 2 * len(KEPT)


@pytest.mark.parametrize("kind", RunKind)
def test_claims_of_checks_and_merged_commits_are_kept(kind: RunKind) -> None:
    service = Service(source=slower(message(KEPT, 0.5)))
    service.see(change_at(1))
    run = replace(service.store.memory.runs[0], kind=kind)
    step.keep_claims(service.store, service.source, run)
    assert bool(service.store.memory.claims) is (kind in {RunKind.CHECK, RunKind.POST_SUBMIT})


def test_only_the_message_of_a_check_has_claims() -> None:
    service = Service(source=slower(""))
    service.see(change_at(1))
    run = service.store.memory.runs[0]
    with service.store.transaction() as tx:
        tx.claims.keep(*KEY, [Claim(3, "BM_a", "cpu_time", 1.0, 2.0, 2.0)])
        kinds = {kind: step.answered_claims(tx.claims, replace(run, kind=kind), ()) for kind in RunKind}
    assert [kind for kind, lines in kinds.items() if lines] == [RunKind.CHECK]
