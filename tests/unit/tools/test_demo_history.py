"""Check that the demo's commits fit ``native/``, each with recorded measurements."""

from __future__ import annotations

import itertools
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.domain.measuring.pair_record import PairRecord, read_pairs
from service.domain.project.project_file import parse_project_file, plan_builds
from service.ports.machines import GONE_DAYS
from service.ports.trunk import LEDGER_DAYS
from tools.demo.history.commits import HISTORY, Edit, Variation
from tools.demo.history.load import dated
from tools.demo.history.recording import RECORDED, read_recording, write_recording
from tools.demo.repository import Commit, DemoRepository
from tools.demo.scenario import SCENARIOS

NATIVE = Path(__file__).parents[3] / "native"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Commit, ...]]:
    path = tmp_path_factory.mktemp("history") / "repository"
    made = DemoRepository(path)
    commits = made.create(NATIVE, history=tuple(dated(NOW)))
    made.end_history()
    return path, commits


def git(path: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=path, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_history_has_sixty_commits_that_end_at_the_suites_as_they_are(
    tmp_path: Path, repository: tuple[Path, tuple[Commit, ...]]
) -> None:
    path, commits = repository
    assert len(commits) == len(HISTORY) == 60
    DemoRepository(tmp_path / "plain").create(NATIVE)
    assert git(path, "rev-parse", "main^{tree}") == git(tmp_path / "plain", "rev-parse", "main^{tree}")
    assert git(path, "rev-parse", "main~") == commits[-1].revision


def test_each_commit_follows_the_one_before_it_at_its_own_time(
    repository: tuple[Path, tuple[Commit, ...]],
) -> None:
    path, commits = repository
    assert all(after.parent == before.revision for before, after in itertools.pairwise(commits))
    moments = [moment for _, moment in dated(NOW)]
    committed = git(path, "log", "--reverse", "--format=%ct", f"{commits[0].revision}~..main~").split()
    assert [int(moment.timestamp()) for moment in moments] == list(map(int, committed))
    assert moments == sorted(moments)
    assert timedelta(days=GONE_DAYS) < NOW - moments[-1]
    assert NOW - moments[0] < timedelta(days=LEDGER_DAYS - 2), "a demo that stays up keeps them on the pages"


def test_the_recording_has_every_build_that_a_commit_needs(
    repository: tuple[Path, tuple[Commit, ...]],
) -> None:
    path, _ = repository
    jobs = parse_project_file(git(path, "show", "main~:benchgate.yaml"))
    needed = {
        (commit.change, build.job.name)
        for commit in HISTORY
        for build in plan_builds(jobs, [commit.variation.file])
        if build.is_needed
    }
    assert {(build.change, build.job) for build in read_recording().builds} == needed
    assert {change for change, job in needed if job == "executor-perf"} == {each.change for each in HISTORY}


def test_the_recording_can_be_read_by_todays_engine() -> None:
    jobs = {
        job.name: job
        for job in parse_project_file((NATIVE / "benchgate.yaml").read_text(encoding="utf-8")).jobs
    }
    for build in read_recording().builds:
        records = (PairRecord(pair.pair, pair.raw.encode(), pair.variant) for pair in build.pairs)
        measured = read_pairs(records, jobs[build.job].benchmark.suites)
        assert len(measured.as_built) >= 2 * 5
        assert all(launch.values for launch in measured.as_built)


def test_the_recording_names_its_day_and_is_small(tmp_path: Path) -> None:
    recording = read_recording()
    assert datetime.strptime(recording.facts["recorded"], "%Y-%m-%d").replace(tzinfo=UTC) <= datetime.now(UTC)
    assert RECORDED.stat().st_size < 500 << 10
    write_recording(tmp_path / "again", recording)
    assert read_recording(tmp_path / "again") == recording


def test_the_live_changes_have_numbers_of_their_own() -> None:
    live = {upload.change for uploads in SCENARIOS.values() for upload in uploads}
    assert live.isdisjoint(commit.change for commit in HISTORY)


def test_a_variation_that_does_not_fit_its_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "limits.h").write_text("int limit = 2;\n", encoding="utf-8")
    variation = Variation("Raise the limit", "limits.h", (Edit("limit = 1;", "limit = 2;"),))
    variation.undo(tmp_path)
    assert (tmp_path / "limits.h").read_text(encoding="utf-8") == "int limit = 1;\n"
    with pytest.raises(ValueError, match="found it 0 times"):
        variation.undo(tmp_path)
