from __future__ import annotations

import contextlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.benchmark import Instructions, Suite
from service.domain.project.build_commands import BuildCommands
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Layout, Policy, VoteWhen
from service.domain.project.project_file import (
    MAX_BYTES,
    Commands,
    Permission,
    ProjectFile,
    parse_job,
    parse_project_file,
    problems_of,
)
from service.domain.values.errors import BadProjectFile

WHOLE = """\
version: 1
label: Performance-Verified
commands: {rerun: developers, override: performance-owners}
jobs:
  kv-engine-cv-perf:
    kind: benchmark
    pool: perf
    paths: ["engines/**", "native/**", "!native/*.md"]
    build:
      configure: cmake --preset measure
      compile: cmake --build --preset measure
      keep: [measure/data]
      timeout: 45m
    suites:
      - name: executor
        program: build/measure/executor_benchmark
        filter: PureFollyExecutorBench
        args: ["--benchmark_enable_random_interleaving=true"]
        metrics: [items_per_second, PeakBytesPerItem]
        higher_is_better: [HitRate]
        units: {PeakBytesPerItem: B}
        cpus: 4
        repetitions: 5
        min_time: 500ms
        timeout: 2m
        env: {OMP_NUM_THREADS: "4", EMPTY: ""}
        cwd: native/data
        renamed: {BM_Old: PureFollyExecutorBench, "BM_Old<int>/8": BM_New}
      - {name: hash_table, program: build/measure/hash_table_benchmark}
    policy:
      floor: 1.5%
      vote_at: 0.025
      same_within: 4%
      false_alarms: 2%
      machine_time: 20m
      max_pairs: 48
      probation: off
      on_undecided: none
      on_nothing_to_build: none
    voting: false
    instructions: vote
  clang_format: {kind: style-check, pool: lint}
"""
# A project file with one job; {} is where a test puts its own lines, from line 4 on.
JOB = """\
version: 1
jobs:
  perf:
{}
"""
SAMPLES: Final = Path(__file__).parents[3] / "samples" / "project"
SUITES = "    suites: [{name: a, program: build/a}]"


def job_with(*lines: str) -> str:
    return JOB.format("\n".join(f"    {line}" for line in ("kind: benchmark", *lines)))


def suite_with(entry: str) -> str:
    return job_with(f"suites: [{{name: a, program: build/a, {entry}}}]")


def policy_with(entry: str) -> str:
    return job_with(f"policy: {{{entry}}}", "suites: [{name: a, program: build/a}]")


def refusal(text: str) -> str:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(text)
    return str(caught.value)


class TestReading:
    def test_every_key(self) -> None:
        found = parse_project_file(WHOLE)
        job = found.job("kv-engine-cv-perf")

        assert found.label == "Performance-Verified"
        assert found.commands == Commands(rerun="developers", override="performance-owners")
        assert [each.name for each in found.jobs] == ["kv-engine-cv-perf", "clang_format"]
        assert (job.kind, job.pool, job.voting) == (JobKind("benchmark"), "perf", False)
        assert job.benchmark.instructions is Instructions.VOTE
        assert job.paths == ("engines/**", "native/**", "!native/*.md")
        assert job.benchmark.build == BuildCommands(
            "cmake --preset measure", "cmake --build --preset measure", ("measure/data",), 2700.0
        )
        assert job.benchmark.suites[0] == Suite(
            name="executor",
            program="build/measure/executor_benchmark",
            filter="PureFollyExecutorBench",
            args=("--benchmark_enable_random_interleaving=true",),
            metrics=("items_per_second", "PeakBytesPerItem"),
            higher_is_better=("HitRate",),
            units={"PeakBytesPerItem": "B"},
            cpus=4,
            repetitions=5,
            min_time=0.5,
            timeout=120.0,
            env={"OMP_NUM_THREADS": "4", "EMPTY": ""},
            cwd="native/data",
            renamed={"BM_Old": "PureFollyExecutorBench", "BM_Old<int>/8": "BM_New"},
        )
        assert job.policy == Policy(
            floor=0.015,
            vote_at=0.025,
            same_within=0.04,
            false_alarms=0.02,
            machine_time=1200.0,
            max_pairs=48,
            probation=0,
            on_undecided=VoteWhen.NONE,
            on_nothing_to_build=VoteWhen.NONE,
        )

    def test_missing_keys_have_defaults(self) -> None:
        job = parse_project_file(job_with(SUITES.strip())).job("perf")

        assert (job.policy, job.benchmark.build) == (Policy(), BuildCommands())
        assert job.benchmark.suites == (Suite("a", "build/a"),)
        assert (job.pool, job.voting, job.paths) == ("perf", True, ())

    def test_the_default_label_is_verified(self) -> None:
        assert parse_project_file(job_with(SUITES.strip())).label == "Verified"

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ((), Instructions.OFF),
            (("instructions: off",), Instructions.OFF),
            (("instructions: 'off'",), Instructions.OFF),
            (("instructions: report",), Instructions.REPORT),
        ],
    )
    def test_instructions_are_not_counted_unless_asked_for(
        self, lines: tuple[str, ...], expected: Instructions
    ) -> None:
        assert parse_project_file(job_with(*lines, SUITES.strip())).jobs[0].benchmark.instructions is expected

    @pytest.mark.parametrize("off", ["off", "no", "false", "'off'", "0"])
    def test_probation_is_turned_off_by_every_spelling_of_off(self, off: str) -> None:
        assert parse_project_file(policy_with(f"probation: {off}")).jobs[0].policy.probation == 0

    @pytest.mark.parametrize(
        ("given", "expected"), [("confirm", Layout.CONFIRM), ("off", Layout.OFF), ("'off'", Layout.OFF)]
    )
    def test_layout_is_confirmed_unless_it_is_turned_off(self, given: str, expected: Layout) -> None:
        assert Policy().layout is Layout.CONFIRM
        assert parse_project_file(policy_with(f"layout: {given}")).jobs[0].policy.layout is expected

    def test_an_empty_value_counts_as_missing(self) -> None:
        assert parse_project_file(policy_with("floor: ")).jobs[0].policy.floor == Policy().floor


class TestStoredConfiguration:
    @pytest.mark.parametrize("name", ["kv-engine-cv-perf", "clang_format"])
    def test_a_job_is_read_again_from_its_stored_source(self, name: str) -> None:
        job = parse_project_file(WHOLE).job(name)
        stored: dict[str, Any] = json.loads(json.dumps(job.source))
        again = parse_job(name, stored)

        assert again == job
        assert (again.config_hash, again.build_hash) == (job.config_hash, job.build_hash)

    def test_the_order_of_keys_does_not_change_the_configuration(self) -> None:
        there = parse_project_file(job_with("voting: false", "pool: x", SUITES.strip())).jobs[0]
        back = parse_project_file(job_with("pool: x", SUITES.strip(), "voting: false")).jobs[0]

        assert there.config_hash == back.config_hash

    def test_the_policy_changes_the_configuration_but_not_the_programs(self) -> None:
        one = parse_project_file(policy_with("floor: 1%")).jobs[0]
        other = parse_project_file(policy_with("floor: 2%")).jobs[0]

        assert one.config_hash != other.config_hash
        assert one.build_hash == other.build_hash

    def test_jobs_of_equal_configuration_differ_by_name(self) -> None:
        job = parse_project_file(WHOLE).jobs[0]

        assert parse_job("another", job.source).config_hash != job.config_hash

    def test_an_error_in_a_stored_job_names_the_job(self) -> None:
        with pytest.raises(BadProjectFile, match="job perf: pool: a text is needed, found 3"):
            parse_job("perf", {"kind": "benchmark", "pool": 3})


class TestRefusals:
    """Every message names line, key and what is allowed."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("jobs: {}", "benchgate.yaml:1: the key 'version' is missing"),
            ("version: 2\njobs: {}", "benchgate.yaml:1: version: '2' is not allowed; allowed are 1"),
            ("version: true\njobs: {}", "benchgate.yaml:1: version: 'True' is not allowed; allowed are 1"),
            ("version: 1", "benchgate.yaml:1: the key 'jobs' is missing"),
            ("version: 1\njobs: {}", "benchgate.yaml:2: jobs: at least one job is needed"),
            ("version: 1\njobs: [a]", "benchgate.yaml:2: jobs: a mapping is needed, found a list"),
            ("- version", "benchgate.yaml:1: a mapping is needed, found a list"),
            (
                "version: 1\njob: {}",
                "2: job: unknown key; allowed are version, label, jobs, dependencies, manifest, commands",
            ),
            (
                f"{job_with(SUITES.strip())}commands: {{retry: all}}",
                "commands.retry: unknown key; allowed are rerun, override, trusted",
            ),
        ],
    )
    def test_the_file(self, text: str, message: str) -> None:
        assert refusal(text).endswith(message)

    def test_a_jobs_name(self) -> None:
        assert refusal("version: 1\njobs:\n  a b: {kind: style-check}") == (
            "benchgate.yaml:3: jobs.a b: 'a b' is not allowed as a name here; allowed are letters, digits "
            "and . _ + - after a letter or digit, at most 100 characters"
        )

    def test_a_label(self) -> None:
        assert refusal(f"label: Code Review\n{job_with(SUITES.strip())}") == (
            "benchgate.yaml:1: label: 'Code Review' is not allowed; allowed are letters, digits and hyphens "
            "after a letter, at most 64 characters"
        )

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (
                ("kinds: x",),
                "5: jobs.perf.kinds: unknown key; allowed are kind, pool, paths, build, suites, ",
            ),
            (("pool: a/b",), "5: jobs.perf.pool: 'a/b' is not allowed; allowed are letters, digits and"),
            (("pool: 3",), "5: jobs.perf.pool: a text is needed, found 3"),
            (("paths: src",), "5: jobs.perf.paths: a list is needed, found 'src'"),
            (
                ("paths:", "- a", "- /b"),
                "7: jobs.perf.paths[1]: '/b' is not allowed; allowed are patterns as",
            ),
            (("paths: ['!']",), "5: jobs.perf.paths[0]: '!' is not allowed; allowed are patterns as"),
            (("paths: ['[z-a]']",), "5: jobs.perf.paths[0]: '[z-a]' is not allowed; allowed are patterns"),
            (("build: make",), "5: jobs.perf.build: a mapping is needed, found 'make'"),
            (("build: {make: x}",), "5: jobs.perf.build.make: unknown key; allowed are configure, compile, "),
            (
                ("build: {keep: [../x]}",),
                "5: jobs.perf.build.keep[0]: '../x' is not allowed; allowed are pat",
            ),
            (
                ("build: {timeout: 1d}",),
                "5: jobs.perf.build.timeout: '1d' is not a duration; allowed are 500",
            ),
            (("build: {timeout: [1]}",), "5: jobs.perf.build.timeout: '[1]' is not a duration; allowed are"),
            (("suites: []",), "5: jobs.perf.suites: at least one suite is needed"),
            ((), "4: jobs.perf: the key 'suites' is missing"),
            (("suites: [a]",), "5: jobs.perf.suites[0]: a mapping is needed, found 'a'"),
            (("suites: [{name: a}]",), "5: jobs.perf.suites[0]: the key 'program' is missing"),
            (
                ("suites:", "- {name: a, program: b}", "- {name: a, program: c}"),
                "6: jobs.perf.suites: suite names must differ; twice: a",
            ),
            (("voting: 1",), "5: jobs.perf.voting: true or false is needed, found 1"),
            (
                ("retries: 1",),
                "5: jobs.perf.retries: unknown key; allowed are kind, pool, paths, build, suites",
            ),
        ],
    )
    def test_a_job(self, lines: tuple[str, ...], message: str) -> None:
        assert refusal(job_with(*lines)).startswith(f"benchgate.yaml:{message}")

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("pool: perf", "4: jobs.perf: the key 'kind' is missing"),
            ("kind: 3", "4: jobs.perf.kind: a text is needed, found 3"),
            ("kind: a/b", "4: jobs.perf.kind: 'a/b' is not allowed; allowed are letters, digits and"),
        ],
    )
    def test_a_kind_that_is_not_a_name(self, lines: str, message: str) -> None:
        assert refusal(JOB.format(f"    {lines}")).startswith(f"benchgate.yaml:{message}")

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ("cpu: 1", ".cpu: unknown key; allowed are name, program, filter, args, metrics, "),
            ("cpus: 0", ".cpus: 0 is out of range; allowed is 1 to 1024"),
            ("repetitions: 101", ".repetitions: 101 is out of range; allowed is 1 to 100"),
            ("min_time: fast", ".min_time: 'fast' is not a duration; allowed are 500ms, 90s, 10m, 2h or"),
            ("min_time: -1", ".min_time: '-1' is not a duration"),
            ("min_time: .nan", ".min_time: 'nan' is not a duration"),
            ("min_time: .inf", ".min_time: 'inf' is not a duration"),
            ("args: [1]", ".args[0]: a text is needed, found 1"),
            ('args: ["a\\0b"]', ".args[0]: 'a\\x00b' is not allowed; allowed are texts of at most 4096 char"),
            ('args: ["\\uD800"]', ".args[0]: '\\ud800' is not allowed; allowed are texts"),
            ("metrics: [a, b, a]", ".metrics: metrics must differ; twice: a"),
        ],
    )
    def test_a_suite(self, entry: str, message: str) -> None:
        assert refusal(suite_with(entry)).startswith(f"benchgate.yaml:5: jobs.perf.suites[0]{message}")

    @pytest.mark.parametrize("program", ["/bin/sh", "../x", "a/../../x", "build/..", "a\\nb", ""])
    def test_a_program_outside_the_source_tree(self, program: str) -> None:
        text = job_with(f'suites: [{{name: a, program: "{program}"}}]')

        assert "allowed are paths inside the source tree, without '..', on one line" in refusal(text)

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ("flor: 1%", ".flor: unknown key; allowed are floor, vote_at, vote_at_of, same_within, "),
            ("vote_at_of: 5%", ".vote_at_of: a mapping is needed, found '5%'"),
            ("vote_at_of: {BM_a: 5}", ".vote_at_of.BM_a: '5' is not a share; allowed are 0% to 100%, or "),
            ("floor: 101%", ".floor: '101%' is not a share; allowed are 0% to 100%, or 0.01 for 1%"),
            ("floor: 1", ".floor: '1' is not a share; allowed are 0% to 100%, or 0.01 for 1%"),
            ("floor: true", ".floor: 'True' is not a share"),
            ("floor: .nan", ".floor: 'nan' is not a share"),
            ("floor: -1%", ".floor: '-1%' is not a share"),
            ("floor: ١%", ".floor: '١%' is not a share"),
            ("false_alarms: 0%", ".false_alarms: allowed is more than 0 % and at most 20 %"),
            ("false_alarms: 21%", ".false_alarms: allowed is more than 0 % and at most 20 %"),
            ("floor: 4%", ": floor must not exceed same_within"),
            ("max_pairs: 13", ".max_pairs: 13 is out of range; allowed is 14 to 1000"),
            ("probation: on", ".probation: a whole number is needed, found True"),
            ("layout: on", ".layout: 'True' is not allowed; allowed are confirm, off"),
            ("on_undecided: fail", ".on_undecided: 'fail' is not allowed; allowed are pass, none"),
            ("machine_time: forever", ".machine_time: 'forever' is not a duration"),
            ("machine_time_of: {BM_a: 5%}", ".machine_time_of.BM_a: '5%' is not a duration"),
        ],
    )
    def test_a_policy(self, entry: str, message: str) -> None:
        assert refusal(policy_with(entry)).startswith(f"benchgate.yaml:5: jobs.perf.policy{message}")

    @pytest.mark.parametrize(
        ("given", "found"), [("on", "'True'"), ("always", "'always'"), ("1", "'1'"), ("[off]", "'[False]'")]
    )
    def test_how_instructions_are_counted(self, given: str, found: str) -> None:
        message = f".instructions: {found} is not allowed; allowed are off, report, vote"
        text = job_with(f"instructions: {given}", SUITES.strip())
        assert refusal(text).startswith(f"benchgate.yaml:5: jobs.perf{message}")

    def test_all_problems_of_a_file_with_most_of_those_that_there_are(self) -> None:
        problems = problems_of((SAMPLES / "wrong.yaml").read_text(encoding="utf-8"), where="wrong.yaml")
        assert "".join(f"{each}\n" for each in problems) == (SAMPLES / "wrong.txt").read_text(
            encoding="utf-8"
        )

    def test_a_file_that_is_too_large(self) -> None:
        assert refusal("#" * (MAX_BYTES + 1)) == "benchgate.yaml: larger than 256 KiB"

    def test_the_error_for_a_missing_job_lists_the_existing_ones(self) -> None:
        with pytest.raises(BadProjectFile, match="there is no job 'x'; there are: kv-engine-cv-perf, clang_"):
            parse_project_file(WHOLE).job("x")
        with pytest.raises(BadProjectFile, match="there is no job 'x'; there are: none"):
            ProjectFile(()).job("x")


@pytest.mark.parametrize("permission", Permission)
def test_a_permission_is_the_key_that_names_its_group(permission: Permission) -> None:
    commands = Commands(**{permission.value: "perf"})
    assert [each for each in Permission if commands.group_for(each) == "perf"] == [permission]


def test_every_key_of_the_commands_is_a_permission() -> None:
    assert [key.name for key in fields(Commands)] == [*Permission]


def test_only_a_benchmark_job_has_a_benchmark_configuration() -> None:
    with pytest.raises(TypeError, match="job clang_format of kind style-check compares nothing"):
        _ = parse_project_file(WHOLE).job("clang_format").benchmark


@given(
    st.integers(0, WHOLE.count("\n") - 1), st.sampled_from(["", "off", "[]", "{}", "1e9", '"\\uD800"', "x"])
)
def test_a_file_with_any_value_changed_is_read_or_refused(line: int, value: str) -> None:
    lines = WHOLE.splitlines()
    lines[line] = f"{lines[line].partition(':')[0]}: {value}"
    with contextlib.suppress(BadProjectFile):
        parse_project_file("\n".join(lines))
