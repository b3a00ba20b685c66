"""Build a revision in its own source directory, for kinds that need no second copy."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.compile_errors import errors_in
from service.domain.building.missing_downloads import missing_download
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.failures.failure import FailureKind, distinct, failure_at_limit, failure_of
from service.domain.failures.output.patterns import failures_in
from service.domain.machines.slots import share_of_cpus
from service.domain.project.dependencies import shell_opening
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.values.errors import CommandFailed, Incomplete, ProgramMissing
from service.domain.wording.build_causes import not_copied
from service.steps.building.compiler_cache import compiler_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from service.domain.building.missing_downloads import MissingDownload
    from service.domain.building.sandbox_command import Completed
    from service.domain.building.spec import Revision
    from service.domain.failures.failure import Failure
    from service.domain.project.build_commands import BuildCommands
    from service.steps.building.session import BuildSession

BUILD: Final = "build"
_FAILED: Final = " failed"
STAGES: Final = MappingProxyType({"configure": Stage.CONFIGURE, "compile": Stage.COMPILE})


class NotBuilt(CommandFailed):
    """A side cannot be built: the failed stage, and the failure."""

    def __init__(self, stage: Stage, failure: CommandFailed, *, is_foreign: bool = False) -> None:
        super().__init__(failure.what, failure.end, failure.tail, failure.tree, failure.limit)
        elsewhere = failure.elsewhere if isinstance(failure, ProgramMissing) else ""
        self.ended = SideEnd(stage, failure.what, failure.end, elsewhere=elsewhere, is_foreign=is_foreign)


@contextmanager
def built_sources(
    session: BuildSession,
    revision: Revision,
    env: Mapping[str, str] = MappingProxyType({}),
    *,
    last: Stage = Stage.COMPILE,
) -> Iterator[Path]:
    """Create a directory with the sources of a revision, and run the job's build commands in it.

    Args:
        session: the build.
        revision: the side.
        env: variables besides those of every command.
        last: the stage that ends the build.

    Raises:
        NotBuilt: the sources are incomplete, or a build command failed.
    """
    with complete_sources(session, revision) as tree:
        with compiler_cache(session, revision) as cache:
            for phase in (phase for phase, stage in STAGES.items() if stage <= last):
                with at_stage(STAGES[phase]):
                    run_phase(session, tree, phase, mounts=cache.mounts, env={**cache.env, **env})
        yield tree


@contextmanager
def complete_sources(session: BuildSession, revision: Revision) -> Iterator[Path]:
    """Create a directory with the sources of a revision, and all repositories of the build beside them.

    The log names missing files that the manifest copies.

    Raises:
        NotBuilt: one of these cannot be had.
    """
    with ExitStack() as stack:
        try:
            tree = stack.enter_context(session.checkout(revision))
        except Incomplete as missing:
            session.note(str(missing))
            failure = CommandFailed(missing.what, missing.why)
            raise NotBuilt(Stage.CHECKOUT, failure, is_foreign=missing.is_foreign) from missing
        for file in session.spec.workspace.files if session.spec.workspace else ():
            if not (file.is_link or os.path.lexists(tree / file.target)):
                session.note(not_copied(file.source, file.target))
        yield tree


@contextmanager
def at_stage(stage: Stage) -> Iterator[None]:
    """Raise ``NotBuilt`` with the stage if a command fails or a program is missing."""
    try:
        yield
    except ProgramMissing as failure:
        raise NotBuilt(Stage.PROGRAM, failure) from failure
    except CommandFailed as failure:
        raise NotBuilt(stage, failure) from failure


def failures_of_build(failed: NotBuilt, log: bytes) -> tuple[tuple[Failure, ...], bool]:
    """Return the reasons why sources were not built, and whether there are more.

    Args:
        failed: the end of the build commands.
        log: their output.
    """
    command = failed.what.removesuffix(_FAILED)
    if failed.limit:
        return (failure_at_limit(StoppedBy(failed.limit), "", str(failed)),), False
    named = failures_in(log.splitlines(), failed.tree) if failed.ended.stage in STAGES.values() else ()
    found, is_cut = distinct(named)
    return found or (failure_of(FailureKind.COMMAND, command, failed.end, str(failed)),), is_cut


def download_missed(failed: NotBuilt, log: bytes) -> MissingDownload | None:
    """Find the failed download that stopped a build; None if there is another reason.

    An error of the compiler or linker is another one: a build may go on without a download.
    """
    if failed.limit or failed.ended.stage not in STAGES.values() or errors_in(log, failed.tree):
        return None
    missing = missing_download(log)
    if missing and any(each.kind is FailureKind.LINK for each in failures_in(log.splitlines(), failed.tree)):
        return None
    return missing


def run_phase(
    session: BuildSession,
    tree: Path,
    phase: str,
    *,
    opening: str = "",
    mounts: tuple[Mount, ...] = (),
    env: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run a build command of the project if the job has one.

    Args:
        session: the build.
        tree: the sources.
        phase: ``configure`` or ``compile``.
        opening: lines of shell before the command.
        mounts: directories besides the sources.
        env: variables besides those of every command.

    Raises:
        CommandFailed: it ended with another exit code than 0, or at a limit.
    """
    build: BuildCommands | None = session.spec.job.configuration.build
    if build is not None and (line := getattr(build, phase)):
        session.progress.say(f"{session.claimed.name}: {phase}")
        session.log.write(f"== {phase}: {line}\n".encode())
        # The log keeps the beginning and the end of any output, so a long one ends no build.
        limits = Limits(wall_seconds=build.timeout, memory_bytes=build.memory, log_bytes=None)
        # Builds also run programs, for example to list their tests. ThreadSanitizer of GCC 12 ends at once if
        # the addresses are too random.
        script = shell_opening(build.dependencies) + opening + line
        command = Command(("sh", "-c", script), mounts, env=env, aslr=False, limits=limits)
        must_succeed(session, tree, command, f"{phase}{_FAILED}")


def must_succeed(session: BuildSession, tree: Path, command: Command, failed: str) -> None:
    """Run a command in the sources; raises CommandFailed, described by ``failed``, unless it succeeds."""
    done = run_in_sources(session, tree, command)
    if not done.is_success:
        raise CommandFailed(failed, done.end, tree=str(tree.resolve()), limit=done.stopped_by or "")


def run_in_sources(session: BuildSession, tree: Path, command: Command) -> Completed:
    """Run a command in ``/src``, the sources, with their build directory as ``/build``.

    Both are writable; ``/deps``, the dependencies, is not. Output goes to the build's log. A build that
    compares nothing may run beside others, so its commands start no more processes than its share of the
    CPUs. The limit on disk space is that of the build commands: a later command finds what they wrote.
    """
    host, build = session.host, session.spec.job.configuration.build
    sources = (Mount(tree, "/src", writable=True), Mount(build_directory(tree), "/build", writable=True))
    is_whole = session.spec.job.compares or not host.host_cpus
    shares = {} if is_whole else share_of_cpus(len(host.host_cpus), host.builds_beside)
    placed = replace(
        command,
        mounts=(*sources, *session.dependency_mounts, *command.mounts),
        cwd="/src",
        env={**shares, **command.env},
        cpus=command.cpus or host.host_cpus or None,
        limits=replace(command.limits, disk_bytes=build.disk) if build else command.limits,
    )
    return host.sandbox.run(placed, log=session.log, watch=session.watch)


def build_directory(tree: Path) -> Path:
    """Return ``build`` in the sources, mounted as /build too; never a link that leads somewhere else."""
    build = tree / BUILD
    if build.is_symlink() or (build.exists() and not build.is_dir()):
        raise CommandFailed("configure", "the source tree has a file or link named 'build' at its top")
    build.mkdir(exist_ok=True)
    return build
