"""From a push on a real Gerrit to a vote on it, whatever happens in between."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from service.cli.site import running_site
from service.domain.errors import NotFound
from tests.e2e.conftest import RunningSite, sleepers, start_settings
from tests.e2e.gerrit_server import GerritServer, gerrit_dev, running_gerrit, what_is_missing
from tests.support.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.gerrit_server import Proposal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
_BUILDS = """
SELECT count(DISTINCT run_build.build_id) FROM run_build JOIN run ON run.id = run_build.run_id
JOIN patch_set ON patch_set.id = run.patch_set_id JOIN change ON change.id = patch_set.change_id
WHERE change.number = :number
"""
_FAILED_TRIES = "SELECT count(*) FROM outbox WHERE kind = 'review' AND attempts > 0 AND state = 'pending'"
COMMANDS = "commands: {rerun: tiny-reviewers, override: tiny-reviewers}\n"


class GerritSite(RunningSite):
    """A Benchgate that votes on a real Gerrit."""

    gerrit: GerritServer
    directory: Path

    def said(self, number: int) -> list[dict[str, Any]]:
        """What the service wrote on a change, oldest first."""
        messages = self.gerrit.rest("admin", "GET", f"/changes/{number}/messages")
        return [each for each in messages if each.get("author", {}).get("username") == "buildbot"]

    def vote_on(self, proposal: Proposal) -> int | None:
        """The service's vote on the current patch set."""
        return self.gerrit.votes(proposal.number, "Verified").get("buildbot")

    def wait_for(self, vote: int | None, proposal: Proposal) -> str:
        """Until the service has voted so; its last message."""
        self.wait(lambda: self.vote_on(proposal) == vote, f"Verified {vote} on change {proposal.number}")
        return str(self.said(proposal.number)[-1]["message"])

    def builds_of(self, number: int) -> int:
        """How many builds a change has had."""
        return int(self.value(_BUILDS, number=number))

    def value(self, query: str, **values: object) -> Any:  # noqa: ANN401 - whatever the query gives
        """One value from the database."""
        with self.plane.engine.begin() as connection:
            return connection.execute(text(query), values).scalar_one()


@contextmanager
def started(root: Path, *, is_streamed: bool) -> Iterator[GerritSite]:
    """A Gerrit, and a Benchgate that knows of its changes by the stream or by asking alone."""
    if missing := what_is_missing():
        pytest.skip(missing)
    project = TinyProject(root / "tiny", COMMANDS)
    directory = root / "gerrit"
    words = ("--project", "tiny", "--branch", "main", "--seed", project.path)
    with running_gerrit(directory, *words) as gerrit:
        settings = {**start_settings(project), **_settings_for(gerrit, is_streamed=is_streamed)}
        with (
            pytest.MonkeyPatch.context() as patch,
            running_site(root / "var", 0, "perf", lambda _: None, settings) as (site, supervisor),
        ):
            for name, value in settings.items():
                patch.setenv(name, value)
            found = GerritSite(site, supervisor, project)
            found.gerrit, found.directory = gerrit, directory
            found.wait(lambda: found.value("SELECT count(*) FROM server") == 1, "the first contact")
            yield found
            found.plane.close()


def _settings_for(gerrit: GerritServer, *, is_streamed: bool) -> dict[str, str]:
    bot, ssh = gerrit.said["accounts"]["buildbot"], gerrit.said["ssh"]
    settings = {
        "BENCHGATE_GIT_URL": f"{gerrit.url}/{{project}}",
        "BENCHGATE_GERRIT_URL": gerrit.url,
        "BENCHGATE_GERRIT_USER": "buildbot",
        "BENCHGATE_GERRIT_PASSWORD": bot["password"],
        "BENCHGATE_RECONCILE_SECONDS": "60",
    }
    if not is_streamed:
        return settings
    return {
        **settings,
        "BENCHGATE_RECONCILE_SECONDS": "3600",
        "BENCHGATE_GERRIT_SSH_HOST": ssh["host"],
        "BENCHGATE_GERRIT_SSH_PORT": str(ssh["port"]),
        "BENCHGATE_GERRIT_SSH_KEY": bot["key"],
        "BENCHGATE_GERRIT_KNOWN_HOSTS": ssh["known_hosts"],
    }


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GerritSite]:
    """One that listens to the stream of events."""
    with started(tmp_path_factory.mktemp("streamed"), is_streamed=True) as found:
        yield found


def test_the_story_of_a_change(streamed: GerritSite) -> None:
    gerrit = streamed.gerrit
    first = gerrit.propose({"time.txt": "60"})
    message = streamed.wait_for(1, first)
    assert message.startswith("Patch Set 1: Verified+1\n\nBuild Successful \n\n")
    assert "1 of 1 faster; best BM_Work CPU time −40.0 %" in message
    assert streamed.said(first.number)[-1]["tag"] == "autogenerated:benchgate"

    slower = gerrit.amend(first, {"time.txt": "150"})
    assert gerrit.votes(first.number, "Verified") == {}, "new code has no vote yet"
    message = streamed.wait_for(-1, slower)
    assert "1 of 1 slower; worst BM_Work CPU time +50.0 %" in message

    gerrit.review("mallory", slower, {}, "override MB-1 it is fine")
    streamed.wait(lambda: "refused" in streamed.said(first.number)[-1]["message"], "the refusal")
    assert "Mallory" in streamed.said(first.number)[-1]["message"]
    assert streamed.vote_on(slower) == -1

    gerrit.review("bob", slower, {}, "override MB-1 the price of safety")
    message = streamed.wait_for(1, slower)
    assert "overridden by Bob Reviewer: the price of safety (MB-1)" in message

    before = streamed.builds_of(first.number)
    reworded = gerrit.amend(slower, {}, message="A better message")
    message = streamed.wait_for(-1, reworded)
    assert message.startswith("Patch Set 3: Verified-1"), "an override does not carry over, not even here"
    assert streamed.builds_of(first.number) == before, "nothing was measured again"


def test_a_rebase_onto_another_tree_is_measured(streamed: GerritSite) -> None:
    gerrit = streamed.gerrit
    change = gerrit.propose({"note.txt": "words"})
    streamed.wait_for(1, change)
    other = gerrit.propose({"program.sh.txt": "another parent"})
    streamed.wait_for(1, other)
    gerrit.review("bob", other, {"Code-Review": 2, "Verified": 1})
    gerrit.rest("admin", "POST", f"/changes/{other.number}/submit", {})
    before = streamed.builds_of(change.number)
    gerrit.rest("alice", "POST", f"/changes/{change.number}/rebase", {})
    streamed.wait(lambda: streamed.builds_of(change.number) > before, "the measurement after the rebase")
    streamed.wait_for(1, change)


def test_an_abandoned_change_is_stopped(streamed: GerritSite) -> None:
    change = streamed.gerrit.propose({"time.txt": "97", "slow.txt": "27.1829"})
    streamed.wait(lambda: bool(sleepers("27.1829")), "the compile")
    streamed.gerrit.rest("alice", "POST", f"/changes/{change.number}/abandon", {})
    streamed.wait(lambda: not sleepers("27.1829"), "the end of the compile")
    assert streamed.said(change.number) == []


def test_a_vote_that_was_due_while_gerrit_was_away_is_cast_once_when_it_is_back(
    streamed: GerritSite,
) -> None:
    change = streamed.gerrit.propose({"time.txt": "140", "slow.txt": "3"})
    streamed.wait(lambda: _has_run(streamed, change.number), "the run")
    assert gerrit_dev("down", streamed.directory).returncode == 0
    streamed.wait(lambda: streamed.value(_FAILED_TRIES) == 1, "a try that failed")
    assert gerrit_dev("up", streamed.directory).returncode == 0
    streamed.wait_for(-1, change)
    assert len(streamed.said(change.number)) == 1


@pytest.mark.timeout(400)
def test_without_any_event_the_vote_comes_within_ninety_seconds(tmp_path: Path) -> None:
    with started(tmp_path, is_streamed=False) as silent:
        change = silent.gerrit.propose({"time.txt": "150"})
        assert "slower" in silent.wait_for(-1, change)


def _has_run(site: GerritSite, number: int) -> bool:
    try:
        return bool(site.plane.reading.patch_set(number, 1).builds)
    except NotFound:
        return False
