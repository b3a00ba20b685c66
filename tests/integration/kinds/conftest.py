"""A real build host, on which tests run jobs of a project file."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.domain.project.project_file import parse_project_file
from service.steps.machines.execute import execute_build
from service.steps.runs.gate import gate, local_spec
from service.wiring.build_host import make_build_host
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import Silence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.building.spec import BuildSpec
    from service.domain.runs.machine_report import MachineReport
    from service.domain.sources.workspace import Workspace
    from service.ports.sources import Source
    from service.steps.building.session import BuildHost
    from service.steps.runs.gate import LocalVerdict


class Machine:
    """A machine with a sandbox, and a repository that it fetches from."""

    def __init__(self, repository: Repository, host: BuildHost, cache: Path) -> None:
        self._repository = repository
        self._cache = cache
        self.host = host
        self.workspace: Workspace | None = None
        self.log = b""

    def give(self, repository: Repository, source: Source) -> None:
        """Give the machine another repository."""
        self._repository = repository
        self.host = replace(self.host, source=source)

    def commits(
        self, before: Mapping[str, bytes | Path], after: Mapping[str, bytes | Path]
    ) -> tuple[str, str]:
        """Fetch a commit with the first files, and one with the second on top of it."""
        base = self._repository.commit(dict(before))
        patch = self._repository.commit(dict(after), base)
        self.host.source.fetch("kv", base, patch)
        return base, patch

    def run(
        self,
        files: Mapping[str, bytes | Path],
        job: str,
        before: Mapping[str, bytes | Path] = MappingProxyType({"README": b"before\n"}),
    ) -> MachineReport:
        """Run the job with these lines on a commit with these files; its parent has those of ``before``."""
        build, _ = self._build(before, files, job)
        report = execute_build(build, self.host, Silence())
        self.log = build.log
        assert report is not None
        return report

    def compare(
        self, before: dict[str, bytes | Path], after: dict[str, bytes | Path], job: str
    ) -> LocalVerdict:
        """Run the job with these lines on a commit and its parent, and judge what it measured."""
        build, spec = self._build(before, after, job)
        verdict = gate(spec, build, self.host, Silence())
        self.log = build.log
        return verdict

    def _build(
        self, before: Mapping[str, bytes | Path], after: Mapping[str, bytes | Path], job: str
    ) -> tuple[LocalBuild, BuildSpec]:
        base, patch = self.commits(before, after)
        parsed = parse_project_file(f"version: 1\njobs:\n  job:\n{job}").job("job")
        assert not parsed.problem
        spec = replace(local_spec(self.host.source, "kv", base, patch, parsed), workspace=self.workspace)
        return LocalBuild(spec, "seed", self._cache), spec


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Machine:
    repository = Repository(tmp_path_factory.mktemp("repository"))
    home = tmp_path_factory.mktemp("home")
    host = make_build_host(home, lambda _: str(repository.path), (), is_sandboxed=True)
    return Machine(repository, host, tmp_path / "cache")
