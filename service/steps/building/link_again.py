"""Relink a build's programs and shared objects in an order that a seed chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.values.errors import CommandFailed
from service.steps.building.build_sources import must_succeed, run_in_sources, run_phase

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.building.compiler_cache import Cached
    from service.steps.building.session import BuildSession

# Without a sandbox the runner names the directories in these variables.
_WITH_LINKER: Final = 'export COMPILER_PATH="${BENCHGATE_LINKERS:-/linkers}"\n'
_RECORDED: Final = 'export BENCHGATE_LINKED="${BENCHGATE_LINKED:-/linked}"\n'
_SCRIPT: Final = 'exec sh "${BENCHGATE_LINKERS:-/linkers}/$0" "$@"'
_SOME: Final = 3  # the exit code of scripts that found or put back shared objects
_STAYING: Final = (
    "missing",
    "all",
)  # the shared objects that are put back after the first try, after the second


@dataclass(frozen=True, slots=True)
class Relinking:
    """Link the programs and shared objects of compiled sources again and again.

    The linker does so alone if it can, from its record of the first time. Otherwise they are removed, and the
    compile command runs again: an incremental build links and does not compile, but nothing forces it to. A
    shared object is removed only if the compile command linked it by Benchgate's linker: there may be no rule
    for one from elsewhere. One that is not made again is put back, and stays from then on.
    """

    session: BuildSession
    tree: Path
    cache: Cached
    linkers: Mount
    linked: Mount
    has_shared: bool = False

    def compile(self, seed: int | None = None) -> None:
        """Run the compile command; a seed makes it shuffle what it links."""
        is_first = seed is None
        env = {**self.cache.env, **({} if is_first else {"BENCHGATE_RELINK_SEED": str(seed)})}
        opening = _WITH_LINKER + (_RECORDED if is_first else "")
        mounts = (self.linkers, *self.cache.mounts, *((self.linked,) if is_first else ()))
        run_phase(self.session, self.tree, "compile", opening=opening, mounts=mounts, env=env)

    def link(self, seed: int | None = None) -> None:
        """Link all again by the linker alone; without a seed as the first time.

        What it has not linked is missing then, and so may be all else if this raises CommandFailed.
        """
        env = {} if seed is None else {"BENCHGATE_RELINK_SEED": str(seed)}
        command = replace(self._command("link.sh", *self.session.spec.job.benchmark.programs), env=env)
        must_succeed(self.session, self.tree, command, "linking again failed")

    def build(self, seed: int) -> None:
        """Run the compile command to link all again.

        Raises:
            CommandFailed: a command fails also when all shared objects stay.
        """
        for staying in _STAYING:
            failure = self._remake(seed)
            end = "failed" if failure else "succeeded"
            if not (self.has_shared and self.is_some("put_back.sh", end, staying)):
                break
        else:
            failure = self._remake(seed)
        if failure is not None:
            raise failure

    def is_some(self, script: str, *arguments: str) -> bool:
        """Run a script beside the linker; return whether it found or put back any shared object."""
        done = run_in_sources(self.session, self.tree, self._command(script, *arguments))
        if done.is_success:
            return False
        if done.stopped_by or done.exit_code != _SOME:
            raise CommandFailed("relinking", f"{script}: {done.end}")
        return True

    def _remake(self, seed: int) -> CommandFailed | None:
        """Remove all and run the compile command; return its failure, or raise at a limit."""
        removal = self._command("remove.sh", *self.session.spec.job.benchmark.programs)
        must_succeed(self.session, self.tree, removal, "removing the programs failed")
        try:
            self.compile(seed)
        except CommandFailed as failure:
            if failure.limit:
                raise
            return failure
        return None

    def _command(self, script: str, *arguments: str) -> Command:
        build = self.session.spec.job.benchmark.build
        limits = Limits(wall_seconds=build.timeout, memory_bytes=build.memory)
        mounts = (self.linkers, self.linked)
        return Command(("sh", "-c", _SCRIPT, script, *arguments), mounts, limits=limits)


def compile_for_relinking(
    session: BuildSession, tree: Path, cache: Cached, linkers: Path, linked: Path
) -> Relinking:
    """Configure and compile with the linker that records what it links.

    Args:
        session: the build.
        tree: the sources.
        cache: the compiler cache of the revision.
        linkers: the linker and the scripts beside it.
        linked: an empty directory, for the linker's record and copies of the shared objects.

    Raises:
        CommandFailed: a command fails.
    """
    compiled = Relinking(
        session, tree, cache, Mount(linkers, "/linkers"), Mount(linked, "/linked", writable=True)
    )
    mounts = (compiled.linkers, *cache.mounts)
    run_phase(session, tree, "configure", opening=_WITH_LINKER, mounts=mounts, env=cache.env)
    compiled.compile()
    return replace(compiled, has_shared=compiled.is_some("find_shared.sh"))
