"""An upgrade without a pause: migrate, then replace the control plane, then the machine, while builds run.

``previous_version`` names the commit of the previous version and its newest migration; each release moves it.
"""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tarfile
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, LiteralString

import psycopg
import pytest
from sqlalchemy import make_url

from service.adapters.embedded.children import Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.migrate import migrate
from service.adapters.review.console.review import ConsoleReview
from service.cli.services.child_processes import Site, parts_of
from service.domain.machines.slots import slots_of
from tests.e2e.conftest import SECRET, RunningSite, start_settings
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.adapters.embedded.process import Child

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ROOT: Final = Path(__file__).parents[2]
COMMIT, REVISION = Path(__file__).with_name("previous_version").read_text(encoding="utf-8").split()
PACKAGES: Final = ("service", "dashboards", "workers", "migrations")
PHASES: Final = "SELECT split_part(phase, ',', 1) FROM build ORDER BY id"
ENOUGH: Final = 100  # of about 200 statements; the others have parameters of unknown types
PAGES: Final = ("/", "/changes/1/1", "/machines", "/api/v1/changes/1/patch-sets/1", "/api/v1/queue")
TROUBLE: Final = ("Traceback", "step.failed", "job.failed", "step.postponed")


def previous_version(place: Path) -> Path:
    """Unpack the code of the previous version."""
    argv = ["git", "archive", COMMIT, *PACKAGES]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(
            f"this clone lacks the previous version, {COMMIT}; get the history by `git fetch --unshallow`: "
            f"{done.stderr.decode()}"
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")
    return place


@contextmanager
def servers(home: Path, project: TinyProject) -> Iterator[tuple[Site, str]]:
    """Start database and broker only; the addresses of a site on them, and the administrator's."""
    postgres, valkey = EmbeddedPostgres(home / "postgres"), EmbeddedValkey(home / "valkey")
    with ExitStack() as stack:
        stack.callback(postgres.release)
        stack.callback(valkey.release)
        supervisor = stack.enter_context(Supervisor())
        supervisor.start(postgres.prepare(home / "log"), valkey.prepare(home / "log"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        yield (
            Site(
                home=home,
                port=port,
                slots=slots_of("perf-01", ("perf",), 1),
                redis_url=valkey.broker_url,
                database_url=postgres.owner_url,
                machine_database_url=postgres.machine_url,
                settings=start_settings(project),
            ),
            postgres.administrator_url,
        )


def parts(site: Site, tree: Path, *names: str) -> tuple[Child, ...]:
    """These parts of the version in a tree."""
    return tuple(
        replace(each, cwd=tree, env={**(each.env or {}), "PYTHONPATH": str(tree)})
        for each in parts_of(site)
        if each.name in names
    )


def migrate_by(tree: Path, site: Site, administrator_url: str) -> None:
    """Make the schema of the version in a tree."""
    [control] = parts(site, tree, "control")
    argv = [sys.executable, "-m", "service.cli", "migrate", "--administrator-url-from", "ADMINISTRATOR"]
    env = {**(control.env or {}), "ADMINISTRATOR": administrator_url}
    subprocess.run(argv, cwd=tree, env=env, check=True, capture_output=True, timeout=60)


def send(site: Site, event: bytes) -> None:
    """Tell the console review server of an event, and the web part by its webhook."""
    ConsoleReview(site.home / "review.sqlite", "e2e").apply_event(event)
    address = f"{site.base_url}/webhooks/gerrit/{SECRET}"
    with urllib.request.urlopen(address, data=event, timeout=20) as answer:
        assert answer.status == 204


def read_pages(site: Site) -> None:
    """Read pages of changes, builds and machines."""
    for page in PAGES:
        with urllib.request.urlopen(site.base_url + page, timeout=20) as answer:
            assert answer.status == 200


def planned(tree: Path, site: Site) -> set[str]:
    """The statements of the version in a tree that the database can plan."""
    argv = [sys.executable, str(Path(__file__).with_name("explain_statements.py")), url_of(site)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree)}
    done = subprocess.run(argv, cwd=tree, env=env, check=True, capture_output=True, text=True, timeout=60)
    return set(done.stdout.splitlines())


def url_of(site: Site) -> str:
    return make_url(site.database_url).set(drivername="postgresql").render_as_string(hide_password=False)


def rows(site: Site, query: LiteralString) -> list[tuple[Any, ...]]:
    """The rows of a query that both schemas answer."""
    with psycopg.connect(url_of(site)) as connection:
        return connection.execute(query).fetchall()


def test_the_new_schema_answers_the_statements_of_the_previous_version(tmp_path: Path) -> None:
    project, home = TinyProject(tmp_path / "tiny"), tmp_path / "var"
    home.mkdir()
    old = previous_version(tmp_path / "old")
    with servers(home, project) as (site, administrator_url):
        migrate_by(old, site, administrator_url)
        assert rows(site, "SELECT version_num FROM alembic_version") == [(REVISION,)]
        statements = planned(old, site)
        assert len(statements) > ENOUGH
        migrate(site.database_url)
        assert statements - planned(old, site) == set()


@pytest.mark.nightly
def test_builds_and_votes_go_on_while_each_part_is_upgraded(tmp_path: Path) -> None:
    project, home = TinyProject(tmp_path / "tiny"), tmp_path / "var"
    home.mkdir()
    old = previous_version(tmp_path / "old")
    with servers(home, project) as (site, administrator_url), ExitStack() as stack:
        migrate_by(old, site, administrator_url)
        machine, control = stack.enter_context(Supervisor()), stack.enter_context(Supervisor())
        control.start(*parts(site, old, "web", "control", "schedule"))
        machine.start(*parts(site, old, "machine"))
        send(site, project.propose(1, {"time.txt": "150", "slow.txt": "4"}).event())
        send(site, project.propose(2, {"note.txt": "nothing to do with time"}).event())
        control.run(lambda: rows(site, PHASES) == [("build patch",), ("",)])

        read_pages(site)
        migrate(site.database_url)
        read_pages(site)
        running = RunningSite(site, control, project)
        stack.callback(running.plane.close)
        assert [running.wait_for_vote(number) for number in (1, 2)] == [-1, 1]
        send(site, project.propose(3, {"time.txt": "140", "slow.txt": "4"}).event())
        running.wait_for_phase(3, "build patch")

        control.stop()
        control.start(*parts(site, ROOT, "web", "control", "schedule"))
        send(site, project.propose(4, {"note.txt": "for the machine of the previous version"}).event())
        assert [running.wait_for_vote(number) for number in (3, 4)] == [-1, 1]

        machine.stop()
        machine.start(*parts(site, ROOT, "machine"))
        send(site, project.propose(5, {"time.txt": "130"}).event())
        assert running.wait_for_vote(5) == -1

        assert [len(running.messages(number)) for number in range(1, 6)] == [1] * 5
        assert rows(site, "SELECT attempt FROM build") == [(1,)] * 5
    logs = {path.name: path.read_text(encoding="utf-8") for path in (home / "log").iterdir()}
    assert [(name, word) for name, text in logs.items() for word in TROUBLE if word in text] == []
