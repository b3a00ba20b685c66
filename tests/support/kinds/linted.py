"""Patch sets for linters in memory, and a sandbox that replays their output."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from service.domain.building.sandbox_command import Completed
from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.project_file import parse_job
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.kinds.runners import RUNNERS
from service.steps.building.session import BuildSession
from tests.support.building.build_host import MemoryClaimed, Silence, memory_host
from tests.support.building.memory_source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from service.domain.building.sandbox_command import Command
    from service.domain.measuring.lint.touched_lines import Lines
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import ByteSink, Sandbox


SUCCESS = Completed(0, 0.1)


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


@dataclass
class ReplayedTidy:
    """A sandbox in which clang-tidy prints ``printed`` for each unit: exit code, if it ended, and output.

    ``includes`` has the names in the include lines of each file. Without ``units``, the build writes no
    ``compile_commands.json``. ``builds`` are the ends of the first build commands; the others succeed.
    """

    units: Sequence[str]
    printed: Mapping[str, tuple[int | None, bytes]] = field(default_factory=dict)
    includes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    builds: list[Completed] = field(default_factory=list)
    end: Completed = SUCCESS
    checks: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        watch()
        assert log is not None
        script, arguments = command.argv[2], command.argv[4:]
        out = Path(command.mounts[-1].source) if command.mounts else Path()
        if "--version" in script:
            log.write(b"Debian LLVM version 14.0.6\n  Optimized build.\n")
        elif "grep" in script:
            self._list(out)
        elif "clang-tidy" in script:
            self.checks.append(arguments)
            for number, file in enumerate(arguments[3:]):
                code, output = self.printed.get(file.removeprefix("/src/"), (0, b""))
                (out / str(number)).write_bytes(output)
                if code is not None:
                    (out / f"{number}.code").write_text(f"{code}\n")
            return self.end
        else:
            end = self.builds.pop(0) if self.builds else SUCCESS
            log.write(b"/src/gen.cc:3:1: error: no\n" if end.exit_code else b"")
            return end
        return Completed(0, 0.0)

    def in_force(self) -> Mapping[str, str]:
        return {"isolation": "none"}

    def _list(self, out: Path) -> None:
        entries = [{"directory": "/src", "file": f"/src/{unit}"} for unit in self.units]
        if entries:
            (out / "compile_commands.json").write_text(json.dumps(entries))
        lines = [f'./{path}\0#include "{name}"' for path, names in self.includes.items() for name in names]
        (out / "includes").write_text("\n".join(lines))


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
    host = replace(memory_host(source, sandbox, scratch), clock=monotonic)  # type: ignore[arg-type]
    return RUNNERS[job.kind](BuildSession(MemoryClaimed(), spec, host, Silence()))
