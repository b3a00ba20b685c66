"""A job of another CI on a running service, by the scripts and commands of the documents."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.engine import make_engine
from service.domain.access.scopes import parse_scope
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeAddress
from service.ports.access import NewToken
from tests.support.project.tiny_project import Proposal

if TYPE_CHECKING:
    from tests.e2e.conftest import RunningSite
    from tests.support.project.tiny_project import TinyProject

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

DOCS: Final = Path(__file__).parents[3] / "docs"
CHANGE: Final = 11
JUNIT: Final = (
    '<testsuite><testcase name="queue" status="run" time="0.1"/>'
    '<testcase name="dcp" status="fail" time="0.2"><failure message=""/></testcase></testsuite>'
)


def scripts_of(document: str) -> list[str]:
    """The shell examples of a document."""
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


class Jenkins:
    """An agent of Jenkins with the scripts of the documents, and the variables of its builds."""

    def __init__(self, root: Path, site: RunningSite) -> None:
        root.mkdir()
        self.root = root
        report, report_tests, look_up = scripts_of("operator/other-ci.md")
        self.scripts = {"report": report, "report-tests": report_tests, "look-up": look_up}
        for name, text in self.scripts.items():
            (root / name).write_text(text, encoding="utf-8")
        engine = make_engine(site.site.database_url)
        new = NewToken(
            name="ci",
            scopes=frozenset({parse_scope("report:tiny/unit")}),
            lifetime=timedelta(days=1),
            created_by="ci",
        )
        self.token = PostgresTokens(engine).add(new)[1]
        engine.dispose()
        self.base_url = site.site.base_url

    def run(self, proposal: Proposal, number: int, script: str, *words: str) -> dict[str, Any]:
        """Run a script in a build of a patch set; the answer of the service."""
        variables = {
            "PATH": os.environ["PATH"],
            "BENCHGATE": self.base_url,
            "BENCHGATE_JOB": "unit",
            "BENCHGATE_FORMAT": "ctest",
            "BENCHGATE_TOKEN": self.token,
            "BUILD_NUMBER": str(number),
            "BUILD_URL": f"https://ci.example.com/job/unit/{number}/",
            "GERRIT_PROJECT": "tiny",
            "GERRIT_CHANGE_NUMBER": str(proposal.number),
            "GERRIT_PATCHSET_REVISION": proposal.revision,
            "GERRIT_EVENT_TYPE": "patchset-created",
        }
        command = ["sh", str(self.root / script), *words]
        done = subprocess.run(
            command, env=variables, cwd=self.root, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="module")
def jenkins(running: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Jenkins:
    return Jenkins(tmp_path_factory.mktemp("agent") / "bin", running)


def same_tree(project: TinyProject, proposal: Proposal, patch_set: int) -> Proposal:
    """The next patch set of a change, which edits the commit message only."""
    tree = project.git("rev-parse", f"{proposal.revision}^{{tree}}")
    revision = project.git("commit-tree", tree, "-p", proposal.parent, "-m", "another message")
    project.git("update-ref", f"refs/changes/{proposal.number}/{proposal.number}/{patch_set}", revision)
    return Proposal(proposal.number, patch_set, revision, proposal.parent)


def see(running: RunningSite, proposal: Proposal) -> None:
    """Upload a patch set, and wait until its run is planned."""
    running.feed(proposal.event())

    def is_planned() -> bool:
        try:
            detail = running.plane.reading.patch_set(ChangeAddress(proposal.number), proposal.patch_set)
        except NotFound:
            return False
        return any(build.job == "unit" for build in detail.builds)

    running.wait(is_planned, f"the run of patch set {proposal.patch_set}")


def test_a_job_of_jenkins_from_its_start_to_a_reused_result(running: RunningSite, jenkins: Jenkins) -> None:
    first = running.project.propose(CHANGE, {"Unit.java": "one"})
    see(running, first)

    assert jenkins.run(first, 7, "report", "STARTED") == {"recorded": True}
    (jenkins.root / "unit.xml").write_text(JUNIT, encoding="utf-8")
    assert jenkins.run(first, 7, "report-tests", "unit.xml") == {"tests": 2, "failed": 1}
    assert jenkins.run(first, 7, "report", "FAILURE") == {"recorded": True}
    assert running.wait_for_vote(CHANGE) == -1
    message = running.messages(CHANGE)[-1]
    assert "https://ci.example.com/job/unit/7/ : FAILURE" in message
    assert "dcp: failed, and its output does not say why ( https://ci.example.com/job/unit/7/ )" in message
    assert jenkins.run(first, 7, "report", "FAILURE") == {"recorded": False}

    second = running.project.propose(CHANGE, {"Unit.java": "two"}, patch_set=2)
    see(running, second)
    assert jenkins.run(first, 8, "report", "SUCCESS") == {"recorded": True}, "late, and kept"
    assert jenkins.run(first, 8, "look-up")["build"]["result"] == "SUCCESS"
    before = running.messages(CHANGE)
    assert jenkins.run(second, 9, "report", "SUCCESS") == {"recorded": True}
    running.wait(lambda: len(running.messages(CHANGE)) > len(before), "the message on patch set 2")
    assert running.vote(CHANGE) == 1
    assert "unit/8" not in running.messages(CHANGE)[-1]
    assert "unit/8" in httpx.get(f"{running.site.base_url}/changes/{CHANGE}/1", timeout=60).text

    before = running.messages(CHANGE)
    third = same_tree(running.project, second, 3)
    see(running, third)
    running.wait(lambda: len(running.messages(CHANGE)) > len(before), "the message on patch set 3")
    assert running.vote(CHANGE) == 1
    assert "https://ci.example.com/job/unit/9/ : SUCCESS" in running.messages(CHANGE)[-1]


def test_the_page_of_a_build_shows_the_other_ci(running: RunningSite, jenkins: Jenkins) -> None:
    change = running.project.propose(12, {"Unit.java": "three"})
    see(running, change)
    (jenkins.root / "failed.xml").write_text(JUNIT, encoding="utf-8")
    jenkins.run(change, 20, "report", "STARTED")
    jenkins.run(change, 20, "report-tests", "failed.xml")
    page = httpx.get(f"{running.site.base_url}/job/unit/20/", timeout=60).text
    assert 'href="https://ci.example.com/job/unit/20/"' in page
    assert "https://ci.example.com/job/unit/20/consoleText" in page
    assert "<bdi>dcp</bdi>" in page.partition('id="tests"')[2]


def test_a_number_of_another_revision_is_refused(running: RunningSite, jenkins: Jenkins) -> None:
    first = running.project.propose(13, {"Unit.java": "four"})
    see(running, first)
    jenkins.run(first, 30, "report", "STARTED")
    second = running.project.propose(13, {"Unit.java": "five"}, patch_set=2)
    see(running, second)
    with pytest.raises(AssertionError, match="number: build 30 of unit was reported for another revision"):
        jenkins.run(second, 30, "report", "SUCCESS")
