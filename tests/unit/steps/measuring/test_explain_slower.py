"""Explanations of the benchmarks that a local gate found slower."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.cli.local.results import JobResult
from service.cli.local.why import is_answer
from service.domain.building.spec import BuildSpec
from service.domain.project.project_file import parse_job
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.wording.build_causes import OTHER_THREADS, SEVERAL_THREADS
from service.domain.wording.explanations import NOT_REACHED
from service.steps.runs.gate import gate, local_spec
from tests.support.building.build_host import MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, MemorySource

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.runs.gate import LocalVerdict

CONFIG: dict[str, Any] = {
    "kind": "benchmark",
    "build": {"compile": "make"},
    "suites": [{"name": "bench", "program": "build/bench"}],
    "instructions": "off",
    "policy": {"machine_time": "10m", "layout": "off"},
}
JOB = parse_job("perf", CONFIG)
TIMES = {"BM_a": 1e-6, "BM_b": 1e-6, "BM_same": 1e-6}
EVENTS = {"I1mr": 0, "D1mr": 2, "Bcm": 10}


def program(factors: dict[str, float] | None = None, **other: Any) -> str:  # noqa: ANN401
    factors = factors or {}
    times = {name: value * factors.get(name, 1) for name, value in TIMES.items()}
    return json.dumps({"benchmarks": times, "instructions": dict.fromkeys(times, 500), **other})


NO_PROFILER = "not sampled: base: exit code 127: libprofiler.so.0 is missing"
SLOWER = {"BM_a": 1.2, "BM_b": 1.5}
BASE, PATCH = program(events=EVENTS), program(SLOWER, events={**EVENTS, "Bcm": 40})


class Desk:
    """A machine on which a launch under Valgrind takes some seconds."""

    job = JOB

    def __init__(self, scratch: Path, base: str = BASE, patch: str = PATCH, counting: float = 1.0) -> None:
        self.scratch, self.sandbox = scratch, MemorySandbox(seconds=1.0)
        self.source = MemorySource()
        self.source.commit("base", None, {CODE: base})
        self.source.commit("patch", "base", {CODE: patch})
        self.launched_before = 0

        def count(_: str) -> None:
            self.sandbox.taken += counting
            self.launched_before = self.launched_before or len(self.sandbox.launches)

        self.sandbox.before_count = count

    def gate(self, *, why: bool = True, name: str = "") -> LocalVerdict:
        spec = local_spec(self.source, "kv", "base", "patch", self.job)
        spec = replace(spec, is_explained=why, filter=name, is_named=bool(name))
        build = LocalBuild(spec, "seed", self.scratch / "binaries")
        return gate(spec, build, memory_host(self.source, self.sandbox, self.scratch), Silence())


def test_slower_benchmarks_are_counted_after_the_pairs_the_worst_first(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    found = desk.gate()

    assert desk.sandbox.counted == ["^(BM_b)$"] * 4 + ["^(BM_a)$"] * 4
    assert desk.launched_before == len(desk.sandbox.launches), "no pair comes later"
    more = "300 % more branch misses (10 → 40 per iteration), in work"
    told = [f"{name}: {more}; not complete: {NO_PROFILER}" for name in ("BM_b", "BM_a")]
    assert [each for each in found.end.causes if "branch" in each] == told
    assert found.seconds["why"] == 8.0


def test_json_has_each_cause(tmp_path: Path) -> None:
    first, _ = JobResult(Desk(tmp_path).gate()).to_mapping()["why"]
    (cause,) = first["causes"]
    assert (first["suite"], first["benchmark"], first["obstacle"]) == ("bench", "BM_b", NO_PROFILER)
    assert (cause["kind"], cause["function"]) == ("branch misses", "work")
    assert (cause["base"], cause["patch"]) == pytest.approx((10, 40))


def test_nothing_is_counted_unless_it_is_asked_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    asked = desk.gate()
    (tmp_path / "plain").mkdir()
    plain = Desk(tmp_path / "plain").gate(why=False)
    assert plain.why == ()
    assert "why" not in plain.seconds
    assert asked.comparisons == plain.comparisons


@pytest.mark.parametrize("name", ["BM_same", "BM_a"])
def test_a_benchmark_that_was_asked_for_is_explained_also_if_it_is_not_slower(
    tmp_path: Path, name: str
) -> None:
    found = Desk(tmp_path, patch=program({"BM_a": 0.8}, events={**EVENTS, "Bcm": 40})).gate(name=name)
    assert [each["benchmark"] for each in found.why] == [name]
    assert f"{name}: 300 % more branch misses (10 → 40 per iteration), in work" in found.end.causes
    assert is_answer(found)


def test_a_name_of_several_benchmarks_is_refused_before_any_pair(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    found = desk.gate(name="BM_")
    assert not found.is_chosen
    assert "part of several: BM_a, BM_b, BM_same" in found.end.causes[0]
    assert not desk.sandbox.launches


def test_a_benchmark_without_valgrind_has_no_answer(tmp_path: Path) -> None:
    base, patch = (json.dumps({"benchmarks": each}) for each in (TIMES, {**TIMES, "BM_a": 2e-6}))
    assert not is_answer(Desk(tmp_path, base, patch).gate(name="BM_a"))


def test_nothing_is_counted_if_nothing_is_slower(tmp_path: Path) -> None:
    desk = Desk(tmp_path, patch=program(events=EVENTS, more=1))
    assert desk.gate().why == ()
    assert desk.sandbox.counted == []


def test_a_slower_benchmark_with_the_same_counts_is_not_explained(tmp_path: Path) -> None:
    found = Desk(tmp_path, patch=program(SLOWER, events=EVENTS)).gate()
    nothing = "not explained: nothing that was counted grew for sure and by enough"
    assert f"BM_a: {nothing}; {NO_PROFILER}" in found.end.causes


def test_benchmarks_that_the_minute_does_not_reach_say_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, counting=14.0)
    found = desk.gate()
    assert len(desk.sandbox.counted) == 5
    assert [each["obstacle"] for each in found.why] == [f"not sampled: {NOT_REACHED}", NOT_REACHED]


def test_those_that_a_message_tells_are_sampled_before_the_others_are_counted(tmp_path: Path) -> None:
    names = [f"BM_{number:02}" for number in range(20)]  # to count all takes longer than a minute
    counts = {"instructions": dict.fromkeys(names, 500), "events": EVENTS}
    base, patch = (
        json.dumps(
            {
                "benchmarks": dict.fromkeys(names, factor * 1e-6),
                "samples": {"work": 600, "hash": round(1000 * factor) - 600},
                **counts,
            }
        )
        for factor in (1, 1.5)
    )
    found = Desk(tmp_path, base, patch).gate().why
    assert [bool(each["sampled"]) for each in found] == [True] * 3 + [False] * 17
    assert found[-1]["obstacle"] == NOT_REACHED


def test_a_machine_without_valgrind_says_so(tmp_path: Path) -> None:
    base, patch = (json.dumps({"benchmarks": each}) for each in (TIMES, {**TIMES, "BM_a": 2e-6}))
    (found,) = Desk(tmp_path, base, patch).gate().why
    assert found["obstacle"] == "base: exit code 127: sh: 1: exec: valgrind: not found"


def sampled(factor: float, **other: Any) -> str:  # noqa: ANN401
    """A program of one benchmark whose time above a microsecond is spent in `hash`."""
    samples = {"work": 600, "hash": round(1000 * factor) - 600}
    return json.dumps({"benchmarks": {"BM_a": factor * 1e-6}, "samples": samples, **other})


def test_the_function_that_holds_the_slow_down_comes_before_the_counts(tmp_path: Path) -> None:
    counts = {"instructions": {"BM_a": 500}, "events": EVENTS}
    more = {**counts, "events": {**EVENTS, "Bcm": 40}}
    base, patch = sampled(1, **counts), sampled(1.5, **more)
    desk = Desk(tmp_path, base, patch)
    (found,) = desk.gate().why
    assert [each["function"] for each in found["parts"]] == ["work"], "only it is counted in the timed loop"
    assert found["parts"][0]["growth"] == pytest.approx(found["sampled"]) == pytest.approx(0.5)
    assert found["slowdown"] == pytest.approx(0.5, abs=0.01)
    orders = [json.loads(code)["samples"]["hash"] for code, _ in desk.sandbox.sampled]
    assert orders == [400, 900, 900, 400] * 3, "a drift is alike on both sides"


def test_functions_are_named_without_counts(tmp_path: Path) -> None:
    found = Desk(tmp_path, sampled(1), sampled(1.5)).gate()
    missing = "not complete: base: exit code 127: sh: 1: exec: valgrind: not found"
    expected = f"BM_a: mostly hash, +50.0 of +50.0 points [+50.0, +50.0]; {missing}"
    assert [each for each in found.end.causes if "hash" in each] == [expected]


@pytest.mark.parametrize(("seconds", "launches"), [(4.0, 12), (6.0, 1)])
def test_too_little_time_for_all_samples_is_not_spent(tmp_path: Path, seconds: float, launches: int) -> None:
    base, patch = (sampled(factor, **{"samples take": seconds}) for factor in (1, 1.5))
    desk = Desk(tmp_path, base, patch)
    (found,) = desk.gate().why
    assert (len(desk.sandbox.sampled), bool(found["parts"])) == (launches, launches > 1)


def test_a_damaged_profile_leaves_the_counts(tmp_path: Path) -> None:
    counts = {"instructions": {"BM_a": 500}, "events": EVENTS}
    patch = sampled(1.5, **{**counts, "events": {**EVENTS, "Bcm": 40}})
    damaged = json.loads(patch)["samples"] | {"hash": 2_000_000}
    found = Desk(tmp_path, sampled(1, **counts), json.dumps({**json.loads(patch), "samples": damaged})).gate()
    obstacle = "not sampled: the profile is damaged"
    assert (found.why[0]["parts"], found.why[0]["obstacle"]) == ([], obstacle)
    more = "BM_a: 300 % more branch misses (10 → 40 per iteration), in work"
    assert f"{more}; not complete: {obstacle}" in found.end.causes


def test_a_rate_is_as_much_slower_as_its_time(tmp_path: Path) -> None:
    """Half the items a second are twice the time, as the launches with samples measure it."""
    base, patch = (sampled(of, counters={"items_per_second": 100 / of}) for of in (1, 8))
    desk = Desk(tmp_path, base, patch)
    desk.job = parse_job(
        "perf", {**CONFIG, "suites": [{**CONFIG["suites"][0], "metrics": ["items_per_second"]}]}
    )
    (found,) = desk.gate().why
    assert found["slowdown"] == pytest.approx(7)
    assert [each["function"] for each in found["parts"]] == ["hash"]


@pytest.mark.parametrize("metrics", [["PeakBytes"], ["PeakBytes", "cpu_time"]])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_what_grew_in_memory_is_explained_by_allocations_alone(
    tmp_path: Path, metrics: list[str], factor: float
) -> None:
    """A slow-down of the same benchmark comes first, although the memory grew by more."""
    few, more = (
        sampled(
            of,
            instructions={"BM_a": 500},
            counters={"PeakBytes": size},
            events={"malloc": calls, "Bcm": misses},
        )
        for of, size, calls, misses in ((1, 100, 2, 10), (factor, 300, 6, 90))
    )
    desk = Desk(tmp_path, few, more)
    suites = [{**CONFIG["suites"][0], "metrics": metrics}]
    desk.job = parse_job("perf", {**CONFIG, "suites": suites})
    (found,) = desk.gate().why
    is_slower = factor > 1 and "cpu_time" in metrics
    assert [each["kind"] for each in found["causes"]] == ["branch misses"] if is_slower else ["allocations"]
    assert found["slowdown"] == pytest.approx(0.5 if is_slower else 0.0, abs=0.01)
    assert bool(desk.sandbox.sampled) == is_slower


def test_several_threads_are_not_counted(tmp_path: Path) -> None:
    base, patch = (json.dumps({"benchmarks": {"BM_a/threads:2": each}}) for each in (1e-6, 2e-6))
    found = Desk(tmp_path, base, patch).gate()
    assert found.why[0]["obstacle"] == f"{SEVERAL_THREADS}; {NO_PROFILER}"
    assert not is_answer(found)


def sleeping(name: str, factor: float) -> str:
    """A program whose time above a microsecond is slept in `pop`."""
    samples = {"work": 600, "pop": round(1000 * factor) - 600}
    return json.dumps({"benchmarks": {name: factor * 1e-6}, "samples": samples, "waits": ["pop"]})


@pytest.mark.parametrize("name", ["BM_a/threads:2", "BM_a/real_time"])
def test_waiting_comes_before_the_functions_that_hold_it(tmp_path: Path, name: str) -> None:
    found = Desk(tmp_path, sleeping(name, 1), sleeping(name, 2)).gate()
    (why,) = found.why
    assert [(each["kind"], each["function"]) for each in why["causes"]] == [("waiting", "pop")]
    mostly = f"{name}: mostly pop, +100.0 of +100.0 points [+100.0, +100.0]"
    (told,) = (each for each in found.end.causes if "pop" in each)
    assert told.startswith(f"{mostly}: waiting: 400 ns → 1.40 µs per iteration; not complete: ")
    assert is_answer(found)


def waiting_for(libraries: str) -> tuple[str, str]:
    """Both sides of a program that waits in `work` for most of its time."""
    name = "BM_a/real_time"
    samples, counts = {"work": 900, "main": 100}, {"instructions": {name: 500}, "events": EVENTS}
    waits = {"samples": samples, "waits": ["work"], "waits for": libraries, **counts}
    base, patch = (json.dumps({"benchmarks": {name: time}} | waits) for time in (1e-6, 2e-6))
    return base, patch


@pytest.mark.parametrize("counted", [(), (Cause(Kind.LAYOUT, "", 0.0, 0.0),)], ids=["nothing", "layout"])
def test_a_thread_that_waits_longer_for_others_is_not_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: tuple[Cause, ...]
) -> None:
    monkeypatch.setattr("service.steps.measuring.explain_slower.causes", lambda *_, **__: counted)
    name = "BM_a/real_time"
    found = Desk(tmp_path, *waiting_for("libc.so.6 pthread_cond_wait")).gate()
    (why,) = found.why
    assert (why["causes"], why["parts"], why["obstacle"]) == ([], [], OTHER_THREADS)
    assert f"{name}: not explained: {OTHER_THREADS}" in found.end.causes
    assert is_answer(found)


def test_a_single_thread_that_waits_longer_for_a_lock_is_to_blame(tmp_path: Path) -> None:
    (why,) = Desk(tmp_path, *waiting_for("libc.so.6 pthread_mutex_lock")).gate().why
    assert [(each["kind"], each["function"]) for each in why["causes"]] == [("waiting", "work")]
    assert [each["function"] for each in why["parts"]] == ["work"]


@pytest.mark.parametrize(("name", "parts"), [("BM_a", ["work"]), ("BM_a/process_time", [])])
def test_the_cpu_time_of_a_thread_has_no_work_of_others(tmp_path: Path, name: str, parts: list[str]) -> None:
    samples = {"work": 100, "pop": 900}
    waits = {"samples": samples, "waits": ["pop"], "waits for": "libc.so.6 pthread_cond_wait"}
    base, patch = (json.dumps({"benchmarks": {name: time}} | waits) for time in (1e-6, 2e-6))
    (why,) = Desk(tmp_path, base, patch).gate().why
    assert [each["function"] for each in why["parts"]] == parts


def test_waiting_explains_no_cpu_time(tmp_path: Path) -> None:
    base, patch = (
        json.dumps({"benchmarks": {"BM_a": time}, "samples": {"work": 100, "pop": 900}, "waits": ["pop"]})
        for time in (1e-6, 2e-6)
    )
    (why,) = Desk(tmp_path, base, patch).gate().why
    assert why["causes"] == []
    assert [each["function"] for each in why["parts"]] == ["work"]


@pytest.mark.parametrize(("name", "launches"), [("BM_a", 0), ("BM_a/real_time", 12)])
def test_what_is_not_slower_is_only_sampled_for_its_waits(tmp_path: Path, name: str, launches: int) -> None:
    desk = Desk(tmp_path, sleeping(name, 1), sleeping(name, 0.9))
    (why,) = desk.gate(name=name).why
    assert (why["benchmark"], len(desk.sandbox.sampled)) == (name, launches)


def test_a_specification_keeps_the_request() -> None:
    source = MemorySource()
    source.commit("base", None, {CODE: BASE})
    spec = local_spec(source, "kv", "base", "base", JOB)
    assert not {"is_explained", "is_named"} & spec.to_mapping().keys()
    asked = replace(spec, is_explained=True, filter="BM_a", is_named=True)
    found = BuildSpec.from_mapping(asked.to_mapping())
    assert found.is_explained
    assert found.is_named
