"""Two Gerrits in one installation: both have a change 1 of a project ``tiny``, and each gets its own vote.

Both also have a private change 2 of account 1000002, which is Alice on ``core`` and Bob on ``edge``.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx
import pytest

from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.engine import make_engine
from service.cli.services.start_site import running_site
from service.domain.access.scopes import parse_scope
from service.ports.access import NewToken
from tests.e2e.conftest import PATIENCE
from tests.support.project.tiny_project import TinyProject
from tests.support.review.gerrit_model import SECRET, GerritModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service.adapters.embedded.children import Supervisor
    from service.cli.services.child_processes import Site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
TIMES = {"core": "150", "edge": "100"}  # of the patch sets; the base takes 100


class Gerrit:
    """A model with its repository, its port and its event."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.model = GerritModel()
        self.project = TinyProject(root / name)
        proposal = self.project.propose(1, {"time.txt": TIMES[name], "note.txt": f"of {name}"})
        self.model.upload(1, proposal.revision, parent=proposal.parent, project="tiny", branch="main")
        self.revision, self.event = proposal.revision, proposal.event()
        private = self.project.propose(2, {"note.txt": f"private on {name}"})
        self.model.upload(2, private.revision, parent=private.parent, project="tiny", branch="main")
        self.model.changes[2].flags["is_private"] = True
        self.model.changes[2].watchers.add("buildbot")
        self.private_event = private.event()
        self.url = ""

    @property
    def webhook_secret(self) -> str:
        return f"webhook-secret-of-{self.name}"

    @property
    def settings(self) -> dict[str, object]:
        return {
            "url": self.url,
            "user": "buildbot",
            "password": SECRET,
            "webhook_secrets": [self.webhook_secret],
        }

    @property
    def votes(self) -> list[int]:
        return [value for (_, label, who), value in self.model.changes[1].votes.items() if who == "buildbot"]

    def messages(self) -> list[str]:
        mine = (each for each in self.model.changes[1].messages if each["author"]["username"] == "buildbot")
        return [str(each["message"]) for each in mine]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer requests on a free port of loopback."""
        with self.model.serving(_swapped if self.name == "edge" else str) as self.url:
            yield


def _swapped(text: str) -> str:
    """Exchange the addresses of Alice and Bob."""
    return re.sub("alice(?=@|%40)|bob(?=@|%40)", lambda name: {"alice": "bob", "bob": "alice"}[name[0]], text)


class TwoGerrits:
    """A Benchgate with two Gerrits."""

    def __init__(self, site: Site, supervisor: Supervisor, gerrits: dict[str, Gerrit]) -> None:
        self.site = site
        self.supervisor = supervisor
        self.gerrits = gerrits

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"{self.site.base_url}{path}", headers=headers, timeout=60)

    def token(self, scope: str, email: str = "") -> str:
        """Return the header of a new token."""
        engine = make_engine(self.site.database_url)
        new = NewToken(
            name="ci",
            scopes=frozenset({parse_scope(scope)}),
            lifetime=timedelta(days=1),
            created_by="ci",
            email=email,
        )
        _, secret = PostgresTokens(engine).add(new)
        engine.dispose()
        return f"Bearer {secret}"

    def wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        self.supervisor.run(lambda: is_there() or time.monotonic() > deadline)
        assert time.monotonic() <= deadline, f"{what} did not come; logs in {self.site.home / 'log'}"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGerrits]:
    """A Benchgate that both Gerrits have just told about their change 1."""
    root = tmp_path_factory.mktemp("two")
    gerrits = {name: Gerrit(name, root) for name in TIMES}
    with ExitStack() as stack:
        for gerrit in gerrits.values():
            stack.enter_context(gerrit.serving())
        settings = {
            "GERRITS": json.dumps({name: gerrit.settings for name, gerrit in gerrits.items()}),
            "GIT_URLS": json.dumps({name: str(gerrit.project.path) for name, gerrit in gerrits.items()}),
            "WAITS_FOR_QUIET": "false",
            "LEASE_SECONDS": "2",
        }
        variables = {f"BENCHGATE_{name}": value for name, value in settings.items()}
        running = running_site(root / "var", 0, ("perf",), lambda _: None, variables)
        site, supervisor = stack.enter_context(running)
        for gerrit in gerrits.values():
            address = f"{site.base_url}/webhooks/gerrit/{gerrit.webhook_secret}"
            for event in (gerrit.event, gerrit.private_event):
                assert httpx.post(address, content=event, timeout=60).status_code == 204
        yield TwoGerrits(site, supervisor, gerrits)


def test_each_gerrit_gets_its_own_vote(two: TwoGerrits) -> None:
    two.wait(lambda: all(gerrit.votes for gerrit in two.gerrits.values()), "a vote")
    assert {name: gerrit.votes for name, gerrit in two.gerrits.items()} == {"core": [-1], "edge": [1]}
    core, edge = (two.gerrits[name].messages() for name in ("core", "edge"))
    assert "1 of 1 result is slower" in core[-1]
    assert "1 of 1 result is the same" in edge[-1]


def test_a_number_alone_leads_to_both_changes(two: TwoGerrits) -> None:
    page = two.get("/changes/1", Accept="text/html")
    assert page.status_code == 404
    assert [f'href="/changes/{name}~1"' in page.text for name in two.gerrits] == [True, True]
    problem = two.get("/api/v1/changes/1").json()
    assert problem["detail"] == "several review servers have a change 1: core~1, edge~1"


@pytest.mark.parametrize(("name", "vote"), [("core", -1), ("edge", 1)])
def test_page_api_and_checks_tab_show_the_change_of_the_named_gerrit(
    two: TwoGerrits, name: str, vote: int
) -> None:
    change = two.get(f"/api/v1/changes/{name}~1").json()["change"]
    assert (change["instance"], change["address"], change["vote"]) == (name, f"{name}~1", vote)
    assert f'href="{two.gerrits[name].url}/c/tiny/+/1/1"' in two.get(f"/changes/{name}~1").text
    parts = httpx.URL(two.gerrits[name].url)
    origin = f"{parts.scheme}://{parts.netloc.decode()}"
    answer = two.get("/api/v1/gerrit/checks?change=1&patchset=1", Origin=origin)
    assert answer.headers["access-control-allow-origin"] == origin
    [run] = answer.json()["runs"]
    assert bool([each for each in run["results"] if each["category"] == "ERROR"]) == (vote == -1)


def test_a_reply_to_a_comment_goes_to_its_gerrit_and_links_to_its_change(two: TwoGerrits) -> None:
    edge, core = two.gerrits["edge"], two.gerrits["core"]
    before = len(core.messages())
    edge.model.say(1, "alice", "override bug:MB-1 reason:none", as_comment=True)
    httpx.post(
        f"{two.site.base_url}/webhooks/gerrit/{edge.webhook_secret}", content=edge.event + b" ", timeout=60
    )
    two.wait(lambda: "/changes/edge~1#m" in edge.messages()[-1], "the reply")
    assert len(core.messages()) == before


@pytest.mark.parametrize(("email", "name"), [("alice@example.com", "core"), ("bob@example.com", "edge")])
def test_a_person_sees_on_each_gerrit_only_what_their_own_account_sees(
    two: TwoGerrits, email: str, name: str
) -> None:
    token = two.token("read", email)
    two.wait(
        lambda: two.get(f"/api/v1/changes/{name}~2", Authorization=token).status_code == 200,
        "the private change",
    )
    other = {"core": "edge", "edge": "core"}[name]
    assert two.get(f"/api/v1/changes/{other}~2", Authorization=token).status_code == 404
    assert two.get(f"/api/v1/changes/{name}~2").status_code == 404


def test_a_report_of_another_ci_names_its_gerrit(two: TwoGerrits) -> None:
    build = {
        "project": "tiny",
        "change": 1,
        "revision": two.gerrits["core"].revision,
        "url": "https://ci.example.com/1",
        "result": "SUCCESS",
    }
    token = two.token("report:core~tiny/tiny-perf")

    def send(named: dict[str, str]) -> tuple[int, str]:
        headers = {"Authorization": token, "Idempotency-Key": "key"}
        address = f"{two.site.base_url}/api/v1/builds/tiny-perf/1"
        answer = httpx.post(address, json=build | named, headers=headers, timeout=60)
        return answer.status_code, answer.json()["detail"]

    assert send({}) == (400, "instance: is missing; write core or edge")
    scope = "this report needs a token with the scope report:edge~tiny/tiny-perf"
    assert send({"instance": "edge"}) == (403, scope)
    assert send({"instance": "core"}) == (400, "job: tiny-perf is not of kind external")
