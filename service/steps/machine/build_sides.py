"""Turns a source tree into programs: from the binary cache where it can, else in a sandbox."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final

from service.domain.building.binary_key import BinaryKey
from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.comparison.link_layout import VARIANTS
from service.domain.errors import CommandFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from service.domain.building.spec import Revision
    from service.domain.machine.environment import Load
    from service.domain.project.job import Job
    from service.ports.building import Artifacts, Binaries, Packer, Sandbox, Source
    from service.ports.inspection import Inspector

BUILD: Final = "build"
# Without a sandbox the runner says in BENCHGATE_LINKERS and BENCHGATE_BUILD where the directories are.
_WITH_LINKER: Final = 'export COMPILER_PATH="${BENCHGATE_LINKERS:-/linkers}"\n'
# A program may be a link to where it was linked; nothing outside the build directory is removed.
_REMOVE: Final = """\
built=$(readlink -f build)
for program; do
  real=$(readlink -f "$program") || continue
  case $real in
    "$built"/* | "${BENCHGATE_BUILD:-/build}"/*) rm -f "$real" "$program" ;;
  esac
done
"""


@dataclass(frozen=True, slots=True)
class BuildHost:
    """What building and measuring use on one machine.

    ``toolchain`` is the fingerprint of the compilers: base and patch must share it. ``cpus`` are the CPUs
    that measured programs may use, ``host_cpus`` all that this machine offers: nothing is measured beside
    a build, so a build may use them. Where they are empty, every CPU is meant.
    """

    source: Source
    sandbox: Sandbox
    artifacts: Artifacts
    packer: Packer
    inspector: Inspector
    toolchain: str
    cpus: tuple[int, ...]
    scratch: Path
    read_load: Callable[[], Load]
    host_cpus: tuple[int, ...] = ()
    linkers: Path | None = None  # programs that shuffle what they link; None: nothing is linked again
    clock: Callable[[], float] = monotonic  # seconds from any start; the machine-time budget runs on it


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What is to be built, and who follows it."""

    host: BuildHost
    project: str
    revision: Revision
    job: Job
    log: BinaryIO
    watch: Callable[[], None]


@contextmanager
def built_tree(
    host: BuildHost,
    project: str,
    revision: Revision,
    job: Job,
    binaries: Binaries,
    log: BinaryIO,
    watch: Callable[[], None],
    variant: int = 0,
) -> Iterator[Path]:
    """A directory with the sources of a revision and its built programs under ``build/``.

    Both sides of a comparison get theirs in the same way: fresh sources, programs unpacked from an
    artifact. ``CommandFailed`` is raised where the project's own commands fail.

    Args:
        host: where it is built.
        project: whose sources they are.
        revision: the side.
        job: its build commands and programs.
        binaries: those that were built before.
        log: gets what the commands say.
        watch: called several times a second; ends the work by raising.
        variant: 0: the programs as the project links them; else one of
            :data:`service.domain.comparison.link_layout.VARIANTS`, the same objects in an order of its own.
    """
    order = CommandRequest(host, project, revision, job, log, watch)
    key = BinaryKey(revision.tree, job.build_hash, host.toolchain, revision.trust)
    wanted = key.relinked(variant) if variant else key

    def build() -> str:
        made = _relink(order, key) if variant else {key: _build(order)}
        for each, artifact in made.items():
            binaries.keep(each, artifact, {"revision": revision.commit, "tree": revision.tree})
        return made[wanted]

    artifact = binaries.find(wanted) or build()
    with (
        TemporaryDirectory(dir=host.scratch) as spare,
        host.source.checkout(project, revision.commit) as tree,
    ):
        archive = host.scratch / spare / "binary.tar"
        try:
            host.artifacts.get_file(artifact, archive)
        except NotFound:
            # It was kept, and its bytes were lost since.
            host.artifacts.get_file(build(), archive)
        host.packer.unpack(host.sandbox, archive, _build_directory(tree), watch)
        yield tree


def _build(order: CommandRequest) -> str:
    with order.host.source.checkout(order.project, order.revision.commit) as tree:
        for what in ("configure", "compile"):
            if line := getattr(order.job.benchmark.build, what):
                _run(order, tree, what, line)
        return _pack(order, tree)


def _relink(order: CommandRequest, key: BinaryKey) -> dict[BinaryKey, str]:
    """The programs of all variants: compiled once, and linked again and again.

    Only the programs are removed in between, so that a build which knows what is up to date links and does
    not compile. What lies in shared objects of the project keeps its place.

    Raises:
        CommandFailed: a command fails, or the order of objects makes no difference to the programs: they
            are linked by a linker that cannot be replaced, or the build copies them from elsewhere.
    """
    host, build = order.host, order.job.benchmark.build
    if host.linkers is None or not build.compile:
        raise CommandFailed("linking again", "there is no linker or no command for it")
    made: dict[BinaryKey, str] = {}
    with host.source.checkout(order.project, order.revision.commit) as tree:
        for what in ("configure", "compile"):
            if line := getattr(build, what):
                _run(order, tree, what, _WITH_LINKER + line, linkers=host.linkers)
        for variant in VARIANTS:
            again = key.relinked(variant)
            _remove_programs(order, tree)
            env = {"BENCHGATE_RELINK_SEED": str(again.link_seed)}
            _run(order, tree, "compile", _WITH_LINKER + build.compile, linkers=host.linkers, env=env)
            made[again] = _pack(order, tree)
    if len(set(made.values())) < len(made):
        raise CommandFailed("linking again", "the order of objects makes no difference to the programs")
    return made


def _run(
    order: CommandRequest,
    tree: Path,
    what: str,
    line: str,
    *,
    linkers: Path | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run a build command of the project; ``linkers`` are found before the system's by what it calls."""
    order.log.write(f"== {what}: {line.removeprefix(_WITH_LINKER)}\n".encode())
    found = (Mount(linkers, "/linkers"),) if linkers else ()
    _sandboxed(order, tree, ("sh", "-c", line), f"{what} failed", found, env)


def _remove_programs(order: CommandRequest, tree: Path) -> None:
    programs = [suite.program for suite in order.job.benchmark.suites]
    _sandboxed(order, tree, ("sh", "-c", _REMOVE, "remove", *programs), "removing the programs failed")


def _sandboxed(
    order: CommandRequest,
    tree: Path,
    argv: tuple[str, ...],
    failed: str,
    more: tuple[Mount, ...] = (),
    env: Mapping[str, str] = MappingProxyType({}),
) -> None:
    host = order.host
    sources = (Mount(tree, "/src", writable=True), Mount(_build_directory(tree), "/build", writable=True))
    limits = Limits(wall_seconds=order.job.benchmark.build.timeout)
    command = Command(argv, (*sources, *more), "/src", env, host.host_cpus or None, limits=limits)
    done = host.sandbox.run(command, log=order.log, watch=order.watch)
    if not done.is_success:
        raise CommandFailed(failed, done.end, tree=str(tree.resolve()))


def _pack(order: CommandRequest, tree: Path) -> str:
    host, job = order.host, order.job
    programs = [suite.program for suite in job.benchmark.suites]
    with TemporaryDirectory(dir=host.scratch) as spare:
        out = host.scratch / spare
        archive = host.packer.pack(
            host.sandbox, _build_directory(tree), programs, job.benchmark.build.keep, out, order.watch
        )
        return host.artifacts.put_file(archive)


def _build_directory(tree: Path) -> Path:
    """``build`` in the sources, seen as /build too; never a link that leads somewhere else."""
    build = tree / BUILD
    if build.is_symlink() or (build.exists() and not build.is_dir()):
        raise CommandFailed("configure", "the source tree has a file or link named 'build' at its top")
    build.mkdir(exist_ok=True)
    return build
