"""Provide built source trees: programs from the binary cache, or built in a sandbox."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.domain.building.sandbox_command import Command
from service.domain.building.spec import BinaryKey
from service.domain.measuring.formats.suites import format_of
from service.domain.runs.side_end import Stage
from service.domain.values.errors import CommandFailed, NotFound
from service.domain.verdict.comparison.link_layout import BATCHES
from service.steps.building.build_sources import (
    at_stage,
    build_directory,
    built_sources,
    complete_sources,
    must_succeed,
)
from service.steps.building.compiler_cache import compiler_cache
from service.steps.building.link_again import compile_for_relinking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from service.domain.building.spec import Revision
    from service.steps.building.session import BuildSession


@contextmanager
def built_tree(session: BuildSession, revision: Revision, variant: int = 0) -> Iterator[Path]:
    """Provide a directory with the sources of a revision and its built programs in ``build/``.

    Both sides of a comparison get theirs in the same way: fresh sources, programs unpacked from an
    artifact. Raises ``NotBuilt`` if the sources are incomplete or the project's own commands fail,
    ``CommandFailed`` if linking them again does.

    Args:
        session: the build.
        revision: the side.
        variant: 0: the programs as the project links them; else one of ``VARIANTS``, the same objects in
            an order of its own.
    """
    host, spec, binaries = session.host, session.spec, session.claimed
    key = BinaryKey(revision.tree, spec.build_hash, host.toolchain, revision.trust)
    wanted = key.relinked(variant) if variant else key

    def build() -> str:
        batch = next((each for each in BATCHES if variant in each), ())
        built = _relink(session, revision, key, batch) if batch else {key: _build(session, revision)}
        for each, artifact in built.items():
            binaries.keep(each, artifact, {"revision": revision.commit, "tree": revision.tree})
        return built[wanted]

    artifact = binaries.find(wanted) or build()
    with (
        host.scratch.directory() as spare,
        complete_sources(session, revision) as tree,
    ):
        archive = spare / "binary.tar"
        try:
            host.artifacts.get_file(artifact, archive)
        except NotFound:
            # It was kept, and its bytes were lost since.
            host.artifacts.get_file(build(), archive)
        host.packer.unpack(host.sandbox, archive, build_directory(tree), session.watch)
        _prepare(session, tree)
        yield tree


def _prepare(session: BuildSession, tree: Path) -> None:
    """Create the directories that launches write to, which are mounted there."""
    suites = session.spec.job.benchmark.suites
    if written := [path for suite in suites for path in format_of(suite).written]:
        with at_stage(Stage.PACK):
            must_succeed(session, tree, Command(("mkdir", "-p", *written)), "creating directories failed")


def _build(session: BuildSession, revision: Revision) -> str:
    with built_sources(session, revision) as tree, at_stage(Stage.PACK):
        return _pack(session, tree)


def _relink(
    session: BuildSession, revision: Revision, key: BinaryKey, variants: Sequence[int]
) -> dict[BinaryKey, str]:
    """Compile once, and link the programs of each variant.

    Raises:
        CommandFailed: a command fails, or the order of objects changes neither programs nor shared objects:
            their linker cannot be replaced, or the build copies them from elsewhere.
    """
    host, build = session.host, session.spec.job.benchmark.build
    if host.linkers is None or not build.compile:
        raise CommandFailed("relinking", "there is no replaceable linker, or no compile command")
    artifacts: dict[BinaryKey, str] = {}
    with (
        host.scratch.directory() as linked,
        session.checkout(revision) as tree,
        compiler_cache(session, revision) as cache,
    ):
        compiled = compile_for_relinking(session, tree, cache, host.linkers, linked)
        for variant in variants:
            relinked = key.relinked(variant)
            compiled.link(relinked.link_seed)
            artifacts[relinked] = _pack(session, tree)
    if len(set(artifacts.values())) < len(artifacts):
        raise CommandFailed("relinking", "the order of objects makes no difference to the programs")
    return artifacts


def _pack(session: BuildSession, tree: Path) -> str:
    host, job = session.host, session.spec.job.benchmark
    with host.scratch.directory() as out:
        archive = host.packer.pack(
            host.sandbox, build_directory(tree), job.programs, job.build.keep, out, session.watch
        )
        return host.artifacts.put_file(archive)
