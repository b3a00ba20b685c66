"""Requests of a person to a local gate beside the project file: benchmarks, pairs, minutes, files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from service.adapters.machines.local_build import LocalBuild
from service.cli.local.results import JobResult
from service.domain.building.sandbox_command import Completed
from service.domain.machines.environment import Load
from service.domain.project.project_file import parse_job
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.verdict.inference.verdict import Verdict
from service.steps.runs.gate import (
    Asked,
    as_asked,
    comparing_jobs,
    concerned_jobs,
    gate,
    local_spec,
)
from service.steps.runs.list_benchmarks import ListedJob, list_benchmarks, listing_spec
from tests.support.building.build_host import MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, MemorySource, code
from tests.unit.kinds.test_compared_tests import FILE, CTest, case
from tests.unit.kinds.test_compared_tests import JOB as COMPARED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.building.spec import BuildSpec
    from service.domain.project.job import Job
    from service.steps.runs.gate import LocalVerdict

CONFIG: dict[str, Any] = {
    "kind": "benchmark",
    "build": {"compile": "make"},
    "suites": [{"name": "bench", "program": "build/bench"}],
    "policy": {"machine_time": "10m", "layout": "off"},
}
JOB = parse_job("perf", CONFIG)
TESTS = parse_job("tests", {"kind": "ctest", "build": {"configure": "cmake"}})
BASE = code(BM_slow=1e-6, BM_same=1e-6)
PATCH = code(BM_slow=1.1e-6, BM_same=1e-6)
# Two programs that are equally fast.
NOISY, NOISY_TOO = (
    json.dumps({"benchmarks": {"BM_a": 1e-6}, "spread": 0.4, "side": side}) for side in ("base", "patch")
)


class Desk:
    """A repository with two commits, and a machine with a fixed time for each launch."""

    def __init__(self, scratch: Path, base: str = BASE, patch: str = PATCH, seconds: float = 1.0) -> None:
        self.scratch = scratch
        self.sandbox = MemorySandbox(seconds=seconds)
        self.source = MemorySource()
        self.source.commit("base", None, {CODE: base})
        self.source.commit("patch", "base", {CODE: patch})

    def gate(self, asked: Asked, job: Job = JOB) -> LocalVerdict:
        spec = as_asked(self.spec(job), asked)
        return gate(spec, self._build(spec), memory_host(self.source, self.sandbox, self.scratch), Silence())

    def list(self, asked: Asked, job: Job = JOB, **conditions: Any) -> ListedJob | LocalVerdict:  # noqa: ANN401
        spec = listing_spec(as_asked(self.spec(job), asked))
        host = memory_host(self.source, self.sandbox, self.scratch, **conditions)
        return list_benchmarks(spec, self._build(spec), host, Silence())

    def spec(self, job: Job) -> BuildSpec:
        return local_spec(self.source, "kv", "base", "patch", job)

    def _build(self, spec: BuildSpec) -> LocalBuild:
        return LocalBuild(spec, "seed", self.scratch / "binaries")


def pairs_of(verdict: LocalVerdict) -> Mapping[str, int]:
    return {row.row.benchmark: row.pairs for row in verdict.comparisons}


@dataclass
class Unlisted(MemorySandbox):
    """The suite that filters for BM_slow cannot be listed, or not if its code is that of ``only``."""

    only: str = ""

    @override
    def _list(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        if flags.get("benchmark_filter") == "BM_slow" and program in (self.only or program):
            return Completed(1, 0.1)
        return super()._list(program, flags, output)


OTHER = {"name": "other", "program": "build/bench", "filter": "BM_slow"}
WITH_UNLISTED = parse_job("perf", {**CONFIG, "suites": [{**CONFIG["suites"][0], "filter": "BM_same"}, OTHER]})


class TestFilter:
    def test_only_the_chosen_benchmarks_have_a_verdict(self, tmp_path: Path) -> None:
        verdict = Desk(tmp_path).gate(Asked("BM_same"))

        assert [(row.row.benchmark, row.verdict) for row in verdict.comparisons] == [
            ("BM_same", Verdict.SAME)
        ]
        assert verdict.end.outcome is Outcome.PASSED

    def test_a_filter_that_chooses_nothing_names_benchmarks_that_exist(self, tmp_path: Path) -> None:
        verdict = Desk(tmp_path).gate(Asked("^BM_.*"))

        assert not verdict.is_chosen
        (cause,) = verdict.end.causes
        assert cause.startswith("no benchmark is named like the filter ^BM_.*, which is a part of a name, or")
        assert cause.endswith("; the job has BM_slow, BM_same")
        assert JobResult(verdict).to_mapping()["outcome"] is None

    def test_a_renamed_benchmark_of_another_name_is_no_unused_entry(self, tmp_path: Path) -> None:
        suite = {**CONFIG["suites"][0], "renamed": {"BM_old": "BM_new"}}
        desk = Desk(tmp_path, code(BM_old=1e-6, BM_a=1e-6), code(BM_new=1e-6, BM_a=1e-6))
        verdict = desk.gate(Asked("BM_a"), parse_job("perf", {**CONFIG, "suites": [suite]}))

        assert not [cause for cause in verdict.end.causes if "renamed" in cause]

    def test_an_unlistable_suite_is_left_out_if_only_others_have_chosen_benchmarks(
        self, tmp_path: Path
    ) -> None:
        desk = Desk(tmp_path)
        desk.sandbox = Unlisted(seconds=1.0)
        verdict, whole, nothing = (
            desk.gate(asked, WITH_UNLISTED) for asked in (Asked("BM_same"), Asked(), Asked("nosuch"))
        )

        assert pairs_of(verdict).keys() == {"BM_same"}
        (note,) = [each for each in verdict.end.causes if "left out" in each]
        assert note == (
            "left out, because the filter chooses benchmarks of other suites: patch: suite other: exit code 1"
        )
        assert (whole.end.outcome, nothing.end.outcome) == (Outcome.MISCONFIGURED, Outcome.MISCONFIGURED)

    def test_a_suite_unlistable_in_the_patch_ends_the_job_if_its_benchmarks_are_chosen(
        self, tmp_path: Path
    ) -> None:
        desk = Desk(tmp_path)
        desk.sandbox = Unlisted(seconds=1.0, only=PATCH)
        outcomes = [desk.gate(Asked(each), WITH_UNLISTED).end.outcome for each in ("BM_same", "BM_slow")]

        assert outcomes == [Outcome.PASSED, Outcome.MEASURED_NOTHING]

    def test_tests_with_compared_durations_are_chosen_too(self, tmp_path: Path) -> None:
        desk, job = Desk(tmp_path), parse_job("tests", COMPARED)
        desk.sandbox = CTest()
        for commit, parent, changed in (("base", None, 1.0), ("patch", "base", 2.5)):
            tests = {"store": case(changed), "load": case(2.0)}
            desk.source.commit(commit, parent, {FILE: json.dumps(tests)})

        assert set(pairs_of(desk.gate(Asked("sto"), job))) == {"store"}
        unfitting = desk.gate(Asked("nosuch"), job)
        assert not unfitting.is_chosen
        assert unfitting.end.causes[0].endswith("; the job has store, load")


class TestPairs:
    def test_an_undecided_benchmark_gets_them_although_they_promise_nothing(self, tmp_path: Path) -> None:
        usual, asked = (Desk(tmp_path, NOISY, NOISY_TOO).gate(each) for each in (Asked(), Asked(pairs=45)))

        assert pairs_of(usual)["BM_a"] < 45 <= pairs_of(asked)["BM_a"] == 50

    def test_fewer_than_a_difference_takes_are_named_as_the_reason(self, tmp_path: Path) -> None:
        verdict = Desk(tmp_path).gate(Asked(pairs=5))

        assert pairs_of(verdict) == {"BM_slow": 5, "BM_same": 5}
        assert verdict.end.outcome is Outcome.UNDECIDED_WITHHELD
        (cause,) = [each for each in verdict.end.causes if "no +1" in each]
        assert cause == "no difference can be found in 5 pairs, so there is no +1: ask for 16 or more"

    def test_enough_of_them_are_not_called_too_few(self, tmp_path: Path) -> None:
        verdict = Desk(tmp_path, NOISY, NOISY_TOO).gate(Asked(pairs=20))

        assert pairs_of(verdict)["BM_a"] == 20
        assert not [each for each in verdict.end.causes if "no difference can be found" in each]

    def test_the_machine_time_may_end_them(self, tmp_path: Path) -> None:
        verdict = Desk(tmp_path, NOISY, NOISY_TOO).gate(Asked(pairs=200, minutes=1))

        assert pairs_of(verdict)["BM_a"] == 30, "those of the last look"
        cut = "the machine time (60 s) ended measuring after 31 of 248 pairs: `--minutes` allows more"
        assert cut in verdict.end.causes


class TestMinutes:
    def test_they_replace_the_machine_time_and_nothing_else(self, tmp_path: Path) -> None:
        spec = Desk(tmp_path).spec(JOB)
        asked = as_asked(spec, Asked(minutes=3))

        assert asked.job.policy == replace(JOB.policy, machine_time=180.0)
        assert asked.job.build_hash == JOB.build_hash, "the programs are found in the cache"

    @pytest.mark.parametrize("given", [{}, {"policy": None}], ids=["no policy", "policy without keys"])
    def test_a_job_without_a_policy_has_one_with_them(self, tmp_path: Path, given: dict[str, Any]) -> None:
        source = {key: value for key, value in CONFIG.items() if key != "policy"}
        spec = Desk(tmp_path).spec(parse_job("perf", source | given))

        assert as_asked(spec, Asked(minutes=3)).job.policy.machine_time == 180.0

    def test_the_way_to_more_is_the_option(self, tmp_path: Path) -> None:
        """Not the key of the file, which the option replaces."""
        desk = Desk(tmp_path, seconds=40.0)
        remedies = []
        for asked in (Asked(minutes=1), Asked()):
            found = desk.list(asked)
            assert isinstance(found, ListedJob)
            short = [each for each in desk.gate(asked).end.causes if "no +1" in each]
            remedies.append((found.outlook.split("; ")[1], *(each.split(": ")[1] for each in short)))

        assert remedies == [
            ("raise `--minutes`, or measure less in a launch", "raise `--minutes`, or measure less"),
            ("raise machine_time in benchgate.yaml, or measure less in a launch",),
        ]

    def test_nothing_asked_changes_nothing(self, tmp_path: Path) -> None:
        spec = Desk(tmp_path).spec(JOB)
        assert as_asked(spec, Asked()) == spec

    @pytest.mark.parametrize("policy", [{"policy": None}, {}])
    def test_minutes_need_no_policy_in_the_file(self, tmp_path: Path, policy: Mapping[str, Any]) -> None:
        """Before, an empty `policy:` ended the command with a TypeError."""
        config = {key: value for key, value in CONFIG.items() if key != "policy"}
        spec = Desk(tmp_path).spec(parse_job("perf", {**config, **policy}))

        assert as_asked(spec, Asked(minutes=3)).job.policy.machine_time == 180.0


class TestList:
    def test_one_pair_gives_the_seconds_and_the_pairs_that_fit(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, seconds=2.0)
        found = desk.list(Asked(minutes=1))

        assert isinstance(found, ListedJob)
        (suite,) = found.suites
        assert suite.listing.common == ("BM_slow", "BM_same")
        assert (dict(suite.seconds), suite.pairs) == ({"base": 2.0, "patch": 2.0}, 15)
        assert (found.pair_seconds, found.pairs, found.needed) == (4.0, 15, 16)
        assert len(desk.sandbox.launches) == 2

    def test_a_long_set_up_is_named(self, tmp_path: Path) -> None:
        program = json.dumps({"benchmarks": {"BM_a": 1e-6, "BM_b": 1e-6}, "sets up": 3.0, "seconds": 4.0})
        found = Desk(tmp_path, program, program + " ").list(Asked())

        assert isinstance(found, ListedJob)
        assert "takes 8 s, 75 % of it to set up the programs" in found.outlook

    def test_a_suite_has_its_part_of_the_time(self, tmp_path: Path) -> None:
        other = {"name": "other", "program": "build/bench", "filter": "BM_same"}
        job = parse_job("perf", {**CONFIG, "suites": [*CONFIG["suites"], other]})
        found = Desk(tmp_path).list(Asked(), job)

        assert isinstance(found, ListedJob)
        assert [(each.listing.suite, each.pairs) for each in found.suites] == [("bench", 300), ("other", 300)]
        assert found.pairs == 150

    def test_equal_programs_are_launched_too(self, tmp_path: Path) -> None:
        found = Desk(tmp_path, BASE, BASE).list(Asked())

        assert isinstance(found, ListedJob)
        assert found.pairs == 300

    def test_a_busy_machine_measures_no_second_pair(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        readings = iter(range(1000))

        def busy() -> Load:
            now = next(readings)
            return Load(float(now), 1.0, 2, {0: 100 * now}, {0: 0}, {0: 0}, 100)

        found = desk.list(Asked(), read_load=busy, cpus=(0,), host_cpus=(0,))

        assert isinstance(found, ListedJob)
        assert len(desk.sandbox.launches) == 2

    def test_sides_without_a_common_benchmark_have_no_time(self, tmp_path: Path) -> None:
        found = Desk(tmp_path, code(BM_a=1e-6), code(BM_b=1e-6)).list(Asked())

        assert isinstance(found, ListedJob)
        assert (found.pairs, found.suites[0].pairs) == (None, None)

    def test_a_filter_without_a_match_is_a_verdict(self, tmp_path: Path) -> None:
        found = Desk(tmp_path).list(Asked("nosuch"))
        assert not isinstance(found, ListedJob)
        assert not found.is_chosen

    def test_a_patch_that_does_not_compile_is_a_verdict(self, tmp_path: Path) -> None:
        found = Desk(tmp_path, BASE, json.dumps({"does not compile": True})).list(Asked())
        assert not isinstance(found, ListedJob)
        assert found.end.outcome is Outcome.FAILED


class TestJobs:
    def test_only_jobs_that_compare_can_be_asked_for_benchmarks(self) -> None:
        assert comparing_jobs((TESTS, JOB), "x") == ((JOB,), (TESTS,))
        with pytest.raises(BadInput, match=r"are for jobs that measure both sides.* none: tests \(ctest\)"):
            comparing_jobs((TESTS,), "benchgate.yaml")

    def test_a_job_without_matching_changed_files_is_not_built(self) -> None:
        source = MemorySource()
        source.commit("base", None, {"a.cc": "1", "b.md": "1"})
        source.commit("patch", "base", {"a.cc": "1", "b.md": "2"})
        code_only = parse_job("code", {**CONFIG, "paths": ["*.cc"]})
        jobs, verdicts = concerned_jobs(source, "kv", "base", "patch", (code_only, JOB))

        assert jobs == (JOB,)
        assert [(each.job, each.end.outcome, each.end.causes) for each in verdicts] == [
            ("code", Outcome.NOT_BUILT, ("no matching files changed; `--job code` runs it nevertheless",))
        ]
