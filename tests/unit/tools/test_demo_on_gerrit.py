"""Run the demo on a Gerrit: uploads and merges become git pushes and REST requests."""

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
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.config.control import ControlSettings
from service.domain.project.project_file import Commands, parse_project_file
from service.domain.review.comment_commands import OverrideCommand, commands_in
from service.domain.values.errors import Permanent, Unfit
from tests.support.reading.fake_reading import FakeReading
from tests.support.review.gerrit_model import SECRET, URL, GerritModel
from tools.demo import __main__ as demo
from tools.demo.console import on_console
from tools.demo.gerrit import GerritSite
from tools.demo.gerrit_server import (
    REVIEWERS,
    GerritServer,
    described,
    fetch_gerrit,
    last_message,
)
from tools.demo.history.commits import HISTORY
from tools.demo.repository import BRANCH, PROJECT, DemoRepository
from tools.demo.runner import Runner
from tools.demo.scenario import AGAIN, SCENARIOS, change_id
from tools.gerrit_dev.people import described as described_people
from tools.gerrit_dev.place import Place
from tools.gerrit_dev.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.demo.repository import Commit

NATIVE = Path(__file__).parents[3] / "native"
FASTER, SLOWER = SCENARIOS["send_buffer"]


class People:
    """A model Gerrit that accepts pushes and submits."""

    def __init__(self) -> None:
        self.model = GerritModel()
        self.pushed: list[tuple[str, str]] = []
        self.asked: list[tuple[str, str]] = []
        self.numbers: dict[str, int] = {}

    @property
    def transport(self) -> httpx.BaseTransport:
        """The model's transport, which also finds changes by their Change-Id and submits them."""
        return httpx.MockTransport(self._answer)

    def push(self, commit: Commit, url: str, ref: str) -> None:
        """Receive a pushed commit."""
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
    """A repository that pushes to the model."""

    def __init__(self, path: Path, people: People) -> None:
        super().__init__(path)
        self._people = people

    def push(self, commit: Commit, url: str, ref: str) -> None:
        self._people.push(commit, url, ref)


class ModelSite:
    """A review site on a model Gerrit, with its repository."""

    def __init__(self, root: Path) -> None:
        self.people = People()
        self.model = self.people.model
        self.path = root / "repository"
        self.repository = PushedRepository(self.path, self.people)
        self.repository.create(few_files(root / "native"), REVIEWERS)
        self.review = GerritReview("demo", URL, Password("buildbot", SECRET), transport=self.model.transport)
        self.site = GerritSite(self.repository, server_at(root), self.review, self.people.transport)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def answer(self, number: int, vote: int, text: str = "Build Successful") -> None:
        """Post a message and a vote as Benchgate."""
        self.model.vote(number, "buildbot", "Verified", vote)
        self.model.say(number, "buildbot", text)

    def runner(self, votes: dict[int, int]) -> Runner:
        """Make a runner for which Benchgate votes at once."""

        def run(until: Callable[[], bool]) -> None:
            for number, vote in votes.items():
                if number in self.model.changes and not self.model.changes[number].votes:
                    self.answer(number, vote)
            assert until()

        return Runner(self.site, self.review, FakeReading(), run, threading.Event(), lambda _: None)


def few_files(place: Path) -> Path:
    """Copy only the real files that the scenarios and the history change."""
    of_scenarios = (upload.file for uploads in SCENARIOS.values() for upload in uploads)
    for name in {"benchgate.yaml", *of_scenarios, *(commit.variation.file for commit in HISTORY)}:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((NATIVE / name).read_bytes())
    return place


def server_at(root: Path) -> GerritServer:
    """Parse the output of `gerrit-dev up` for a server at the model's address."""
    accounts = described_people(Place(root / "gerrit"), REVIEWERS)
    for account in accounts.values():
        account["password"] = SECRET
    ssh = {"host": "127.0.0.1", "port": 29418, "known_hosts": str(root / "known_hosts")}
    return described(json.dumps({"url": URL, "ssh": ssh, "accounts": accounts, "running": True}))


@pytest.fixture
def model_site(tmp_path: Path) -> ModelSite:
    return ModelSite(tmp_path)


def test_the_tool_describes_the_server_with_its_people(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    assert (server.url, server.ssh_port) == (URL, 29418)
    assert (server.alice.name, server.alice.email) == ("Alice Author", "alice@example.com")
    assert server.bob.user == "bob"
    assert server.buildbot.key == str(tmp_path / "gerrit" / "keys" / "buildbot")
    assert SECRET not in repr(server)


@pytest.mark.parametrize("answer", ["", "[]", '{"url": "http://127.0.0.1:1"}', '{"accounts": {"alice": {}}}'])
def test_an_incomplete_description_is_refused(answer: str) -> None:
    with pytest.raises(Permanent, match="did not describe a server"):
        described(answer)


def test_all_settings_of_the_users_own_gerrit_are_replaced(tmp_path: Path) -> None:
    of_gerrit = {f"BENCHGATE_{name.upper()}" for name in ControlSettings.model_fields if "gerrit" in name}
    settings = server_at(tmp_path).settings
    assert of_gerrit < set(settings)
    assert settings["BENCHGATE_GIT_URL"] == f"{URL}/{{project}}"
    assert settings["BENCHGATE_GERRIT_BEARER"] == ""


def test_special_characters_of_a_password_are_quoted_in_the_url(tmp_path: Path) -> None:
    server = server_at(tmp_path)
    assert server.git_url(server.alice) == f"https://alice:{SECRET}@gerrit.example.com/r/a/kv"


def test_the_last_message_of_the_tool_is_the_reason_of_its_failure() -> None:
    errors = "gerrit-dev: downloading Gerrit 3.13.5 by Maven\ngerrit-dev: mvn ended with 1:\n  no network\n"
    assert last_message(errors) == "mvn ended with 1:\n  no network"


def test_the_reviewers_of_the_project_may_override(model_site: ModelSite) -> None:
    assert Project(PROJECT, BRANCH).reviewers == REVIEWERS
    project_file = parse_project_file(model_site.git("show", "main:benchgate.yaml"))
    assert project_file.commands == Commands(rerun=REVIEWERS, override=REVIEWERS)


def test_an_upload_is_pushed_for_review_by_the_account_that_committed_it(model_site: ModelSite) -> None:
    uploaded = model_site.site.upload(FASTER)
    assert model_site.people.pushed == [
        (server_at(model_site.path).git_url(server_at(model_site.path).alice), "refs/for/main")
    ]
    assert (uploaded.change, uploaded.patch_set) == (41, 1), "the numbers are Gerrit's"
    who = model_site.git("log", "-1", "--format=%an <%ae>, %cn <%ce>", uploaded.commit.revision)
    assert who == "Alice Author <alice@example.com>, Alice Author <alice@example.com>"
    message = model_site.git("log", "-1", "--format=%B", uploaded.commit.revision)
    assert message.splitlines()[-1] == f"Change-Id: {change_id(FASTER.change)}"


def test_the_next_patch_set_goes_to_the_same_change(model_site: ModelSite) -> None:
    first, second, back = (model_site.site.upload(upload) for upload in SCENARIOS["hash_table"])
    assert [(uploaded.change, uploaded.patch_set) for uploaded in (first, second, back)] == [
        (41, 1),
        (41, 2),
        (42, 1),
    ]
    assert back.commit.parent == second.commit.revision


def test_a_merge_is_reviewed_and_submitted_by_bob_and_moves_the_branch(model_site: ModelSite) -> None:
    uploaded = model_site.site.upload(FASTER)
    model_site.people.asked.clear()
    model_site.site.merge(uploaded)
    review = f"changes/41/revisions/{uploaded.commit.revision}/review"
    assert model_site.people.asked == [("POST", review), ("POST", "changes/41/submit")]
    assert model_site.model.changes[41].votes == {(1, "Code-Review", "bob"): 2}
    assert model_site.git("rev-parse", "main") == uploaded.commit.revision


def test_only_messages_of_the_service_are_shown_and_only_once(
    model_site: ModelSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.demo.gerrit._POLL_SECONDS", 0.0)
    model_site.site.upload(FASTER)
    model_site.site.upload(SLOWER)
    model_site.model.say(41, "bob", "Looks good")
    model_site.answer(42, -1, "Build Failed\n\n\x1b[2Jworse")
    model_site.answer(41, +1)
    news = model_site.site.news()
    assert [text.splitlines()[0] for text in news] == [
        "Change 42: send_buffer: Send requests from one contiguous buffer",
        "Change 42: send_buffer: Send requests from one contiguous buffer",
        "Change 41: send_buffer: Send a request's parts with sendmsg()",
        "Change 41: send_buffer: Send a request's parts with sendmsg()",
    ]
    assert news[1].splitlines()[1].startswith("kv (main) · Build Bot · 2026-11-21 00:14:")
    assert news[1].endswith("Patch Set 1:\n\nBuild Failed\n\n[2Jworse")
    assert model_site.site.news() == []


def test_messages_are_shown_after_an_outage(model_site: ModelSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.gerrit._POLL_SECONDS", 0.0)
    model_site.site.upload(FASTER)
    model_site.answer(41, +1)
    model_site.model.faults = [httpx.ConnectError("away")]
    assert model_site.site.news() == []
    assert len(model_site.site.news()) == 2


def test_gerrit_is_not_polled_at_every_call(model_site: ModelSite) -> None:
    model_site.site.upload(FASTER)
    model_site.site.news()
    asked = len(model_site.model.requests)
    model_site.site.news()
    assert len(model_site.model.requests) == asked


def test_the_votes_are_those_of_the_service(model_site: ModelSite) -> None:
    voted = model_site.runner({41: 1, 42: -1}).votes_on([FASTER])
    assert [(uploaded.name, vote) for uploaded, vote in voted] == [("change 41", 1)]


def test_a_change_without_a_plus_one_is_not_merged(model_site: ModelSite) -> None:
    merged = SCENARIOS["flush_vbucket"][0]
    assert merged.is_merged
    ((_, vote),) = model_site.runner({41: -1}).votes_on([merged])
    assert vote == -1
    assert model_site.model.changes[41].status == "NEW"


def test_the_shell_command_posts_an_override_as_bob(model_site: ModelSite) -> None:
    slower = model_site.site.upload(FASTER)
    words = shlex.split(model_site.site.how_to_answer(None, slower)[-1])
    assert words[0] == "curl"
    assert words[words.index("-u") + 1] == f"bob:{SECRET}"
    assert words[-1] == f"{URL}/a/changes/41/revisions/{slower.commit.revision}/review"
    message = json.loads(words[words.index("-d") + 1])["message"]
    assert commands_in(message, []) == (OverrideCommand("DEMO-1", "slower on purpose"),)


def test_a_failing_test_comes_first_and_becomes_known(model_site: ModelSite) -> None:
    (failing,) = map(model_site.site.upload, SCENARIOS["replica"])
    words = shlex.split(model_site.site.how_to_answer(failing, model_site.site.upload(FASTER))[-1])
    assert words[-1] == f"{URL}/a/changes/41/revisions/{failing.commit.revision}/review"
    message = json.loads(words[words.index("-d") + 1])["message"]
    reason = "the answer comes late on a busy machine"
    assert commands_in(message, []) == (OverrideCommand("DEMO-1", reason, is_known=True),)


def test_without_a_minus_one_there_is_nothing_to_override(model_site: ModelSite) -> None:
    assert model_site.site.how_to_answer(None, None) == []


def test_the_same_test_fails_again_once_after_somebody_turned_the_vote(
    model_site: ModelSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.demo.gerrit._POLL_SECONDS", 0.0)
    (failing,) = map(model_site.site.upload, SCENARIOS["replica"])
    model_site.answer(41, -1, "Tests Failed")
    uploads: list[int] = []

    def run(is_over: Callable[[], bool]) -> None:
        for vote in (None, 1, 1):
            if vote:
                model_site.answer(41, vote)
            is_over()
            uploads.append(len(model_site.people.pushed))

    stop = threading.Event()
    Runner(model_site.site, model_site.review, FakeReading(), run, stop, lambda _: None).watch(failing)
    assert uploads == [1, 2, 2]
    assert list(model_site.people.numbers) == [change_id(69), change_id(AGAIN.change)]


def test_the_demo_keeps_the_previous_demo_if_gerrit_cannot_start(
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


def test_the_output_of_a_failed_maven_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def test_the_console_demo_does_not_use_the_users_own_gerrit(tmp_path: Path) -> None:
    with on_console(tmp_path / "demo", few_files(tmp_path / "native")) as backend:
        assert backend.settings["BENCHGATE_GERRIT_URL"] == ""
        assert backend.settings["BENCHGATE_GERRIT_SSH_HOST"] == ""
