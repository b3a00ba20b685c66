"""Hold what a build works with: the claimed build, its host, its log and its progress."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, cast

from typing_extensions import TypeVar

from service.domain.building.compiler_cache import CACHE_BYTES
from service.domain.building.sandbox_command import Mount
from service.domain.project.configuration import Configuration
from service.domain.project.dependencies import DIRECTORY
from service.domain.values.errors import Drained, OutOfTime
from service.steps.building.build_log import LOG_BYTES, BuildLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from service.domain.building.spec import BuildSpec, Revision
    from service.domain.machines.environment import Load
    from service.domain.runs.machine_report import MachineReport
    from service.domain.verdict.explanation.explanation import Explanation
    from service.ports.building import (
        Artifacts,
        Inspector,
        OpenedFiles,
        Packer,
        Progress,
        Sandbox,
        Scratch,
    )
    from service.ports.machines import Claimed
    from service.ports.sources import Dependencies, Source


@dataclass(frozen=True, slots=True)
class CompilerCache:
    """Directory of all projects' caches, and the size limit of each in bytes."""

    directory: Path
    limit: int = CACHE_BYTES


Own_co = TypeVar("Own_co", bound=Configuration, default=Configuration, covariant=True)


@dataclass(frozen=True, slots=True)
class BuildHost:
    """The tools of one machine for building and measuring.

    ``toolchain`` is the fingerprint of ``tools``: base and patch must share it. ``cpus`` are the CPUs
    that measured programs may use, ``host_cpus`` all that this machine offers: nothing is measured beside
    a build, so a build may use them. Empty means every CPU.
    """

    source: Source
    sandbox: Sandbox
    artifacts: Artifacts
    packer: Packer
    inspector: Inspector
    opened_files: OpenedFiles
    toolchain: str
    cpus: tuple[int, ...]
    scratch: Scratch
    dependencies: Dependencies
    read_load: Callable[[], Load]
    runners: Mapping[str, Callable[[BuildSession[Any]], MachineReport]]  # the work on a build, by job kind
    # Explains what is slower after the report of a build, whose pairs are recorded; None: nothing does.
    explain: Callable[[BuildSession[Any]], Sequence[Explanation]] | None = None
    # Then measures claimed benchmarks that filters leave out, and packs their rows; None: nothing does.
    measure_left_out: Callable[[BuildSession[Any]], bytes] | None = None
    host_cpus: tuple[int, ...] = ()
    builds_beside: int = 1  # how many builds that compare nothing share the CPUs
    tools: Mapping[str, str] = field(default_factory=dict)  # the versions of the compilers and of the system
    linkers: Path | None = None  # programs that shuffle what they link; None: nothing is linked again
    compiler_cache: CompilerCache | None = None  # None: each build compiles all of its files
    log_bytes: int = LOG_BYTES  # of the log of a build are kept
    clock: Callable[[], float] = monotonic  # monotonic seconds; the machine-time budget runs on it
    machine: str = ""  # the name of the worker's machine; empty: a local gate's

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions of the results, as reports have them: the sandbox in force and the tools."""
        tools = dict(self.tools)
        return {"sandbox": dict(self.sandbox.in_force()), "toolchain": self.toolchain, "tools": tools}


@dataclass(frozen=True, slots=True)
class BuildSession(Generic[Own_co]):
    """One claimed build and its host, typed by the configuration of its job.

    ``spec`` is the parsed specification of ``claimed``. ``log`` gets the output of the build's commands.
    ``is_draining`` says whether this worker must stop. ``dependencies`` is the directory of the job's
    dependencies; None if it has none. ``deadline`` ends what runs, by the host's clock.
    """

    claimed: Claimed
    spec: BuildSpec
    host: BuildHost
    progress: Progress
    log: BuildLog = field(default_factory=BuildLog)
    is_draining: Callable[[], bool] = lambda: False
    dependencies: Path | None = None
    deadline: float = math.inf

    @property
    def own(self) -> Own_co:
        """The configuration of the job."""
        return cast("Own_co", self.spec.job.configuration)  # the kind of the job has read it

    @property
    def dependency_mounts(self) -> tuple[Mount, ...]:
        """The read-only mount of the dependencies, for commands and launches alike."""
        return () if self.dependencies is None else (Mount(self.dependencies, DIRECTORY),)

    def checkout(self, revision: Revision) -> AbstractContextManager[Path]:
        """Create a directory with all sources of the build, and a revision of the project among them."""
        spec = self.spec
        return self.host.source.checkout(spec.project, revision.commit, spec.workspace, watch=self.watch)

    def note(self, text: str) -> None:
        """Show a line that stays, and keep it in the build's log."""
        self.progress.note(text)
        self.log.write(f"== {text}\n".encode())

    def watch(self) -> None:
        """Raise Drained, Cancelled, Overdue, LeaseLost or OutOfTime if the work must end. Cheap."""
        if self.is_draining():
            raise Drained("the worker was asked to stop")
        self.claimed.watch()
        if self.host.clock() > self.deadline:
            raise OutOfTime("the deadline has passed")
