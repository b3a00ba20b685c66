"""From an event to a vote, through real processes."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.claims.answers import Answer
from service.domain.values.identity import ChangeAddress
from service.domain.verdict.explanation.explanation import unpack
from tests.e2e.conftest import SECRET
from tests.support.project.tiny_project import PROGRAM, PROJECT_FILE

if TYPE_CHECKING:
    from tests.e2e.conftest import RunningSite

CLAIM: Final = """Work less

Before:
BM_Work      100 ns      100 ns      7000000
BM_Aside     100 ns      100 ns      7000000

After:
BM_Work       80 ns       80 ns      8750000
BM_Aside     150 ns      150 ns      4700000
"""
# A program with a second benchmark, which the suite's filter leaves out.
ASIDE: Final = {
    "benchgate.yaml": PROJECT_FILE.replace("build/tiny,", "build/tiny, filter: Work,"),
    "program.sh": PROGRAM.replace("echo BM_Work;", 'echo BM_Work; [ "$2" ] || echo BM_Aside;')
    .replace("--benchmark_out=", "--benchmark_filter=*Aside*) name=BM_Aside ;;\n    --benchmark_out=")
    .replace('"BM_Work"', '"${name:-BM_Work}"'),
}
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_slower_patch_set_gets_minus_one_with_the_number(running: RunningSite) -> None:
    running.project.commit(ASIDE)
    running.feed(running.project.propose(1, {"time.txt": "150"}, message=CLAIM).event())
    assert running.wait_for_vote(1) == -1
    message = running.messages(1)[0]
    assert "Verified-1" in message
    assert "1 of 1 result is slower; worst: BM_Work CPU time +50.0 %" in message
    # Whether what the filter leaves out is measured before the vote depends on the machine.
    assert re.search("Claims of the commit message: [01] of 2 benchmarks confirmed, 1 opposite", message)
    assert "`BM_Work`: claimed −20.0 % CPU time, measured +50.0 % [" in message


def test_what_is_slower_is_explained_after_the_vote_and_its_host_is_free_then(running: RunningSite) -> None:
    builds = running.plane.reading.patch_set(ChangeAddress(1), 1).builds
    [build] = (each for each in builds if each.job == "tiny-perf")
    running.wait(lambda: _explanation(running, build.id) != b"", "the explanation")
    (found,) = unpack(_explanation(running, build.id))
    assert found.benchmark == "BM_Work"
    [run] = running.plane.reading.patch_set(ChangeAddress(1), 1).runs
    answers = {each.benchmark: each.answer for each in running.plane.reading.claims(run.id)}
    assert answers == {"BM_Work": Answer.OPPOSITE, "BM_Aside": Answer.CONFIRMED}, "the filter leaves it out"
    running.wait(lambda: all(not each.is_busy for each in running.plane.reading.machines()), "a free host")


def test_an_unchanged_time_gets_plus_one(running: RunningSite) -> None:
    running.feed(running.project.propose(2, {"note.txt": "nothing to do with time"}).event())
    assert running.wait_for_vote(2) == 1
    assert "1 of 1 result is the same within 3 %" in running.messages(2)[0]


def test_a_patch_that_does_not_compile_gets_minus_one(running: RunningSite) -> None:
    running.feed(running.project.propose(3, {"broken.txt": "yes"}).event())
    assert running.wait_for_vote(3) == -1
    assert "Compile error at tiny.cc:7" in running.messages(3)[0]


def test_a_change_that_touches_no_path_of_the_job_is_not_built(running: RunningSite) -> None:
    running.feed(running.project.propose(4, {"README.md": "words"}).event())
    running.wait_for_vote(4)
    assert "No Builds Executed" in running.messages(4)[0]
    assert "NOT_BUILT" in running.messages(4)[0]


def test_the_same_event_again_changes_nothing(running: RunningSite) -> None:
    proposal = running.project.propose(5, {"time.txt": "120"})
    for _ in range(5):
        running.feed(proposal.event())
    running.wait_for_vote(5)
    running.feed(proposal.event())
    running.feed(running.project.propose(6, {"README.md": "a later event"}).event())
    running.wait_for_vote(6)
    assert len(running.messages(5)) == 1
    assert len(running.plane.reading.patch_set(ChangeAddress(5), 1).runs) == 1


def test_a_webhook_is_enough(running: RunningSite) -> None:
    """The console review server learns of the change; the service learns of it by the webhook alone."""
    proposal = running.project.propose(7, {"time.txt": "90"})
    running.plane.console.apply_event(proposal.event())
    assert _post(running, SECRET, proposal.event()) == 204
    assert running.wait_for_vote(7) == 1


def test_a_webhook_with_a_wrong_secret_is_not_there(running: RunningSite) -> None:
    assert _post(running, "not-the-secret-of-the-tests", b"{}") == 404


def test_a_merged_change_is_measured_on_its_branch_and_casts_no_vote(running: RunningSite) -> None:
    proposal = running.project.propose(8, {"time.txt": "99.5"})
    running.feed(proposal.event())
    running.wait_for_vote(8)
    running.project.merge(proposal)
    running.feed(proposal.event("change-merged", newRev=proposal.revision))
    running.wait(lambda: _finished(running, 8, "post-submit"), "the branch's measurement")
    running.wait(lambda: len(running.messages(8)) == 3, "the message about the branch")
    _, started, ended = running.messages(8)
    assert started.startswith("Patch Set 1:\n\nBuild Started http")
    assert ended.startswith("Patch Set 1:\n\nBuild Successful \n\n")


def test_the_api_tells_what_the_message_told(running: RunningSite) -> None:
    document = _get(running, "/api/v1/changes/1/patch-sets/1")
    [build] = (each for each in document["builds"] if each["job"] == "tiny-perf")
    assert document["decisions"][0]["vote"] == -1
    assert build["result"] == "FAILURE"
    assert [row["verdict"] for row in build["comparisons"]] == ["slower"]
    assert build["comparisons"][0]["ratio"] == pytest.approx(1.5)


def test_the_series_holds_the_merged_commit(running: RunningSite) -> None:
    found = _get(running, "/api/v1/series?q=BM_Work")["items"]
    points = _get(running, f"/api/v1/series/{found[0]['id']}")["points"]
    assert any(point["kind"] == "post-submit" for point in points)


def _explanation(running: RunningSite, build_id: int) -> bytes:
    with running.plane.store.transaction() as tx:
        return tx.explanations.packed_of([build_id]).get(build_id, b"")


def _finished(running: RunningSite, number: int, kind: str) -> bool:
    runs = running.plane.reading.patch_set(ChangeAddress(number), 1).runs
    return any(run.kind == kind and run.finished_at is not None for run in runs)


def _get(running: RunningSite, path: str) -> dict:  # type: ignore[type-arg]
    with urllib.request.urlopen(running.site.base_url + path, timeout=10) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def _post(running: RunningSite, secret: str, body: bytes) -> int:
    request = urllib.request.Request(f"{running.site.base_url}/webhooks/gerrit/{secret}", data=body)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
