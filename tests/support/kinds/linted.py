"""Patch sets for linters in memory, and a sandbox that replays their output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service.domain.building.sandbox_command import Completed
from service.domain.building.spec import BuildSpec, Revision
from service.domain.errors import BadInput
from service.domain.identity import RunKind
from service.domain.project.project_file import parse_job
from service.steps.machine.session import BuildSession
from tests.support.build_host import MemoryClaimed, MemorySource, Silence, memory_host

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from service.domain.building.sandbox_command import Command
    from service.domain.decision.machine_report import MachineReport
    from service.domain.linting.touched_lines import Lines
    from service.ports.building import ByteSink, Sandbox


class TooMuch(MemorySource):
    """Every patch set changes too many files."""

    def changed_lines(self, project: str, base: str | None, patch: str, endings: Collection[str]) -> Lines:
        raise BadInput("9 such files differ")


@dataclass
class ReplayedTool:
    """A sandbox in which a linter prints ``outputs`` for the file that a command names."""

    outputs: Mapping[str, tuple[int, bytes]] = field(default_factory=dict)
    version: str = "Debian clang-format version 14.0.6\n"
    argv: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        watch()
        assert log is not None
        if "--version" in command.argv[2]:
            log.write(self.version.encode())
            return Completed(0 if self.version else 127, 0.0)
        self.argv.append(command.argv[4:])
        code, output = self.outputs.get(command.argv[4].removeprefix("./"), (0, b""))
        log.write(output)
        return Completed(code, 0.0)

    def in_force(self) -> Mapping[str, str]:
        return {"isolation": "none"}


def patch_set(
    before: Mapping[str, str] | None, after: Mapping[str, str], source: MemorySource | None = None
) -> MemorySource:
    """A repository with a parent, or none, and a patch set; both are named like their revisions."""
    source = source or MemorySource()
    if before is not None:
        source.commit("base", None, before)
    source.commit("patch", None if before is None else "base", after)
    return source


def lint(
    kind: str,
    source: MemorySource,
    sandbox: Sandbox,
    scratch: Path,
    **keys: Any,  # noqa: ANN401
) -> MachineReport:
    """Run a job of a kind on the patch set of a repository."""
    base, patch = (Revision(name, f"tree of {name}", name, "reviewed") for name in ("base", "patch"))
    job = parse_job("lint", {"kind": kind, **keys})
    assert not job.problem
    parent = base if "base" in source.commits else None
    spec = BuildSpec(RunKind.CHECK, "gerrit", "kv", "master", parent, patch, job)
    host = memory_host(source, sandbox, scratch)  # type: ignore[arg-type]
    report: MachineReport = job.kind.part("runner").run(BuildSession(MemoryClaimed(), spec, host, Silence()))
    return report
