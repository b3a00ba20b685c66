"""The demo on a Gerrit: people of the stories become accounts, and what they do becomes git and REST."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from service import cli
from service.adapters.gerrit.connection import Password
from service.adapters.gerrit.review import GerritReview
from service.config import ControlSettings
from service.domain.errors import Permanent, Unfit
from service.domain.gerrit.comment_commands import OverrideCommand, commands_in
from service.domain.project.project_file import Commands, parse_project_file
from tests.support.gerrit_model import SECRET, URL, GerritModel
from tests.support.reading.fake_reading import FakeReading
from tools.demo import __main__ as demo
from tools.demo.console import on_console
from tools.demo.gerrit import GerritSite
from tools.demo.gerrit_server import (
    REVIEWERS,
    GerritServer,
    described,
    fetch_gerrit,
    log_tail,
)
from tools.demo.repository import BRANCH, PROJECT, DemoRepository
from tools.demo.runner import Runner
from tools.demo.scenario import SCENARIOS, change_id
from tools.gerrit_dev.people import described as described_people
from tools.gerrit_dev.place import Place
from tools.gerrit_dev.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.demo.repository import Commit

NATIVE = Path(__file__).parents[3] / "native"
FASTER, SLOWER = SCENARIOS["send_buffer"]


class People:
    """A model Gerrit whose people act as they would on a real one."""

    def __init__(self) -> None:
        self.model = GerritModel()
        self.pushed: list[tuple[str, str]] = []
        self.asked: list[tuple[str, str]] = []
        self.numbers: dict[str, int] = {}

    @property
    def transport(self) -> httpx.BaseTransport:
        """What a model does not know: changes by their Change-Id, and submitting."""
        return httpx.MockTransport(self._answer)

    def push(self, commit: Commit, url: str, ref: str) -> None:
        """Take a pushed commit."""
        self.pushed.append((url, ref))
        number = self.numbers.setdefault(change_id(commit.upload.change), len(self.numbers) + 41)
        words = {"message": commit.upload.text, "project": PROJECT, "branch": BRANCH}
        self.model.upload(number, commit.revision, parent=commit.parent, **words)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(f"{httpx.URL(URL).path}/a/")
        self.asked.append((request.method, path))
        if path.endswith("/submit"):
            self.model.merge(int(path.split("/")[1]))
            return httpx.Response(200, content=b")]}'\n{}")
        name = path.removeprefix(f"changes/{PROJECT}~{BRANCH}~")
        if name in self.numbers:
            request = httpx.Request("GET", f"{URL}/a/changes/{self.numbers[name]}", headers=request.headers)
        return self.model.transport.handle_request(request)


class PushedRepository(DemoRepository):
    """A repository whose pushes arrive at a model."""

    def __init__(self, path: Path, people: People) -> None:
        super().__init__(path)
        self._people = people

    def push(self, commit: Commit, url: str, ref: str) -> None:
        self._people.push(commit, url, ref)


class Hall:
    """A stage on a model Gerrit, with its repository."""

    def __init__(self, root: Path) -> None:
        self.people = People()
        self.model = self.people.model
        self.path = root / "repository"
        self.repository = PushedRepository(self.path, self.people)
        self.repository.create(few_files(root / "native"), REVIEWERS)
        self.review = GerritReview("demo", URL, Password("buildbot", SECRET), transport=self.model.transport)
        self.stage = GerritSite(self.repository, server_at(root), self.review, self.people.transport)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def answer(self, number: int, vote: int, text: str = "Build Successful") -> None:
        """Say and vote what the service would."""
        self.model.vote(number, "buildbot", "Verified", vote)
        self.model.say(number, "buildbot", text)

    def play(self, votes: dict[int, int]) -> Runner:
        """A play in which the service votes so as soon as it is run."""

        def run(until: Callable[[], bool]) -> None:
            for number, vote in votes.items():
                if number in self.model.changes and not self.model.changes[number].votes:
                    self.answer(number, vote)
            assert until()

        return Runner(self.stage, self.review, FakeReading(), run, threading.Event(), lambda _: None)


def few_files(place: Path) -> Path:
    """Those of the real ones that the stories are about."""
    for name in ("benchgate.yaml", *(upload.file for story in SCENARIOS.values() for upload in story)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((NATIVE / name).read_bytes())
    return place


def server_at(root: Path) -> GerritServer:
    """What `gerrit-dev up` says, in its own words, of a server where the model is."""
    accounts = described_people(Place(root / "gerrit"), REVIEWERS)
    for account in accounts.values():
        account["password"] = SECRET
    ssh = {"host": "127.0.0.1", "port": 29418, "known_hosts": str(root / "known_hosts")}
    return described(json.dumps({"url": URL, "ssh": ssh, "accounts": accounts, "running": True}))


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path)


def test_the_tool_describes_the_server_with_its_people(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    assert (server.url, server.ssh_port) == (URL, 29418)
    assert (server.alice.name, server.alice.email) == ("Alice Author", "alice@example.com")
    assert server.bob.user == "bob"
    assert server.buildbot.key == str(tmp_path / "gerrit" / "keys" / "buildbot")
    assert SECRET not in repr(server)


@pytest.mark.parametrize("answer", ["", "[]", '{"url": "http://127.0.0.1:1"}', '{"accounts": {"alice": {}}}'])
def test_a_description_that_lacks_something_is_told(answer: str) -> None:
    with pytest.raises(Permanent, match="does not describe a server"):
        described(answer)


def test_no_setting_of_a_persons_own_gerrit_is_left(tmp_path: Path) -> None:
    of_gerrit = {f"BENCHGATE_{name.upper()}" for name in ControlSettings.model_fields if "gerrit" in name}
    settings = server_at(tmp_path).settings
    assert of_gerrit < set(settings)
    assert settings["BENCHGATE_GIT_URL"] == f"{URL}/{{project}}"
    assert settings["BENCHGATE_GERRIT_BEARER"] == ""


def test_a_password_does_not_end_the_address_that_is_pushed_to(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    assert server.git_url(server.alice) == f"https://alice:{SECRET}@gerrit.example.com/r/a/kv"


def test_the_last_words_of_the_tool_are_why_it_failed() -> None:
    said = "gerrit-dev: fetching Gerrit 3.13.5 by Maven\ngerrit-dev: mvn ended with 1:\n  no network\n"
    assert log_tail(said) == "mvn ended with 1:\n  no network"


def test_the_reviewers_of_the_project_may_override(hall: Hall) -> None:
    assert Project(PROJECT, BRANCH).reviewers == REVIEWERS
    jobs = parse_project_file(hall.git("show", "main:benchgate.yaml"))
    assert jobs.commands == Commands(rerun=REVIEWERS, override=REVIEWERS)


def test_an_upload_is_pushed_for_review_by_the_account_that_committed_it(hall: Hall) -> None:
    uploaded = hall.stage.upload(FASTER)
    assert hall.people.pushed == [(server_at(hall.path).git_url(server_at(hall.path).alice), "refs/for/main")]
    assert (uploaded.change, uploaded.patch_set) == (41, 1), "the numbers are Gerrit's"
    who = hall.git("log", "-1", "--format=%an <%ae>, %cn <%ce>", uploaded.commit.revision)
    assert who == "Alice Author <alice@example.com>, Alice Author <alice@example.com>"
    message = hall.git("log", "-1", "--format=%B", uploaded.commit.revision)
    assert message.splitlines()[-1] == f"Change-Id: {change_id(FASTER.change)}"


def test_the_next_patch_set_goes_to_the_same_change(hall: Hall) -> None:
    first, second, back = (hall.stage.upload(upload) for upload in SCENARIOS["hash_table"])
    assert [(each.change, each.patch_set) for each in (first, second, back)] == [(41, 1), (41, 2), (42, 1)]
    assert back.commit.parent == second.commit.revision


def test_bob_reviews_and_submits_and_the_next_change_begins_there(hall: Hall) -> None:
    uploaded = hall.stage.upload(FASTER)
    hall.people.asked.clear()
    hall.stage.merge(uploaded)
    review = f"changes/41/revisions/{uploaded.commit.revision}/review"
    assert hall.people.asked == [("POST", review), ("POST", "changes/41/submit")]
    assert hall.model.changes[41].votes == {(1, "Code-Review", "bob"): 2}
    assert hall.git("rev-parse", "main") == uploaded.commit.revision


def test_what_the_service_says_is_shown_once_and_what_people_say_is_not(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.demo.gerrit._LOOK_SECONDS", 0.0)
    hall.stage.upload(FASTER)
    hall.stage.upload(SLOWER)
    hall.model.say(41, "bob", "Looks good")
    hall.answer(42, -1, "Build Failed\n\n\x1b[2Jworse")
    hall.answer(41, +1)
    news = hall.stage.news()
    assert [text.splitlines()[0] for text in news] == [
        "Change 42: send_buffer: Send requests from one contiguous buffer",
        "Change 42: send_buffer: Send requests from one contiguous buffer",
        "Change 41: send_buffer: Send a request's parts with sendmsg()",
        "Change 41: send_buffer: Send a request's parts with sendmsg()",
    ]
    assert news[1].splitlines()[1].startswith("kv (main) · Build Bot · 2026-11-21 00:14:")
    assert news[1].endswith("Patch Set 1:\n\nBuild Failed\n\n[2Jworse")
    assert hall.stage.news() == []


def test_a_gerrit_that_does_not_answer_is_asked_again(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.gerrit._LOOK_SECONDS", 0.0)
    hall.stage.upload(FASTER)
    hall.answer(41, +1)
    hall.model.faults = [httpx.ConnectError("away")]
    assert hall.stage.news() == []
    assert len(hall.stage.news()) == 2


def test_gerrit_is_not_asked_all_the_time(hall: Hall) -> None:
    hall.stage.upload(FASTER)
    hall.stage.news()
    asked = len(hall.model.requests)
    hall.stage.news()
    assert len(hall.model.requests) == asked


def test_the_votes_are_those_of_the_service(hall: Hall) -> None:
    voted = hall.play({41: 1, 42: -1}).votes_on([FASTER])
    assert [(uploaded.name, vote) for uploaded, vote in voted] == [("change 41", 1)]


def test_what_has_no_plus_one_is_not_merged(hall: Hall) -> None:
    merged = SCENARIOS["executor"][0]
    assert merged.is_merged
    ((_, vote),) = hall.play({41: -1}).votes_on([merged])
    assert vote == -1
    assert hall.model.changes[41].status == "NEW"


def test_the_line_for_a_shell_posts_a_command_as_bob(hall: Hall) -> None:
    slower = hall.stage.upload(FASTER)
    lines = hall.stage.invitation(slower)
    assert URL in lines[0]
    words = shlex.split(lines[-1])
    assert words[0] == "curl"
    assert words[words.index("-u") + 1] == f"bob:{SECRET}"
    assert words[-1] == f"{URL}/a/changes/41/revisions/{slower.commit.revision}/review"
    said = json.loads(words[words.index("-d") + 1])["message"]
    assert commands_in(said, []) == (OverrideCommand("DEMO-1", "known"),)


def test_without_a_minus_one_there_is_nothing_to_override(hall: Hall) -> None:
    (line,) = hall.stage.invitation(None)
    assert URL in line


def test_a_demo_that_cannot_have_a_gerrit_keeps_the_earlier_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / ".benchgate-demo").touch()
    (tmp_path / "review.sqlite").touch()
    monkeypatch.setenv("BENCHGATE_SANDBOX", "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = ["demo", "--gerrit", "--home", str(tmp_path), "--port", "0"]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as ended:
        cli.run(demo.command)
    assert ended.value.code == cli.EXIT_CANNOT
    assert capsys.readouterr().err.splitlines()[-1] == "benchgate: git is not installed"
    assert (tmp_path / "review.sqlite").exists()


def test_a_maven_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, script in (("java", "echo openjdk 21.0.1"), ("mvn", "echo no network; exit 1")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Unfit, match=r"^/\S+/mvn .+ ended with 1:\n  no network$"):
        fetch_gerrit()


def test_the_console_demo_says_nothing_to_a_persons_own_gerrit(tmp_path: Path) -> None:
    with on_console(tmp_path / "demo", few_files(tmp_path / "native")) as venue:
        assert venue.settings["BENCHGATE_GERRIT_URL"] == ""
        assert venue.settings["BENCHGATE_GERRIT_SSH_HOST"] == ""
