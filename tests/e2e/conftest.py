"""A whole Benchgate, started as `benchgate up` starts it, with short leases."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.cli.operating.replay import feed
from service.cli.services.start_site import running_site
from service.config.control import ControlSettings
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeAddress, ChangeKey
from service.wiring.control import Control, build_control
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from service.adapters.embedded.children import Supervisor
    from service.cli.services.child_processes import Site
    from service.ports.runs.shown import Build

PATIENCE = 240.0  # seconds; a vote takes about five on an idle machine, and a hundred on a busy one
LEASE = 4  # seconds
SECRET = "a-secret-of-the-tests-0123"
# Besides the benchmark, a job of another CI and one of CTest. They have names of files that no other job has,
# so that a change runs one job.
JOBS = """\
  unit:
    kind: external
    reuse: equal-trees
    paths: ["*.java"]
  ctest:
    kind: ctest
    pool: perf
    paths: ["*.case"]
    build: {configure: cmake -S . -B build, compile: cmake --build build}
commands: {rerun: committers, override: reviewers}
"""
CTEST = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20)
project(tiny LANGUAGES NONE)
enable_testing()
foreach(name replication store)
  add_test(NAME ${name} COMMAND sh ${CMAKE_SOURCE_DIR}/${name}.sh ${CMAKE_SOURCE_DIR})
endforeach()
""",
    "replication.sh": '[ ! -f "$1/late.case" ] || { echo "waited $(cat "$1/late.case") ms"; exit 1; }\n',
    "store.sh": '[ ! -f "$1/broken.case" ] || { echo "not stored"; exit 1; }\n',
}


class RunningSite:
    """A started Benchgate with its project, and the parts of its state that tests read."""

    def __init__(
        self, site: Site, supervisor: Supervisor, project: TinyProject, patience: float = PATIENCE
    ) -> None:
        self.site = site
        self.patience = patience
        self.supervisor = supervisor
        self.project = project
        self.plane: Control = build_control(
            ControlSettings(
                home=site.home,
                database_url=site.database_url,
                redis_url=site.redis_url,
                base_url=site.base_url,
                instance="e2e",
            )
        )

    def feed(self, event: bytes) -> None:
        """Replay an event."""
        feed(self.plane, "e2e", event)

    def wait(self, is_there: Callable[[], bool], what: str) -> None:
        """Keep the parts running until something is there."""
        deadline = time.monotonic() + self.patience
        self.supervisor.run(lambda: is_there() or time.monotonic() > deadline)
        assert time.monotonic() <= deadline, f"{what} did not come; logs in {self.site.home / 'log'}"

    def vote(self, number: int) -> int | None:
        """The service's vote on a change now."""
        by_label = self.plane.server.change(ChangeKey("e2e", number)).votes
        return next((value for by_user in by_label.values() for value in by_user.values()), None)

    def messages(self, number: int) -> list[str]:
        """The messages on a change."""
        return [message.shown for message in self.plane.server.messages(ChangeKey("e2e", number))]

    def wait_for_vote(self, number: int) -> int | None:
        """Wait for a message, then return the vote."""
        self.wait(lambda: bool(self.messages(number)), f"the message on change {number}")
        return self.vote(number)

    def build(self, number: int, patch_set: int = 1) -> Build | None:
        """The newest build of a patch set that was not left out."""
        builds = self.plane.reading.patch_set(ChangeAddress(number), patch_set).builds
        return next((build for build in builds if build.outcome is not Outcome.NOT_BUILT), None)

    def wait_for_phase(self, number: int, phase: str) -> None:
        """Wait until the newest build of a change is in a phase."""

        def is_there() -> bool:
            with suppress(NotFound):
                build = self.build(number)
                return build is not None and build.phase.partition(",")[0] == phase
            return False

        self.wait(is_there, f"phase {phase} of change {number}")

    def pid(self, name: str) -> int:
        """The process of a part."""
        return next(s.pid for s in self.supervisor.statuses() if s.name == name and s.pid is not None)


def sleepers(seconds: str) -> list[str]:
    """Processes that sleep for exactly this time."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[:1] == [b"sleep"] and seconds.encode() in words:
                    found.append(entry.name)
    return found


def start_settings(project: TinyProject, lease: int = LEASE) -> dict[str, str]:
    """The BENCHGATE_ variables of the tests' sites."""
    return {
        "BENCHGATE_GIT_URL": str(project.path),
        "BENCHGATE_INSTANCE": "e2e",
        "BENCHGATE_LEASE_SECONDS": str(lease),
        "BENCHGATE_WAITS_FOR_QUIET": "false",
        "BENCHGATE_WEBHOOK_SECRETS": f'["{SECRET}"]',
    }


@contextmanager
def started(
    root: Path, project: TinyProject, patience: float = PATIENCE, lease: int = LEASE
) -> Iterator[RunningSite]:
    """One Benchgate with its data below ``root``.

    Args:
        root: its directory.
        project: what it builds.
        patience: seconds to wait for anything of it.
        lease: seconds until a machine that does not respond counts as gone.
    """
    settings = start_settings(project, lease)
    with running_site(root / "var", 0, ("perf",), lambda _: None, settings) as (site, supervisor):
        found = RunningSite(site, supervisor, project, patience)
        yield found
        found.plane.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    """One Benchgate for the tests of several files; each uses its own changes."""
    root: Path = tmp_path_factory.mktemp("site")
    project = TinyProject(root / "tiny", JOBS)
    project.commit(CTEST)
    before, mask = {**os.environ}, os.umask(0o022)
    os.umask(mask)
    with started(root, project) as found:
        # Its settings are those of this process until the end, and tests of other files run here before that.
        its = {**os.environ}
        os.umask(mask)
        _replace_environment(before)
        yield found
        _replace_environment(its)


def _replace_environment(values: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(values)
