"""`tools/gerrit-dev`: a real server, the permissions of its accounts, and its complete removal."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gerrit.server import gerrit_dev

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.e2e.gerrit.server import GerritServer, Proposal

# The first run downloads a hundred megabytes.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
PATIENCE = 30.0  # seconds; an event takes a tenth of one


def test_up_again_keeps_the_server(gerrit: GerritServer) -> None:
    done = gerrit_dev("up", gerrit.description["directory"])
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    kept = ("pid", "url", "ssh", "project", "accounts")
    assert {key: again[key] for key in kept} == {key: gerrit.description[key] for key in kept}


def test_a_port_in_use_is_reported_and_the_server_goes_on(gerrit: GerritServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = gerrit_dev("up", gerrit.description["directory"], "--http", str(port))
    assert done.returncode == 1
    assert f"port {port}: Address already in use" in done.stderr
    assert json.loads(gerrit_dev("status", gerrit.description["directory"]).stdout)["pid"] == gerrit.pid


def test_a_server_needs_about_half_a_gigabyte(gerrit: GerritServer) -> None:
    status = json.loads(gerrit_dev("status", gerrit.description["directory"]).stdout)
    assert status["running"]
    assert status["resident_megabytes"] < 640


def test_the_server_reports_its_version(gerrit: GerritServer) -> None:
    assert gerrit.rest("mallory", "GET", "/config/server/version") == gerrit.description["version"]


def test_the_build_bot_may_vote_and_the_author_and_a_stranger_may_not(gerrit: GerritServer) -> None:
    proposal = gerrit.propose({"a.txt": "1\n"})
    assert gerrit.review("buildbot", proposal, {"Verified": -1}, "Build Failed").is_success
    assert gerrit.review("alice", proposal, {"Verified": 1}).status_code == HTTPStatus.FORBIDDEN
    assert gerrit.review("mallory", proposal, {"Verified": 1}).status_code == HTTPStatus.FORBIDDEN
    assert gerrit.votes(proposal.number, "Verified") == {"buildbot": -1}


def test_a_reviewer_may_remove_a_vote_and_a_stranger_may_not(gerrit: GerritServer) -> None:
    proposal = gerrit.propose({"b.txt": "1\n"})
    gerrit.review("buildbot", proposal, {"Verified": -1})
    vote = f"/changes/{proposal.number}/reviewers/buildbot/votes/Verified"
    assert gerrit.ask("mallory", "DELETE", vote).status_code == HTTPStatus.FORBIDDEN
    assert gerrit.ask("bob", "DELETE", vote).is_success
    assert gerrit.review("bob", proposal, {"Verified": 1}).is_success
    assert gerrit.votes(proposal.number, "Verified") == {"bob": 1}


def test_a_vote_survives_a_new_message_but_not_new_code(gerrit: GerritServer) -> None:
    first = gerrit.propose({"c.txt": "1\n"})
    gerrit.review("buildbot", first, {"Verified": 1})
    second = gerrit.amend(first, {}, message="A better message")
    assert gerrit.votes(second.number, "Verified") == {"buildbot": 1}
    third = gerrit.amend(second, {"c.txt": "2\n"})
    assert (third.number, third.patch_set, third.parent) == (first.number, 3, first.parent)
    assert gerrit.votes(third.number, "Verified") == {}


def test_only_a_verified_change_can_be_submitted(gerrit: GerritServer) -> None:
    proposal = gerrit.propose({"d.txt": "1\n"})
    submit = f"/changes/{proposal.number}/submit"
    gerrit.review("bob", proposal, {"Code-Review": 2})
    assert gerrit.ask("bob", "POST", submit).status_code == HTTPStatus.CONFLICT
    gerrit.review("buildbot", proposal, {"Verified": 1})
    assert gerrit.rest("bob", "POST", submit)["status"] == "MERGED"


def test_the_build_bot_sees_the_reviewers(gerrit: GerritServer) -> None:
    members = gerrit.rest("buildbot", "GET", f"/groups/{gerrit.reviewers}/members/")
    assert [member["username"] for member in members] == ["bob"]


def test_the_build_bot_may_stream_events_and_a_stranger_may_not(gerrit: GerritServer) -> None:
    refused = subprocess.run(
        gerrit.ssh("mallory", "stream-events"), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert refused.returncode != 0
    assert "stream events" in refused.stderr.lower()
    proposal = gerrit.propose({"e.txt": "1\n"})
    assert first_comment(gerrit, proposal)["author"] == {
        "name": "Alice Author",
        "email": "alice@example.com",
        "username": "alice",
    }


def first_comment(gerrit: GerritServer, proposal: Proposal) -> dict[str, object]:
    """Return the event of a comment by alice; repeat the comment, because the stream's start is unknown."""
    argv = gerrit.ssh("buildbot", "stream-events", "-s", "comment-added")
    deadline = time.monotonic() + PATIENCE
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as stream:
        assert stream.stdout is not None
        try:
            while not select.select([stream.stdout], [], [], 0.5)[0]:
                assert time.monotonic() < deadline, "no event came"
                gerrit.review("alice", proposal, {}, "Look at this")
            event: dict[str, object] = json.loads(stream.stdout.readline())
        finally:
            stream.terminate()
    return event


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for words in (("up",), ("down", "--wipe")):
        done = gerrit_dev(words[0], tmp_path, *words[1:])
        assert done.returncode == 1
        assert str(tmp_path) in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_down_does_not_stop_another_process_with_the_servers_id(tmp_path: Path) -> None:
    (tmp_path / "gerrit-dev.json").write_text("{}")
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / "gerrit.pid").write_text(f"{other.pid}\n")
        assert gerrit_dev("status", tmp_path).returncode == 3
        done = gerrit_dev("down", tmp_path, "--wipe")
        still_runs = other.poll() is None
        other.terminate()
    assert (done.returncode, done.stderr) == (0, "gerrit-dev: the server was not running\n")
    assert still_runs
    assert not tmp_path.exists()


def test_a_missing_seed_is_reported_before_the_directory_is_created(tmp_path: Path) -> None:
    done = gerrit_dev("up", tmp_path / "new", "--seed", f"{tmp_path}/nothing:main")
    assert done.returncode == 1
    assert f"{tmp_path}/nothing" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_jar_other_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    forged = 'for word; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done; cd "$out"\n'
    forged += ": > gerrit-plugin-api-3.13.5.jar"
    done = gerrit_dev("up", tmp_path / "new", environment=machine(tmp_path, java=21, mvn=forged))
    assert done.returncode == 1
    assert "gerrit-plugin-api-3.13.5.jar from Maven is not the pinned one" in done.stderr
    assert not list(tmp_path.glob("cache/**/*.jar"))


def test_a_machine_with_java_17_gets_the_older_release(tmp_path: Path) -> None:
    environment = machine(tmp_path, java=17, mvn="echo no network; exit 1")
    done = gerrit_dev("up", tmp_path / "new", environment=environment)
    assert done.returncode == 1
    assert "downloading Gerrit 3.10.2 by Maven" in done.stderr
    assert "no network" in done.stderr


def machine(root: Path, *, java: int, mvn: str) -> Mapping[str, str]:
    """The environment of a machine with this Java, this Maven, an empty cache and no packages for pip."""
    programs = root / "java" / "bin"
    programs.mkdir(parents=True)
    for name, script in (("java", f"echo openjdk {java}.0.1"), ("mvn", mvn)):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "JAVA_HOME": str(programs.parent),
        "XDG_CACHE_HOME": str(root / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
