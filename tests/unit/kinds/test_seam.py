"""A kind is a configuration and a function: a tiny one goes all the way from the file to the vote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.adapters.project.editor_schema import editor_schema
from service.domain.building.sandbox_command import Completed
from service.domain.building.spec import BuildSpec
from service.domain.measuring.formats.program import RESULT
from service.domain.measuring.formats.suites import OWN
from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.job_kinds import KINDS
from service.domain.project.project_file import parse_project_file
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadProjectFile
from service.domain.verdict.calibration.schedule import is_calibrated
from service.domain.wording.message import Header
from service.kinds.comparing import compare_sides
from service.kinds.runners import RUNNERS
from service.steps.machines.execute import execute_build
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.kinds.forbidden_word import WordConfiguration, find_word
from tests.support.kinds.stopwatch import LAPS, StopwatchConfiguration
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink

KIND = "forbidden-word"
WORDS = f"  words:\n    kind: {KIND}\n    word: WORD\n"


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, KIND, WordConfiguration)
    monkeypatch.setitem(RUNNERS, KIND, find_word)


def farm_with(scratch: Path, word: str) -> Farm:
    source = project(PROJECT_FILE + WORDS.replace("WORD", word), **{"notes.txt": "an old hack"})
    farm = Farm(scratch, Service(source=source))
    farm.review()
    return farm


@pytest.mark.parametrize(
    ("word", "outcome", "cause"),
    [("hack", Outcome.FAILED, "'hack' is in notes.txt"), ("kludge", Outcome.PASSED, "")],
)
def test_its_job_is_planned_executed_and_voted_on(
    tmp_path: Path, word: str, outcome: Outcome, cause: str
) -> None:
    farm = farm_with(tmp_path, word)
    assert {("execute", 1), ("execute", 2)} <= set(farm.service.store.memory.hints)
    farm.execute(2)
    farm.analyse(2)
    words = farm.service.store.memory.builds[1]
    assert (words.job, words.kind, words.outcome, "".join(words.causes)) == ("words", KIND, outcome, cause)

    farm.service.store.update(1, outcome=Outcome.PASSED, state=words.state)
    farm.service.vote()
    (decision,) = farm.service.store.memory.decisions
    assert decision.vote == (-1 if outcome is Outcome.FAILED else 1)
    assert cause in decision.message


def test_its_job_is_read_again_from_the_database(tmp_path: Path) -> None:
    job = BuildSpec.from_mapping(farm_with(tmp_path, "hack").service.store.memory.builds[1].spec).job

    assert (job.kind, job.pool, job.configuration) == (KIND, "perf", WordConfiguration("hack"))


def test_it_shares_no_false_alarms_and_is_never_calibrated(tmp_path: Path) -> None:
    specs = [
        BuildSpec.from_mapping(each.spec) for each in farm_with(tmp_path, "hack").service.store.memory.builds
    ]

    assert [spec.jobs for spec in specs] == [1, 1]
    assert not is_calibrated(specs[1].job, "perf")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "4: jobs.words: the key 'word' is missing"),
        ("word: 3", "5: jobs.words.word: a text is needed, found 3"),
        ("words: x", "5: jobs.words.words: unknown key; allowed are kind, pool, paths, word, policy, voting"),
        (
            "word: x\n    policy: {floor: 1%}",
            "6: jobs.words.policy.floor: unknown key; allowed are on_nothing_to_build",
        ),
    ],
)
def test_its_keys_are_checked_as_those_of_any_kind(lines: str, message: str) -> None:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(f"version: 1\njobs:\n  words:\n    kind: {KIND}\n    {lines}\n")
    assert str(caught.value) == f"benchgate.yaml:{message}"


def test_editors_complete_it() -> None:
    assert "word" in editor_schema()["$defs"]["forbidden-word_job"]["properties"]


def test_a_machine_without_the_kind_reports_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    farm = farm_with(tmp_path, "hack")
    monkeypatch.delitem(KINDS, KIND)
    claimed = MemoryClaimed(spec=farm.service.store.memory.builds[1].spec)
    report = execute_build(claimed, memory_host(farm.service.source, MemorySandbox(), tmp_path), Silence())

    assert report is not None
    assert (report.outcome, report.causes) == (
        Outcome.MISCONFIGURED,
        (f"job words: kind: this version does not run forbidden-word; it runs {', '.join(KINDS)}",),
    )


FILE = """\
version: 1
jobs:
  laps:
    kind: stopwatch
    build: {compile: make}
    program: build/bench
    policy: {probation: off, layout: off}
"""


class Stopwatch(MemorySandbox):
    """Runs programs that write their laps."""

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        if len(command.argv) == 3 or command.argv[3] == "remove.sh":
            return super().run(command, log=log, watch=watch)
        sources, out = Path(command.mounts[0].source), Path(command.mounts[-1].source)
        laps = json.loads((sources / command.argv[4]).read_text())["benchmarks"]
        (out / RESULT).write_text("\n".join(f"{name} {seconds}" for name, seconds in laps.items()))
        return Completed(0, 0.1)


def test_a_kind_that_compares_brings_the_format_of_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "stopwatch", StopwatchConfiguration)
    monkeypatch.setitem(RUNNERS, "stopwatch", compare_sides)
    monkeypatch.setitem(OWN, StopwatchConfiguration, lambda _own: LAPS)
    farm = Farm(tmp_path, Service(source=project(FILE)), sandbox=Stopwatch())
    farm.review()
    farm.execute()
    farm.analyse()
    (build,) = farm.service.store.memory.builds
    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("BM_a",))

    farm.service.vote()
    (decision,) = farm.service.store.memory.decisions
    assert decision.vote == -1
    assert decision.message.startswith(Header.BENCHMARKS_FAILED)
    assert "1 of 2 results is slower; worst: BM_a real time" in decision.message


def test_every_kind_that_no_other_ci_runs_has_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(KINDS, KIND)
    monkeypatch.delitem(RUNNERS, KIND)
    assert RUNNERS.keys() == {kind for kind, configuration in KINDS.items() if not configuration.is_external}
    comparing = {configuration for configuration in KINDS.values() if configuration.may_compare}
    assert OWN.keys() == comparing - {BenchmarkConfiguration}
