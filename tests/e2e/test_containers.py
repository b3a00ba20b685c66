"""The image and the compose file, built and started for real: `make compose-test`, which takes minutes."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.waiting import eventually
from tools.compose_up import ADDRESS, WITHOUT_PROXY, wait_until_ready
from tools.demo.events import patchset_created
from tools.demo.repository import DemoRepository
from tools.demo.scenario import SCENARIOS
from tools.stand_ins.images import BASE, IMAGE, ROOT, STAND_IN, build_images, docker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.e2e,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("dockerd", "docker-compose", "mmdebstrap"))),
        reason="needs root, Docker, docker-compose and mmdebstrap",
    ),
]

LOG: Final = logging.getLogger(__name__)
PARTS: Final = ("broker-certificate", "migrate", "web", "worker-control", "scheduler", "worker-perf")
MOUNTED: Final = ("service/adapters/broker_users.conf", "service/adapters/postgres/access/roles.sql")
PATIENCE: Final = 1200.0  # seconds for a vote; two minutes on two idle CPUs


def answers() -> bool:
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def daemon() -> Iterator[None]:
    """The daemon that runs here, or else one whose images end with the test."""
    if answers():
        yield
        return
    with TemporaryDirectory(dir="/var/tmp", prefix="benchgate-docker-") as top:
        places = [f"--{name}={top}/{name}" for name in ("data-root", "exec-root", "pidfile")]
        with (
            Path(top, "log").open("w") as log,
            subprocess.Popen(["dockerd", *places], stdout=log, stderr=log) as process,
        ):
            try:
                assert eventually(answers), Path(top, "log").read_text()
                yield
            finally:
                process.terminate()


@pytest.fixture(scope="module")
def images(daemon: None) -> Iterator[None]:
    try:
        LOG.info("the image has %.2f GB", build_images() / 1e9)
        yield
    finally:
        subprocess.run(["docker", "image", "rm", "--force", IMAGE, STAND_IN, BASE], check=False)


@pytest.fixture(params=["1.29", "2"])
def site(
    images: None, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The command of Compose, and a directory in which `make compose-up` has started everything."""
    for name in ("docker-compose.yml", *MOUNTED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    found = {**dict.fromkeys(PARTS, IMAGE), "postgres": STAND_IN, "redis": STAND_IN}
    stand_ins = {"services": {name: {"image": image} for name, image in found.items()}}
    (tmp_path / "stand-ins.yml").write_text(json.dumps(stand_ins), encoding="utf-8")
    monkeypatch.setenv("COMPOSE_FILE", "docker-compose.yml:stand-ins.yml")
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "benchgate-test")
    monkeypatch.setenv("BENCHGATE_WAITS_FOR_QUIET", "false")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    compose = _compose(request.param, tmp_path, monkeypatch)
    try:
        subprocess.run([sys.executable, "-m", "tools.compose_up"], cwd=tmp_path, check=True)
        yield tmp_path, compose
    finally:
        subprocess.run([*compose, "logs", "--no-color", "--tail=30"], cwd=tmp_path, check=False)
        subprocess.run([*compose, "down", "--volumes"], cwd=tmp_path, check=True)


def _compose(version: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    if version == "2":
        if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
            pytest.skip("Compose 2 is not installed")
        return ("docker", "compose")
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))  # it has no plug-ins
    return ("docker-compose",)


def test_the_containers_vote_on_a_faster_and_a_slower_change_and_restart(
    site: tuple[Path, tuple[str, ...]],
) -> None:
    folder, compose = site
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    repository = DemoRepository(folder / "var" / "git" / "kv")
    (folder / "var" / "git").chmod(0o755)
    repository.create(ROOT / "native")
    for upload in SCENARIOS["executor"]:
        event = patchset_created(repository.propose(upload), int(time.time()))
        replay = [*compose, "exec", "-T", "web", "benchgate", "replay", "--home", "/var/lib/benchgate", "-"]
        begin = time.monotonic()
        subprocess.run(replay, cwd=folder, input=event, check=True)
        vote = _vote(upload.change)
        LOG.info("change %s has the vote %s after %.0f s", upload.change, vote, time.monotonic() - begin)
        assert vote == upload.vote
    web = subprocess.check_output([*compose, "ps", "-q", "web"], cwd=folder, text=True).strip()
    before = docker("inspect", "--format={{.State.Pid}}", web)
    os.kill(int(before), signal.SIGKILL)
    assert eventually(lambda: docker("inspect", "--format={{.State.Pid}}", web) not in {"0", before})
    assert wait_until_ready()
    LOG.info("the web part was killed, and is ready again")


def _vote(change: int) -> int | None:
    """Wait for the vote in the API's answer, which is 404 before the change is known."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with (
            suppress(OSError),
            WITHOUT_PROXY.open(f"{ADDRESS}/api/v1/changes/{change}/patch-sets/1") as answer,
        ):
            if decisions := json.load(answer)["decisions"]:
                vote: int | None = decisions[0]["vote"]
                return vote
        time.sleep(1)  # the machine's CPUs are being measured
    return None
