"""Provide built source trees: programs from the binary cache, or built in a sandbox."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from service.domain.building.built_files import programs_in
from service.domain.building.sandbox_command import Command
from service.domain.building.spec import BinaryKey
from service.domain.measuring.formats.suites import format_of
from service.domain.runs.side_end import Stage
from service.domain.values.errors import CommandFailed, NotFound
from service.domain.verdict.comparison.link_layout import BATCHES
from service.domain.wording.build_causes import linked_by_build
from service.steps.building.build_sources import (
    BUILD,
    at_stage,
    build_directory,
    built_sources,
    complete_sources,
    must_succeed,
)
from service.steps.building.compiler_cache import compiler_cache
from service.steps.building.link_again import compile_for_relinking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.built_files import BuiltFile
    from service.domain.building.spec import Revision
    from service.steps.building.link_again import Relinking
    from service.steps.building.session import BuildSession


@contextmanager
def built_tree(session: BuildSession, revision: Revision, *, may_build: bool = True) -> Iterator[Path]:
    """Provide a directory with the sources of a revision and its built programs in ``build/``.

    Both sides of a comparison get theirs in the same way: fresh sources, programs unpacked from an
    artifact. Raises ``NotBuilt`` if the sources are incomplete or the project's own commands fail, and
    NotFound if no programs are kept and ``may_build`` is False.
    """
    key = _key(session, revision)
    make = partial(_build, session, revision, key) if may_build else _not_kept
    with (
        _archive(session, revision, (key,), make) as (archive, _),
        complete_sources(session, revision) as tree,
    ):
        _unpack(session, archive, tree)
        yield tree


@contextmanager
def relinked_tree(session: BuildSession, revision: Revision, variant: int) -> Iterator[tuple[Path, bool]]:
    """Provide a directory as :func:`built_tree` does, with programs of the same objects in another order.

    It comes with whether the project's build commands ran again for them, so that the objects may be others.
    If they did not, all else is as built.

    Args:
        session: the build.
        revision: the side.
        variant: one of ``VARIANTS``, each with an order of its own.

    Raises:
        CommandFailed: they cannot be linked again.
    """
    key = _key(session, revision)
    built = key.relinked(variant, is_built=True)
    batch = next(each for each in BATCHES if variant in each)
    wanted = (key.relinked(variant), built)
    with _archive(session, revision, wanted, lambda _: _relink(session, revision, key, batch)) as (
        archive,
        kept,
    ):
        is_built = kept == built
        with (complete_sources if is_built else built_tree)(session, revision) as tree:
            _unpack(session, archive, tree)
            yield tree, is_built


def _key(session: BuildSession, revision: Revision) -> BinaryKey:
    return BinaryKey(revision.tree, session.spec.build_hash, session.host.toolchain, revision.trust)


@contextmanager
def _archive(
    session: BuildSession,
    revision: Revision,
    wanted: Sequence[BinaryKey],
    make: Callable[[Path], Mapping[BinaryKey, str]],
) -> Iterator[tuple[Path, BinaryKey]]:
    """Fetch the first of these binaries that was kept, with its key; or make and keep it.

    ``make`` may leave what it has packed at the path that it gets; then nothing is fetched.
    """
    host, binaries = session.host, session.claimed

    def build(archive: Path) -> tuple[BinaryKey, str]:
        made = make(archive)
        for each, artifact in made.items():
            binaries.keep(each, artifact, {"revision": revision.commit, "tree": revision.tree})
        return next((each, made[each]) for each in wanted if each in made)

    kept = ((each, binaries.find(each)) for each in wanted)
    with host.scratch.directory() as spare:
        archive = spare / "binary.tar"
        key, artifact = next(((each, found) for each, found in kept if found), None) or build(archive)
        if not archive.exists():
            try:
                host.artifacts.get_file(artifact, archive)
            except NotFound:
                # It was kept, and its bytes were lost since.
                key, artifact = build(archive)
        if not archive.exists():
            host.artifacts.get_file(artifact, archive)
        yield archive, key


def _unpack(session: BuildSession, archive: Path, tree: Path) -> None:
    host = session.host
    host.packer.unpack(host.sandbox, archive, build_directory(tree), session.watch)
    _prepare(session, tree)


def _prepare(session: BuildSession, tree: Path) -> None:
    """Create the directories that launches write to, which are mounted there."""
    suites = session.spec.job.benchmark.suites
    if written := [path for suite in suites for path in format_of(suite).written]:
        with at_stage(Stage.PACK):
            must_succeed(session, tree, Command(("mkdir", "-p", *written)), "creating directories failed")


def _build(
    session: BuildSession, revision: Revision, key: BinaryKey, archive: Path
) -> Mapping[BinaryKey, str]:
    with built_sources(session, revision) as tree, at_stage(Stage.PACK):
        return {key: _pack(session, tree, archive=archive)}


def _not_kept(_: Path) -> Mapping[BinaryKey, str]:
    raise NotFound("its programs are not kept any more")


def _relink(
    session: BuildSession, revision: Revision, key: BinaryKey, variants: Sequence[int]
) -> Mapping[BinaryKey, str]:
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
        try:
            programs = _linked_alone(session, compiled, key)
        except (CommandFailed, NotFound) as why_not:
            if isinstance(why_not, CommandFailed) and why_not.limit:
                raise
            session.note(linked_by_build(str(why_not)))
            programs = ()
        for variant in variants:
            relinked = key.relinked(variant, is_built=not programs)
            if programs:
                compiled.link(relinked.link_seed)
                artifacts[relinked] = _pack(session, tree, programs)
            else:
                compiled.build(relinked.link_seed)
                artifacts[relinked] = _pack(session, tree)
    if len(set(artifacts.values())) < len(artifacts):
        raise CommandFailed("relinking", "the order of objects makes no difference to the programs")
    return artifacts


def _linked_alone(session: BuildSession, compiled: Relinking, key: BinaryKey) -> tuple[str, ...]:
    """Return the programs that the linker alone makes exactly as they were measured as built.

    Whatever it links with a seed is then what was measured, in another order.

    Raises:
        CommandFailed: it does not make them all.
        NotFound: what was measured is lost.
    """
    host, job = session.host, session.spec.job.benchmark
    as_built = session.claimed.find(key)
    if as_built is None:
        raise NotFound("no programs as built are kept")
    with host.scratch.directory() as out:
        archive = out / "binary.tar"
        host.artifacts.get_file(as_built, archive)
        measured = _files(session, archive)
    programs = tuple(job.programs) or tuple(f"{BUILD}/{path}" for path in programs_in(measured))
    compiled.link()
    with host.scratch.directory() as out:
        linked = _files(session, _packed(session, compiled.tree, programs, (), out))
    for path in sorted(linked):
        if linked[path] != measured.get(path):
            raise CommandFailed(path, "is another file")
    return programs


def _files(session: BuildSession, archive: Path) -> Mapping[str, BuiltFile]:
    """Read the files in an archive of programs; raises CommandFailed if they are too many."""
    host = session.host
    with host.scratch.directory() as unpacked:
        host.packer.unpack(host.sandbox, archive, unpacked, session.watch)
        files = host.inspector.inspect(unpacked, session.watch)
    if files is None:
        raise CommandFailed("the files as built", "there are too many to compare")
    return files


def _pack(
    session: BuildSession, tree: Path, programs: Sequence[str] = (), archive: Path | None = None
) -> str:
    """Store the programs and shared objects of a tree; without names, all that the job keeps.

    What was stored is also left at ``archive``, if it is given.
    """
    host, job = session.host, session.spec.job.benchmark
    named, keep = (programs, ()) if programs else (job.programs, job.build.keep)
    with host.scratch.directory() as out:
        packed = _packed(session, tree, named, keep, out)
        artifact = host.artifacts.put_file(packed)
        if archive is not None:
            packed.rename(archive)
        return artifact


def _packed(
    session: BuildSession, tree: Path, programs: Sequence[str], keep: Sequence[str], out: Path
) -> Path:
    host = session.host
    return host.packer.pack(host.sandbox, build_directory(tree), programs, keep, out, session.watch)
