"""Builds that compare the durations of tests, on a sandbox that replays CTest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import pytest

from service.domain.building.sandbox_command import Completed
from service.domain.building.spec import BuildSpec
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.record import read_tests
from service.domain.project.project_file import parse_job
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.measured_causes import measured_causes, measured_notes
from service.kinds.runners import RUNNERS
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import Service
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from service.domain.building.sandbox_command import Command
    from service.domain.runs.judge_build import Measured
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import ByteSink

FILE = "tests.json"
JOB = {
    "kind": "ctest",
    "compare": True,
    "directory": "build/x",
    "memory": "1G",
    "timeout": 90,
    "build": {"compile": "make", "keep": ["**"]},
}
STATUSES = {"passes": "run", "fails": "fail", "skips": "notrun", "disabled": "disabled"}
INSIDE = {"skips": '<skipped message="SKIP_RETURN_CODE=77"/>', "fails": '<failure message=""/>'}


def case(seconds: float, end: str = "passes", measured: str = "") -> dict[str, Any]:
    """A test with its end when it is tried, and when it is measured."""
    return {"seconds": seconds, "end": end, "measured": measured or end}


@dataclass
class CTest(MemorySandbox):
    """Runs the tests that a file of the sources describes.

    ``launched`` has the commands by their kind, ``tried_before`` of each try of the patch's tests how many
    launches there were.
    """

    launched: dict[str, list[Command]] = field(
        default_factory=lambda: {"make": [], "mkdir": [], "try": [], "time": []}
    )
    tried_before: list[int] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        watch()
        sources = Path(command.mounts[0].source)
        if command.argv[0] == "mkdir":
            self.launched["mkdir"].append(command)
            return Completed(0, 0.1)
        if len(command.argv) == 3:
            self.launched["make"].append(command)
            code = (sources / FILE).read_text()
            (sources / "build/bench").write_text(code)
            return Completed("does not compile" in code, 1.0)
        is_try = "--output-on-failure" in command.argv[2]
        self.tried_before += [len(self.launched["time"])] if is_try else []
        self.launched["try" if is_try else "time"].append(command)
        return self._test(command, json.loads((sources / "build/bench").read_text()), is_try=is_try)

    def _test(self, command: Command, tests: Mapping[str, Any], *, is_try: bool) -> Completed:
        chosen, _, pattern = " ".join(command.argv).partition("--tests-regex ")
        pattern = pattern.partition(" --parallel")[0] if chosen else ""
        run = {name: each for name, each in tests.items() if re.search(pattern, name)}
        ends = {name: each["end" if is_try else "measured"] for name, each in run.items()}
        flaky = "passes" if "--rerun-failed" in command.argv else "fails"
        changing = {"flaky": flaky, "skips at first": "passes" if pattern else "skips"}
        ends = {name: changing.get(end, end) for name, end in ends.items()}
        if "crashes" in ends.values():
            return Completed(139, 0.1)
        cases = "".join(
            f"<testcase name={quoteattr(name)} status={quoteattr(STATUSES[end])} "
            f"time={quoteattr(str(run[name]['seconds']))}>{INSIDE.get(end, '')}</testcase>"
            for name, end in ends.items()
        )
        results = "results" if is_try else "result.json"
        (Path(command.mounts[-1].source) / results).write_text(f"<testsuite>{cases}</testsuite>")
        taken = sum(each["seconds"] for each in run.values())
        self.taken += taken
        return Completed(8 if "fails" in ends.values() else 0, taken)


@dataclass
class Site:
    """A build of two commits with these tests."""

    scratch: Path
    base: Mapping[str, Any]
    patch: Mapping[str, Any]
    job: Mapping[str, Any] = field(default_factory=lambda: JOB)
    cpus: tuple[int, ...] = ()
    sandbox: CTest = field(default_factory=CTest)
    claimed: MemoryClaimed = field(default_factory=MemoryClaimed)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)

    def __post_init__(self) -> None:
        source = MemorySource()
        source.commit("base", None, {FILE: json.dumps(self.base)}, "base")
        source.commit("patch", "base", {FILE: json.dumps(self.patch)}, "patch")
        host = memory_host(source, self.sandbox, self.scratch, artifacts=self.artifacts, cpus=self.cpus)
        job = parse_job("tests", dict(self.job))
        assert not job.problem
        self.session = session_of(host, job, self.claimed)

    def run(self) -> MachineReport:
        return RUNNERS[self.session.spec.job.kind](self.session)

    def judged(self) -> Measured:
        assert self.run().outcome is None
        return judge_measured(self.session.spec.judged, self.claimed.fixed, self.claimed.pairs())

    def verdicts(self) -> dict[str, Verdict]:
        return {each.row.benchmark: each.verdict for each in self.judged().comparisons}


def test_a_test_that_takes_longer_is_slower(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0), "b": case(1.0)}, {"a": case(2.0), "b": case(1.0)})
    found = site.judged()

    assert {each.row.benchmark: each.verdict for each in found.comparisons} == {
        "a": Verdict.SLOWER,
        "b": Verdict.SAME,
    }
    assert found.judgement.outcome is Outcome.SLOWER
    assert found.judgement.blamed == ("a",)
    (worst, *_) = measured_causes(found, site.session.spec.job.policy, "perf")
    assert worst == (
        "1 of 2 results is slower; worst: a real time ×2 [×2, ×2], 1 → 2 s, 14 pairs on perf; the parent "
        "against itself: ±0.00 %"
    )


def test_a_test_is_compared_if_it_is_long_on_one_side(tmp_path: Path) -> None:
    base = {"quick": case(0.01), "grows": case(0.01), "shrinks": case(1.0), "gone": case(0.02)}
    patch = {"quick": case(0.02), "grows": case(1.0), "shrinks": case(0.0), "new": case(0.09)}
    site = Site(tmp_path, base, patch)
    found = site.judged()

    assert {each.row.benchmark: each.verdict for each in found.comparisons} == {
        "grows": Verdict.SLOWER,
        "shrinks": Verdict.FASTER,
    }
    assert measured_notes(found.notes) == (
        "3 tests are not compared with the parent: each takes less than 100 ms",
    )


def test_new_and_removed_tests_are_named(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0), "gone": case(1.0)}, {"a": case(1.0), "new": case(1.0)})
    found = site.judged()

    assert measured_causes(found, site.session.spec.job.policy, "perf") == (
        "1 test removed: gone",
        "1 of 3 results is the same within 3 %",
        "1 test new: new",
    )


@pytest.mark.parametrize(
    ("end", "verdict", "outcome"),
    [("skips", Verdict.BROKEN, Outcome.BROKEN), ("disabled", Verdict.REMOVED, Outcome.REMOVED)],
)
def test_a_test_that_the_patch_no_longer_runs_fails_the_build(
    tmp_path: Path, end: str, verdict: Verdict, outcome: Outcome
) -> None:
    found = Site(tmp_path, {"a": case(1.0), "b": case(1.0)}, {"a": case(1.0), "b": case(1.0, end)}).judged()

    assert {each.row.benchmark: each.verdict for each in found.comparisons} == {
        "a": Verdict.SAME,
        "b": verdict,
    }
    assert found.judgement.outcome is outcome


def test_a_test_that_skips_itself_in_the_first_launch_alone_is_compared(tmp_path: Path) -> None:
    base = {"a": case(1.0), "b": case(1.0)}
    patch = {"a": case(1.0), "b": case(1.0, "passes", "skips at first")}

    assert Site(tmp_path, base, patch).verdicts() == {"a": Verdict.SAME, "b": Verdict.SAME}


def test_a_test_that_neither_side_runs_is_no_benchmark(tmp_path: Path) -> None:
    tests = {"a": case(1.0), "b": case(1.0, "skips"), "c": case(1.0, "disabled")}

    assert Site(tmp_path, tests, tests).verdicts() == {"a": Verdict.SAME}


def test_the_only_long_test_can_be_removed_like_any_other(tmp_path: Path) -> None:
    found = Site(tmp_path, {"a": case(1.0), "b": case(0.01)}, {"b": case(0.01)}).judged()

    assert found.judgement.outcome is Outcome.REMOVED


def test_a_test_that_only_passes_where_it_can_write_fails_on_both_sides(tmp_path: Path) -> None:
    tests = {"a": case(1.0), "writes": case(0.01, measured="fails")}

    assert Site(tmp_path, tests, tests).verdicts() == {"a": Verdict.SAME, "writes": Verdict.FAILING}


def test_a_newly_failing_test_fails_the_build_before_anything_is_measured(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0), "b": case(1.0)}, {"a": case(1.0, "fails"), "b": case(9.0)})
    report = site.run()

    assert report.outcome is Outcome.FAILED
    assert [failure.subject for failure in report.failures] == ["a"]
    assert report.causes[0].startswith("a: ")
    (suite,) = read_tests(site.artifacts.get(report.tests))
    assert {each.name: each.status for each in suite.run.cases} == {
        "a": CaseStatus.FAILED,
        "b": CaseStatus.PASSED,
    }
    assert not site.claimed.records


def test_a_test_that_passes_on_a_retry_is_measured_and_named(tmp_path: Path) -> None:
    tests = {"a": case(1.0, "flaky", "passes")}
    report = Site(tmp_path, tests, tests, {**JOB, "retries": 1}).run()

    assert (report.outcome, report.retried) == (None, ("a",))
    assert report.causes == ("failed, then passed on a retry: a",)
    assert [failure.subject for failure in report.cleared] == ["a"]


def test_a_program_that_crashes_only_while_it_is_tried_fails_the_build(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(1.0, "crashes")})

    assert site.run().outcome is Outcome.FAILED


def test_the_parent_is_rehearsed_before_any_test_of_the_patch_runs(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(1.0)})
    site.run()

    assert site.sandbox.tried_before == [2]  # a rehearsal of each side
    assert site.claimed.phases == ["build base", "build patch", "test", "measure"]


def test_tests_that_pass_are_kept_beside_the_pairs(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(1.0), "b": case(0.01)})
    report = site.run()

    assert (report.outcome, report.causes) == (None, ())
    (suite,) = read_tests(site.artifacts.get(report.tests))
    assert (suite.program, [each.name for each in suite.run.cases]) == ("ctest", ["a", "b"])
    assert {"build base", "build patch", "test", "measure"} <= report.seconds.keys()


def test_a_build_with_only_short_tests_passes_without_pairs(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(0.01)}, {"a": case(0.05), "b": case(0.01)})
    report = site.run()

    assert (report.outcome, site.claimed.records) == (Outcome.PASSED, [])
    assert report.causes == ("2 tests are not compared with the parent: each takes less than 100 ms",)
    assert report.tests


def test_a_patch_that_fixes_the_build_must_pass_its_tests(tmp_path: Path) -> None:
    broken = {"does not compile": case(1.0)}

    assert Site(tmp_path, broken, {"a": case(1.0)}).run().outcome is Outcome.NO_PARENT
    assert Site(tmp_path, broken, {"a": case(1.0, "fails")}).run().outcome is Outcome.FAILED


def test_a_patch_that_does_not_build_fails_without_a_test(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"does not compile": case(1.0)})
    report = site.run()

    assert (report.outcome, report.tests) == (Outcome.FAILED, "")
    assert report.failures
    assert not site.sandbox.launched["try"]


def test_a_first_test_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    site = Site(tmp_path, {}, {"a": case(1.0)})
    found = site.judged()

    assert found.judgement.outcome is Outcome.NO_PARENT
    assert measured_causes(found, site.session.spec.job.policy, "perf") == (
        "nothing to compare with: the parent has no test that can be compared",
    )


def test_crashing_tests_of_the_parent_are_no_failure_of_the_patch(tmp_path: Path) -> None:
    report = Site(tmp_path, {"a": case(1.0, "crashes")}, {"a": case(1.0)}).run()

    assert report.outcome is Outcome.NO_PARENT


def test_launches_change_nothing_but_logs_and_have_the_limits_of_the_job(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(1.0)}, cpus=(2, 3))
    site.run()

    for command in site.sandbox.launched["time"]:
        writable = [each.target for each in command.mounts if each.writable]
        assert writable == ["/src/build/x/Testing", "/out"]
        assert (command.limits.wall_seconds, command.limits.memory_bytes) == (90.0, 1 << 30)
        assert command.cpus == (2, 3)
        assert not command.aslr
    assert {command.argv for command in site.sandbox.launched["mkdir"]} == {
        ("mkdir", "-p", "build/x/Testing")
    }


def test_the_patch_is_tested_in_a_tree_of_its_own(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(1.0)})
    site.run()
    (tried,) = site.sandbox.launched["try"]

    assert tried.mounts[0].writable
    measured = {command.mounts[0].source for command in site.sandbox.launched["time"]}
    assert (len(measured), tried.mounts[0].source in measured) == (2, False)
    assert len(site.sandbox.launched["make"]) == 2


def test_a_build_with_pairs_is_continued_without_a_rehearsal(tmp_path: Path) -> None:
    tests = {"a": case(1.0), "b": case(0.01)}
    claimed = MemoryClaimed()
    first = Site(tmp_path, tests, tests, claimed=claimed).judged()
    again = Site(tmp_path, tests, tests, claimed=claimed)

    assert again.judged().comparisons == first.comparisons
    assert len(again.sandbox.launched["try"]) == 1  # it must pass whenever it votes
    assert not again.sandbox.launched["time"]


def test_tests_without_the_key_are_not_measured(tmp_path: Path) -> None:
    job = {key: value for key, value in JOB.items() if key != "compare"}
    site = Site(tmp_path, {"a": case(1.0)}, {"a": case(9.0)}, job)

    assert site.run().outcome is Outcome.PASSED
    assert not site.sandbox.launched["time"]


PROJECT = """\
version: 1
jobs:
  tsan:
    kind: ctest
    compare: true
    retries: 1
    build: {compile: make, keep: ["**"]}
    policy: {probation: off, vote_at: 10%}
"""


def test_a_slower_test_of_a_patch_set_is_a_vote(tmp_path: Path) -> None:
    quick = json.dumps({"quick": case(0.01), "store": case(1.0)})
    slow = json.dumps({"quick": case(0.01, "flaky", "passes"), "store": case(2.0)})
    source = MemorySource()
    source.commit("parent", None, {"benchgate.yaml": PROJECT, FILE: quick}, "refs/heads/master")
    source.commit("patch1", "parent", {"benchgate.yaml": PROJECT, FILE: slow}, "refs/changes/07/7/1")
    farm = Farm(tmp_path, Service(source=source), sandbox=CTest())
    farm.review()
    (build,) = farm.service.store.memory.builds
    assert BuildSpec.from_mapping(build.spec).job.compares  # so it has the host to itself
    farm.execute()
    farm.analyse()
    farm.service.vote()

    (build,) = farm.service.store.memory.builds
    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("store",))
    assert build.notes[0] == "1 test is not compared with the parent: it takes less than 100 ms"
    assert build.causes[-1] == "failed, then passed on a retry: quick"
    assert [each.subject for each in farm.service.store.memory.cleared[build.id]] == ["quick"]
    (decision,) = farm.service.store.memory.decisions
    assert decision.vote == -1
    assert "1 of 1 result is slower; worst: store real time ×2 [×2, ×2], 1 → 2 s" in decision.message
