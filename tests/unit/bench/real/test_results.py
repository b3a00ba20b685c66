"""Results of the command, read from what it prints and kept as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.real.results import GateResult, InitResult, Results, json_in, programs_in

if TYPE_CHECKING:
    from pathlib import Path

PRINTED = """\
wrote benchgate.yaml for CMake
  benchmark program build/hash_benchmark, benchmarks: 15
  benchmark program build/other
try it on the last commit before you commit it:
  benchgate gate --project-file benchgate.yaml
"""
ANSWER: dict[str, Any] = {
    "schema_version": 1,
    "benchmarks": [{"name": "Hash/1", "pairs": 12, "verdict": "undecided"}],
    "jobs": [
        {"outcome": "passed", "seconds": {"build base": 2.0, "measure": 60.0}},
        {"outcome": "slower", "seconds": {"measure": 1.5}},
    ],
}


def test_programs_are_found_with_their_benchmarks() -> None:
    assert programs_in(PRINTED) == {"build/hash_benchmark": 15, "build/other": None}


def test_only_the_answer_of_a_gate_is_read() -> None:
    assert json_in('{"benchmarks": [], "jobs": []}') == {"benchmarks": [], "jobs": []}
    assert json_in("Traceback") is None
    assert json_in("[]") is None


def test_the_outcomes_and_times_of_all_jobs_count() -> None:
    result = GateResult({}, 1, 63.5, ANSWER)

    assert result.outcome == "passed, slower"
    assert result.phases == {"build base": 2.0, "measure": 61.5}


def test_a_job_without_a_chosen_benchmark_has_no_outcome() -> None:
    jobs = [*ANSWER["jobs"], {"outcome": None, "seconds": {}}]

    assert GateResult({}, 1, 63.5, {**ANSWER, "jobs": jobs}).outcome == "passed, slower"


def test_a_gate_compared_something_only_if_there_are_pairs_or_equal_programs() -> None:
    without = {**ANSWER, "benchmarks": [{"name": "Hash/1", "pairs": 0, "verdict": "failing"}]}
    equal = {**ANSWER, "benchmarks": [{"name": "Hash/1", "pairs": 0, "verdict": "same"}]}

    assert GateResult({}, 1, 63.5, ANSWER).is_measured
    assert GateResult({}, 0, 63.5, equal).is_measured
    assert not GateResult({}, 3, 63.5, without).is_measured
    assert not GateResult({}, 2, 1.0, failure="there is no job").is_measured


def test_stored_results_come_back_as_they_were(tmp_path: Path) -> None:
    results = Results(tmp_path / "hashes")
    init = InitResult("1f", 2.5, {"build/hash": 15}, 1)
    gate = GateResult({"base": "1f", "minutes": 2}, 1, 63.5, ANSWER)
    results.store(init)
    results.store(gate, "hashes every 20th block twice")

    assert results.init() == init
    assert results.gate("hashes every 20th block twice") == gate
    assert results.gate("a comment") is None
    assert sorted(path.name for path in (tmp_path / "hashes").iterdir()) == [
        "change-hashes-every-20th-block-twice.json",
        "init.json",
    ]
