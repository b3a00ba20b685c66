"""Renamed benchmarks from the project file to the series: measured and compared as a pair."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.project.project_file import parse_project_file
from service.domain.review.comment_commands import RecheckCommand
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import Session
from service.domain.verdict.inference.verdict import Verdict
from service.steps.machines.execute import execute_build
from service.steps.runs.rerun import recheck
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, code
from tests.support.memory.state import Results
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.runs.builds import BuildRecord

RENAMING: Final = PROJECT_FILE.replace("build/bench}", "build/bench, renamed: {BM_a: BM_c}}")
PAIR: Final = "compared as renamed: BM_a → BM_c"
FASTER: Final = code(BM_c=0.9e-6, BM_b=2e-6)
SLOWER: Final = code(BM_c=1.1e-6, BM_b=2e-6)


def series(benchmark: str) -> SeriesKey:
    return SeriesKey("gerrit", "kv", "master", "perf", "perf", "bench", benchmark, "cpu_time")


def measured(
    path: Path, program: str, *, branch: str = PROJECT_FILE, own: str | None = None, base: str = ""
) -> Farm:
    """Measure a patch set with this program and its own project file."""
    source = project(branch, **({CODE: base} if base else {}))
    files = {**source.commits["parent"].files, CODE: program, "benchgate.yaml": own or branch}
    source.commit("patch1", "parent", files, "refs/changes/07/7/1")
    farm = Farm(path, Service(source=source))
    farm.review()
    farm.execute()
    return farm


def judged(path: Path, program: str, **files: str) -> tuple[Farm, BuildRecord]:
    """Measure and judge a patch set, as :func:`measured` does."""
    farm = measured(path, program, **files)
    farm.analyse()
    return farm, farm.service.store.memory.builds[0]


def compared(farm: Farm) -> dict[str, Verdict]:
    found = farm.service.store.memory.results[1]
    return {each.series.benchmark: each.verdict for each in found.comparisons}


def test_without_an_entry_the_old_name_is_removed(tmp_path: Path) -> None:
    _, build = judged(tmp_path, FASTER)

    assert (build.outcome, build.blamed) == (Outcome.REMOVED, ("BM_a",))


@pytest.mark.parametrize(
    ("program", "outcome"), [(FASTER, Outcome.PASSED), (SLOWER, Outcome.SLOWER)], ids=["faster", "slower"]
)
def test_a_patch_set_names_its_renames_in_its_own_file(
    tmp_path: Path, program: str, outcome: Outcome
) -> None:
    farm, build = judged(tmp_path, program, own=RENAMING)

    assert build.outcome is outcome
    assert PAIR in build.causes
    assert compared(farm).keys() == {"BM_c", "BM_b"}
    assert build.blamed == (("BM_c",) if outcome is Outcome.SLOWER else ())


def test_the_new_file_needs_no_other_note(tmp_path: Path) -> None:
    farm, _ = judged(tmp_path, FASTER, own=RENAMING)

    assert [build.job for build in farm.service.store.memory.builds] == ["perf"]


def test_the_rest_of_its_own_file_waits_for_the_merge(tmp_path: Path) -> None:
    own = RENAMING.replace("compile: make", "compile: evil")
    farm, build = judged(tmp_path, FASTER, own=own)

    (_, note) = farm.service.store.memory.builds
    assert build.spec["config"]["build"]["compile"] == "make"
    assert PAIR in build.causes
    assert note.causes == (
        "once merged, benchgate.yaml changes job perf; this patch set ran the branch's jobs",
    )


def test_an_own_file_that_cannot_be_used_renames_nothing(tmp_path: Path) -> None:
    _, build = judged(tmp_path, FASTER, own=RENAMING.replace("version: 1", "version: 7"))

    assert build.outcome is Outcome.REMOVED


def test_an_entry_of_the_branch_renames_too(tmp_path: Path) -> None:
    _, build = judged(tmp_path, FASTER, branch=RENAMING)

    assert (build.outcome, build.notes) == (Outcome.PASSED, ())
    assert PAIR in build.causes


def test_a_patch_set_may_take_an_entry_of_the_branch_back(tmp_path: Path) -> None:
    _, build = judged(tmp_path, FASTER, branch=RENAMING, own=PROJECT_FILE)

    assert build.outcome is Outcome.REMOVED


def test_the_pairs_of_a_family_share_a_line(tmp_path: Path) -> None:
    base, patch = ({f"BM_{name}/{n}": 1e-6 for n in (8, 64)} for name in "ac")
    _, build = judged(tmp_path, code(**patch), branch=RENAMING, base=code(**base))

    assert "compared as renamed: BM_a → BM_c (2 benchmarks)" in build.causes


def test_an_entry_that_fits_no_benchmark_is_a_note(tmp_path: Path) -> None:
    own = RENAMING.replace("BM_a: BM_c", "BM_a: BM_c, BM_typo: BM_d")
    _, build = judged(tmp_path, FASTER, own=own)

    assert build.outcome is Outcome.PASSED
    assert build.notes == ("renamed: no such benchmarks: BM_typo → BM_d",)


def test_a_renamed_benchmark_that_no_longer_runs_is_broken(tmp_path: Path) -> None:
    program = json.dumps({"benchmarks": {"BM_c": 1e-6, "BM_b": 2e-6}, "skips": {"BM_c": 1}})
    _, build = judged(tmp_path, program, own=RENAMING)

    assert build.outcome is Outcome.BROKEN
    assert build.causes[0].startswith("1 benchmark broken: BM_c")


def test_small_slow_downs_are_confirmed_on_relinks_under_the_new_name(tmp_path: Path) -> None:
    on = RENAMING.replace("layout: off", "layout: confirm")
    farm, build = judged(tmp_path, code(BM_c=1.05e-6, BM_b=2e-6), branch=on)

    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("BM_c",))
    assert {pair.variant for pair in farm.service.store.memory.pairs[1]} > {0}


def test_instructions_are_counted_under_both_names(tmp_path: Path) -> None:
    on = RENAMING.replace("    suites:", "    instructions: report\n    suites:")
    base, patch = (
        json.dumps({"benchmarks": {name: 1e-6}, "instructions": {name: count}})
        for name, count in (("BM_a", 100), ("BM_c", 150))
    )
    farm, build = judged(tmp_path, patch, branch=on, base=base)

    counted = farm.service.store.memory.results[1].comparisons[-1]
    assert (counted.series.benchmark, counted.series.metric) == ("BM_c", "instructions")
    assert counted.ratio == pytest.approx(1.5)
    assert build.outcome is Outcome.PASSED


def test_a_worker_that_takes_over_continues_the_pairs(tmp_path: Path) -> None:
    farm = measured(tmp_path, SLOWER, own=RENAMING)
    claimed = MemoryClaimed(spec=farm.service.store.memory.builds[0].spec)
    pairs = []
    for _ in range(2):
        sandbox = MemorySandbox()
        host = memory_host(farm.service.source, sandbox, tmp_path, artifacts=farm.artifacts)
        assert execute_build(claimed, host, Silence()) is not None
        pairs.append((len(claimed.records), len(sandbox.launches)))

    assert pairs == [(14, 28), (14, 0)]


def test_a_recheck_goes_on_with_the_names_of_its_own_file(tmp_path: Path) -> None:
    farm, build = judged(tmp_path, SLOWER, own=RENAMING)
    store = farm.service.store
    comment = RecheckCommand(is_all=True)
    with store.transaction() as tx:
        tx.runs.end(1, RunState.FINISHED)
        recheck(tx, tx.runs.lock(1), comment, 0, parse_project_file(PROJECT_FILE))

    again = store.memory.builds[-1]
    assert (again.number, again.sequence_id) == (2, build.sequence_id)
    assert BuildSpec.from_mapping(again.spec).is_renaming


class TestSeries:
    def analysed(
        self, path: Path, kind: RunKind, *, base: str = "", known: tuple[str, ...] = ("BM_a",)
    ) -> Farm:
        """Judge a build of a run of this kind, with these series from before."""
        farm = measured(path, FASTER, branch=RENAMING, base=base)
        store = farm.service.store
        store.update(1, spec={**store.memory.builds[0].spec, "kind": str(kind)})
        store.memory.results[9] = Results({series(name): ("s", "lower") for name in known}, [], [])
        farm.analyse()
        return farm

    def test_a_merged_commit_continues_the_series_of_the_former_name(self, tmp_path: Path) -> None:
        farm = self.analysed(tmp_path, RunKind.POST_SUBMIT)

        assert farm.service.store.memory.continued == {series("BM_c"): series("BM_a")}

    def test_so_does_a_later_one_with_a_renamed_parent(self, tmp_path: Path) -> None:
        farm = self.analysed(tmp_path, RunKind.POST_SUBMIT, base=code(BM_c=1e-6, BM_b=2e-6))

        assert farm.service.store.memory.continued == {series("BM_c"): series("BM_a")}
        assert farm.service.store.memory.builds[0].notes == ()

    def test_a_patch_set_continues_nothing_because_it_may_be_abandoned(self, tmp_path: Path) -> None:
        farm = self.analysed(tmp_path, RunKind.CHECK)

        assert farm.service.store.memory.continued == {}

    def test_without_a_series_of_the_former_name_there_is_nothing_to_continue(self, tmp_path: Path) -> None:
        farm = self.analysed(tmp_path, RunKind.POST_SUBMIT, known=())

        assert farm.service.store.memory.continued == {}


@pytest.mark.parametrize(
    ("known", "outcome"),
    [("BM_a", Outcome.PASSED), ("BM_other", Outcome.SLOWER)],
    ids=["with the history of its former name", "without a history"],
)
def test_a_renamed_benchmark_is_suspended_by_the_history_of_its_former_name(
    tmp_path: Path, known: str, outcome: Outcome
) -> None:
    on = RENAMING.replace("probation: off, ", "")
    farm = measured(tmp_path, SLOWER, branch=on)
    alarm = Session((0.05, 0.051) * 10, Verdict.SLOWER)
    for number in range(2):
        farm.service.store.memory.evidence[series(known), number] = ("perf-01", alarm)
    farm.analyse()

    assert farm.service.store.memory.builds[0].outcome is outcome


def test_an_own_entry_gives_a_benchmark_of_both_sides_no_other_history(tmp_path: Path) -> None:
    on = PROJECT_FILE.replace("probation: off, ", "")
    own = on.replace("build/bench}", "build/bench, renamed: {BM_retired: BM_a}}")
    farm = measured(tmp_path, code(BM_a=1.1e-6, BM_b=2e-6), branch=on, own=own)
    quiet, alarm = (Session((0.0005, -0.0005) * 10, verdict) for verdict in (Verdict.SAME, Verdict.SLOWER))
    for number in range(60):
        farm.service.store.memory.evidence[series("BM_retired"), number] = ("perf-01", alarm)
    for number in range(50):
        farm.service.store.memory.evidence[series("BM_a"), number] = ("perf-01", quiet)
    farm.analyse()

    build = farm.service.store.memory.builds[0]
    assert BuildSpec.from_mapping(build.spec).is_renaming
    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("BM_a",))
