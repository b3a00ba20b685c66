"""Check that the demo's scenarios match the C++ files that they change."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from service.adapters.review.gerrit.events import parse_event
from service.domain.claims.find import find_claims
from service.domain.failures.naming import names_cause
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of
from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.project_file import Commands, parse_project_file, plan_builds
from tools.demo.__main__ import reopening
from tools.demo.events import change_merged, patchset_created
from tools.demo.place import empty, log_below
from tools.demo.repository import ANY_GROUP, DemoRepository, select
from tools.demo.scenario import AGAIN, SCENARIOS, TESTS, Upload

if TYPE_CHECKING:
    from service.domain.failures.failure import Failure

NATIVE = Path(__file__).parents[3] / "native"
UPLOADS = [*(upload for uploads in SCENARIOS.values() for upload in uploads), AGAIN]


def _name(upload: Upload) -> str:
    return f"{upload.change}-{upload.patch_set}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoRepository]:
    path = tmp_path_factory.mktemp("demo") / "repository"
    made = DemoRepository(path)
    made.create(NATIVE)
    return path, made


def _git(path: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=path, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_every_upload_changes_one_line_of_one_file_and_one_job(
    repository: tuple[Path, DemoRepository],
) -> None:
    path, made = repository
    jobs = parse_project_file((NATIVE / "benchgate.yaml").read_text(encoding="utf-8"))
    for upload in UPLOADS:
        commit = made.propose(upload)
        numbers = _git(path, "diff", "--numstat", commit.parent, commit.revision).split()
        assert numbers == ["1", "1", upload.file]
        planned = plan_builds(jobs, [upload.file])
        workload = upload.file.split("/", maxsplit=1)[0]
        job = TESTS if upload.is_of_tests else f"{workload.replace('_', '-')}-perf"
        assert [each.job.name for each in planned if each.is_needed] == [job]


def test_every_command_can_be_tried(repository: tuple[Path, DemoRepository]) -> None:
    path, _ = repository
    project_file = parse_project_file(_git(path, "show", "main:benchgate.yaml"))
    assert project_file.commands == Commands(rerun=ANY_GROUP, override=ANY_GROUP)


def test_a_change_is_stacked_on_the_newest_patch_set(tmp_path: Path) -> None:
    made = DemoRepository(tmp_path / "repository")
    made.create(NATIVE)
    per_core, per_llc, back = (made.propose(upload) for upload in SCENARIOS["hash_table"])
    assert back.parent == per_llc.revision
    assert per_core.parent == per_llc.parent


def test_patch_sets_of_a_change_share_its_id() -> None:
    first, second, other = SCENARIOS["hash_table"]
    assert first.text.splitlines()[-1] == second.text.splitlines()[-1] != other.text.splitlines()[-1]


@pytest.mark.parametrize("upload", UPLOADS, ids=_name)
def test_commit_messages_have_gits_format(upload: Upload) -> None:
    subject, blank, *_ = upload.text.splitlines()
    assert len(subject) <= 72
    assert blank == ""


def test_the_staged_failures_differ_in_seconds_alone_so_that_one_makes_the_other_known(
    repository: tuple[Path, DemoRepository],
) -> None:
    path, made = repository
    failures: list[Failure] = []
    for upload in (*SCENARIOS["replica"], AGAIN):
        script = _git(path, "show", f"{made.propose(upload).revision}:{upload.file}")
        words = ["sh", "-c", script, upload.file, "catches_up_after_restart"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        log = f"{'1/1 Test #1: replica.catches_up_after_restart ':.<60}***Failed    0.01 sec\n{done.stdout}"
        failures += failures_in(log.encode().splitlines())
    first, again = failures
    assert first.headline != again.headline
    assert signature_of(first) == signature_of(again)
    assert names_cause(signature_of(first), first.line)


@pytest.mark.parametrize("name", ["copies_each_document", "refuses_writes", "catches_up_after_restart"])
def test_the_staged_tests_pass_on_the_branch(name: str) -> None:
    script = NATIVE / SCENARIOS["replica"][0].file
    assert subprocess.run(["sh", str(script), name], capture_output=True, check=False).returncode == 0


def test_events_name_their_change(repository: tuple[Path, DemoRepository]) -> None:
    _, made = repository
    commit = made.propose(SCENARIOS["flush_vbucket"][0])
    created = parse_event(patchset_created(commit, 1_700_000_000))
    merged = parse_event(change_merged(commit, 1_700_000_000))
    assert (created.type, created.change, created.is_about_change) == ("patchset-created", 63, True)
    assert (merged.type, merged.change) == ("change-merged", 63)
    assert json.loads(change_merged(commit, 0))["change"]["status"] == "MERGED"


def test_the_log_is_written_below_home_and_not_to_the_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "demo"
    empty(home)
    try:
        with log_below(home):
            structlog.get_logger().info("audit.appended", number=7)
        assert capsys.readouterr() == ("", "")
        structlog.get_logger().info("later")
        assert json.loads(capsys.readouterr().err)["event"] == "later"
    finally:
        structlog.reset_defaults()
    path = home / "log" / "command.log"
    assert json.loads(path.read_text(encoding="utf-8"))["number"] == 7
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_demo_can_be_opened_again_with_its_data() -> None:
    on_console = {"BENCHGATE_GERRIT_URL": "", "BENCHGATE_GIT_URL": "/a b/repository"}
    again = "BENCHGATE_GIT_URL='/a b/repository' benchgate up --home '/a b'"
    assert reopening(Path("/a b"), on_console) == again
    on_gerrit = {"BENCHGATE_GERRIT_URL": "http://127.0.0.1:1", "BENCHGATE_GIT_URL": "http://127.0.0.1:1/a"}
    assert reopening(Path("var/demo"), on_gerrit) == "benchgate up --home var/demo"


def test_an_already_selected_variant_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "selected.h"
    file.write_text("using SelectedThing = This;\n", encoding="utf-8")
    with pytest.raises(ValueError, match="already selected"):
        select(file, "This")


def test_a_file_that_selects_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "selected.h"
    file.write_text("using SelectedThing = This;\nusing SelectedOther = That;\n", encoding="utf-8")
    with pytest.raises(ValueError, match="found 2"):
        select(file, "Neither")


CLAIMING = [SCENARIOS["executor"][0], SCENARIOS["flush_vbucket"][0], *SCENARIOS["hash_table"][:2]]


@pytest.mark.parametrize("upload", CLAIMING, ids=_name)
def test_claims_are_of_registered_benchmarks_and_the_job_measures_some(upload: Upload) -> None:
    sources = "".join(each.read_text(encoding="utf-8") for each in NATIVE.glob("*/*.cpp"))
    found = find_claims(upload.text)
    assert found.refused == ()
    assert all(f'"{"/".join(claim.benchmark.split("/")[:2])}"' in sources for claim in found.claims)

    jobs = parse_project_file((NATIVE / "benchgate.yaml").read_text(encoding="utf-8"))
    [job] = [each.job for each in plan_builds(jobs, [upload.file]) if each.is_needed]
    assert isinstance(job.configuration, BenchmarkConfiguration)
    [suite] = job.configuration.suites
    assert any(
        claim.metric in suite.metrics and re.search(suite.filter, claim.benchmark) for claim in found.claims
    )


def test_each_patch_set_of_the_hash_table_is_answered_by_its_own_table() -> None:
    labels = [
        {each.after_label for each in find_claims(upload.text).claims if not each.is_other_variant}
        for upload in SCENARIOS["hash_table"][:2]
    ]
    assert labels == [{"After, with a stripe per core:"}, {"Per last-level cache:"}]


def test_one_claim_is_exaggerated() -> None:
    claims = find_claims(SCENARIOS["flush_vbucket"][0].text).claims
    saved = [
        round(each.before - each.after)
        for each in claims
        if each.metric == "PeakBytesPerItem" and "/10000/" in each.benchmark
    ]
    assert saved == [48, 3 * 48]
