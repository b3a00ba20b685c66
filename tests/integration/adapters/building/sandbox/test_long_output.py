"""A build may write any amount; its log keeps the beginning and the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.spec import Revision
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.build_commands import BuildCommands
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.steps.building.build_log import BuildLog
from service.steps.building.build_sources import built_sources
from service.wiring.build_host import make_build_host
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import session_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

BYTES: Final = 200_000_000
KEPT: Final = 4 << 20
COMPILE: Final = f"echo first; yes 'a line of the output' | head -c {BYTES}; echo last >&2"


@pytest.mark.parametrize("is_sandboxed", [True, False])
def test_a_build_that_writes_200_mb_is_not_stopped(tmp_path: Path, *, is_sandboxed: bool) -> None:
    repository = Repository(tmp_path / "repository")
    host = make_build_host(tmp_path / "home", lambda _: str(repository.path), (), is_sandboxed=is_sandboxed)
    commit = repository.commit({"README": b"sources"})
    host.source.fetch("kv", "refs/heads/master")
    revision = Revision(commit, host.source.tree("kv", commit), "refs/heads/master", "local")
    job = Job(
        "perf",
        JobKind("benchmark"),
        BenchmarkConfiguration(build=BuildCommands(compile=COMPILE), suites=(Suite("a", "build/bench"),)),
    )
    with (tmp_path / "spool").open("w+b", buffering=0) as spool:
        log = BuildLog(spool, KEPT)
        with built_sources(replace(session_of(host, job), log=log), revision):
            assert log.mark() > BYTES
        begin = log.read(0, 1000)[1].splitlines()
        assert begin[1:3] == [b"first", b"a line of the output"]
        assert log.since(log.mark() - 5) == b"last\n"
        assert (tmp_path / "spool").stat().st_size == KEPT
