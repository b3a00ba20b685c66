"""Turns a source tree into programs: from the binary cache where it can, else in a sandbox."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Final

from service.domain.binary import BinaryKey
from service.domain.command import Command, Limits, Mount
from service.domain.errors import CommandFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service.domain.machine import Load
    from service.domain.project_file import Job
    from service.domain.spec import Revision
    from service.ports import Artifacts, Binaries, Packer, Sandbox, Source

BUILD: Final = "build"


@dataclass(frozen=True, slots=True)
class Workshop:
    """What building and measuring use on one machine.

    ``toolchain`` is the fingerprint of the compilers: base and patch must share it. ``cpus`` are the CPUs
    that measured programs may use.
    """

    source: Source
    sandbox: Sandbox
    artifacts: Artifacts
    packer: Packer
    toolchain: str
    cpus: tuple[int, ...]
    scratch: Path
    read_load: Callable[[], Load]
    clock: Callable[[], float] = monotonic  # seconds from any start; the machine-time budget runs on it


@contextmanager
def built_tree(
    shop: Workshop,
    project: str,
    revision: Revision,
    job: Job,
    binaries: Binaries,
    log: BinaryIO,
    watch: Callable[[], None],
) -> Iterator[Path]:
    """A directory with the sources of a revision and its built programs under ``build/``.

    Both sides of a comparison get theirs in the same way: fresh sources, programs unpacked from an
    artifact. ``CommandFailed`` is raised where the project's own commands fail.
    """
    key = BinaryKey(revision.tree, job.build_hash, shop.toolchain, revision.trust)

    def build() -> str:
        artifact = _build(shop, project, revision, job, log, watch)
        binaries.keep(key, artifact, {"revision": revision.commit, "tree": revision.tree})
        return artifact

    artifact = binaries.find(key) or build()
    with (
        TemporaryDirectory(dir=shop.scratch) as spare,
        shop.source.checkout(project, revision.commit) as tree,
    ):
        archive = shop.scratch / spare / "binary.tar"
        try:
            shop.artifacts.get_file(artifact, archive)
        except NotFound:
            # It was kept, and its bytes were lost since.
            shop.artifacts.get_file(build(), archive)
        shop.packer.unpack(shop.sandbox, archive, _build_directory(tree), watch)
        yield tree


def _build(
    shop: Workshop, project: str, revision: Revision, job: Job, log: BinaryIO, watch: Callable[[], None]
) -> str:
    with (
        shop.source.checkout(project, revision.commit) as tree,
        TemporaryDirectory(dir=shop.scratch) as spare,
    ):
        build = _build_directory(tree)
        mounts = (Mount(tree, "/src", writable=True), Mount(build, "/build", writable=True))
        for what in ("configure", "compile"):
            line = getattr(job.build, what)
            if not line:
                continue
            log.write(f"== {what}: {line}\n".encode())
            command = Command(
                ("sh", "-c", line), mounts, cwd="/src", limits=Limits(wall_seconds=job.build.timeout)
            )
            done = shop.sandbox.run(command, log=log, watch=watch)
            if not done.is_success:
                raise CommandFailed(f"{what} failed", done.end)
        programs = [suite.program for suite in job.suites]
        archive = shop.packer.pack(shop.sandbox, build, programs, job.build.keep, shop.scratch / spare, watch)
        return shop.artifacts.put_file(archive)


def _build_directory(tree: Path) -> Path:
    """``build`` in the sources, seen as /build too; never a link that leads somewhere else."""
    build = tree / BUILD
    if build.is_symlink() or (build.exists() and not build.is_dir()):
        raise CommandFailed("configure", "the source tree has a file or link named 'build' at its top")
    build.mkdir(exist_ok=True)
    return build
