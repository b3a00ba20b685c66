"""Two machines that share no directory with the control plane, or with each other, give the votes."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.cli.services.child_processes import parts_of
from service.cli.services.start_site import running_site
from service.steps.access.manage_tokens import TokenRequest, create_token_by_command
from tests.e2e.conftest import RunningSite, start_settings
from tests.support.building.s3_server import BUCKET, s3_server
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.adapters.embedded.process import Child
    from service.cli.services.child_processes import Site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
MACHINES = ("perf-01", "perf-02")
CONTROL = ("web", "control", "schedule")


def worker(running: RunningSite, home: Path, name: str) -> Child:
    """A worker of the pool perf with a home of its own, and a token instead of the artifact directory."""
    home.mkdir()
    plane = running.plane
    _, token = create_token_by_command(plane.tokens, TokenRequest(name, [f"machine:{name}"], 400), "root")
    (home / "token").write_text(token)
    own = next(each for each in parts_of(running.site) if each.name == "machine")
    env = {
        **(own.env or {}),
        "BENCHGATE_HOME": str(home),
        "BENCHGATE_ARTIFACTS": running.site.base_url,
        "BENCHGATE_MACHINE_TOKEN_FILE": str(home / "token"),
        "BENCHGATE_MACHINE_NAME": name,
        "BENCHGATE_HOST": name,
    }
    argv = (sys.executable, "-m", "service.cli", "worker", "--pool", "perf")
    return replace(own, name=name, argv=argv, log_path=home / "worker.log", env=env)


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.nightly)])
def stored(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Start what keeps the artifacts, and yield its directory; only the control plane knows a bucket."""
    if request.param == "directory":
        yield tmp_path / "var" / "artifacts"
        return
    (tmp_path / "s3").mkdir()
    with s3_server(tmp_path / "s3") as server:
        own = {**server.env, "BENCHGATE_ARTIFACTS": f"s3://{BUCKET}/site"}

        def parts(site: Site) -> tuple[Child, ...]:
            return tuple(
                replace(each, env={**(each.env or {}), **own}) if each.name in CONTROL else each
                for each in parts_of(site)
            )

        monkeypatch.setattr("service.cli.services.start_site.parts_of", parts)
        yield server.files / "site"


def test_two_machines_without_a_shared_directory_give_the_votes(tmp_path: Path, stored: Path) -> None:
    project, home = TinyProject(tmp_path / "tiny"), tmp_path / "var"
    settings = start_settings(project)
    with running_site(home, 0, ("spare",), lambda _: None, settings) as (site, supervisor):
        running = RunningSite(site, supervisor, project)
        supervisor.start(*(worker(running, tmp_path / name, name) for name in MACHINES))
        running.feed(project.propose(1, {"time.txt": "150", "slow.txt": "6"}).event())
        running.feed(project.propose(2, {"note.txt": "nothing to do with time", "slow.txt": "6"}).event())
        running.wait_for_phase(1, "build patch")
        os.kill(running.pid("web"), signal.SIGKILL)
        assert (running.wait_for_vote(1), running.wait_for_vote(2)) == (-1, 1)
        builds = [running.build(number) for number in (1, 2)]
        running.plane.close()
    assert {build.machine for build in builds if build} == set(MACHINES)
    assert [build.attempt for build in builds if build] == [1, 1]
    assert list(stored.glob("??/??/*.gz"))
    assert {*tmp_path.rglob("??/??/*.gz")} == {*stored.glob("??/??/*.gz")}
    assert not [path for name in MACHINES for path in (tmp_path / name).rglob("*.gz")]
