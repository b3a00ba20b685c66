"""Pack, unpack and copy built programs, all inside a sandbox.

A build directory and its archive may be an attacker's work, so the host never parses them.
"""

from __future__ import annotations

import posixpath
from importlib import resources
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.adapters.system.untrusted_file import open_output, read_output
from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.values.errors import BadResults, CommandFailed, Permanent, ProgramMissing, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.ports.building import Sandbox

__all__ = ["ARCHIVE", "pack", "read_output", "renew", "unpack"]

ARCHIVE: Final = "binary.tar"
# The bounds of an archive, for packing and for unpacking.
MOST_BYTES: Final = 8 << 30  # apparent bytes of all files: static programs with debug information
MOST_ENTRIES: Final = 100_000
MOST_LEVELS: Final = 100  # directories in each other; no build needs a third of this
_ENTRY_BYTES: Final = 8192  # the archive's own bytes for an entry with the longest name
LIMITS: Final = Limits(
    wall_seconds=900.0,  # gigabytes of programs with debug information on a slow disk
    memory_bytes=1 << 30,  # tar and sort need a fraction of this
    processes=64,
    file_bytes=MOST_BYTES + MOST_ENTRIES * _ENTRY_BYTES,
    log_bytes=1 << 20,
)
MOST_RENEWED: Final = 1 << 30  # bytes of both sides; copying more would take longer than measuring
# The scripts run inside a sandbox, which sets no BENCHGATE_BUILD; without one, it names the directory.
_PACK, _UNPACK, _RENEW = (
    resources.files(__name__).joinpath(f"{name}.sh").read_text() for name in ("pack", "unpack", "renew")
)
_MISSING: Final = "missing program "  # of pack.sh
_MISSING_CODE: Final = 3
_TOO_LARGE_CODE: Final = 4  # of all three scripts
_MORE: Final = MappingProxyType(  # by the last word of pack.sh and unpack.sh
    {
        "entries": f"more than {MOST_ENTRIES} files",
        "levels": f"a file in more than {MOST_LEVELS} directories, one in another",
        "bytes": f"more than {MOST_BYTES >> 30} GiB (a sparse file counts in full)",
    }
)
_TAIL_LINES: Final = 20


def pack(
    sandbox: Sandbox,
    build_dir: Path,
    programs: Sequence[str],
    keep: Sequence[str],
    out_dir: Path,
    watch: Callable[[], None],
) -> Path:
    """Pack programs, all shared objects and the files to keep of a build directory.

    The same files give the same bytes.

    Args:
        sandbox: the sandbox to pack in.
        build_dir: the directory that the sandbox sees as ``/build`` and ``/src/build``, read-only.
        programs: paths relative to ``/src`` (``build/measure/x``), or absolute (``/build/measure/x``).
        keep: paths or patterns relative to the build directory; ``*`` and ``**`` match any characters,
            also slashes, and a directory includes its content.
        out_dir: an empty directory for the archive.
        watch: called several times a second; may raise to end the work.

    Returns:
        The archive, a regular file.

    Raises:
        CommandFailed: a program is missing (the error names it), the files cannot be packed, or they are more
            than the bounds :data:`MOST_BYTES`, :data:`MOST_ENTRIES` and :data:`MOST_LEVELS` allow.
    """
    named = [_inside_build(program) for program in programs]
    conditions = ["-name", "*.so", "-o", "-name", "*.so.*"]
    for pattern in keep:
        for alternative in _alternatives(pattern):
            conditions += ["-o", "-path", alternative, "-o", "-path", f"{alternative}/*"]
    mounts = (
        Mount(build_dir, "/build"),
        Mount(build_dir, "/src/build"),
        Mount(out_dir, "/out", writable=True),
    )
    argv = ("sh", "-c", _PACK, "pack", ARCHIVE, *_bounds(), str(len(named)), *named, *conditions)
    ended, lines = _run(sandbox, Command(argv, mounts, cwd="/out", limits=LIMITS), watch)
    if not ended.is_success:
        if ended.exit_code == _MISSING_CODE and lines and lines[0].startswith(_MISSING):
            missing = programs[int(lines[0].removeprefix(_MISSING))]
            elsewhere = "".join(f"build/{plain(line.removeprefix('./'))}" for line in lines[1:2])
            raise ProgramMissing(f"program {missing}", elsewhere)
        if more := _too_much(ended, lines):
            raise CommandFailed("packing of the programs", f"they have {more}")
        raise CommandFailed("packing of the programs", ended.end, "\n".join(lines))
    archive = out_dir / ARCHIVE
    try:
        open_output(archive).close()
    except BadResults as error:
        raise CommandFailed("packing of the programs", str(error)) from error
    return archive


def unpack(sandbox: Sandbox, archive: Path, into: Path, watch: Callable[[], None]) -> None:
    """Unpack an archive made by ``pack``.

    Args:
        sandbox: the sandbox to unpack in.
        archive: the archive, in a directory without secrets: the sandbox sees the directory, read-only.
        into: an empty directory, which the sandbox sees as ``/build``, writable.
        watch: called several times a second; may raise to end the work.

    Raises:
        Permanent: the archive has more than the bounds of ``pack`` allow, so ``pack`` did not make it.
        Transient: it failed. An archive made by ``pack`` can be unpacked, so the machine is the cause.
    """
    mounts = (Mount(archive.parent, "/in"), Mount(into, "/build", writable=True))
    argv = ("sh", "-c", _UNPACK, "unpack", f"./{archive.name}", *_bounds())
    ended, lines = _run(sandbox, Command(argv, mounts, cwd="/in", limits=LIMITS), watch)
    if more := _too_much(ended, lines):
        raise Permanent(f"the archive of the programs has {more}")
    if not ended.is_success:
        raise _failed("unpacking of the programs", ended, lines)


def renew(sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
    """Replace all programs and shared objects by new copies, so that they are in other memory pages.

    Links and all other files stay as they are.

    Args:
        sandbox: the sandbox to copy in; no program of a project runs in it.
        builds: the directories of ``unpack``, in the order of copying.
        watch: called several times a second; may raise to end the work.

    Returns:
        False if the files of both are larger than :data:`MOST_RENEWED` together; then nothing is copied.

    Raises:
        Transient: a file cannot be copied. No code of the project takes part in it.
    """
    first, second = builds
    mounts = (Mount(first, "/first", writable=True), Mount(second, "/second", writable=True))
    argv = ("sh", "-c", _RENEW, "renew", str(MOST_RENEWED >> 10))
    ended, lines = _run(sandbox, Command(argv, mounts, cwd="/first", limits=LIMITS), watch)
    if ended.exit_code == _TOO_LARGE_CODE:
        return False
    if not ended.is_success:
        raise _failed("copying of the programs", ended, lines)
    return True


def _bounds() -> tuple[str, ...]:
    return str(MOST_ENTRIES), str(MOST_LEVELS), str(MOST_BYTES)


def _too_much(ended: Completed, lines: Sequence[str]) -> str:
    """Name the bound that pack.sh or unpack.sh found exceeded; empty if none."""
    if ended.exit_code != _TOO_LARGE_CODE or not lines:
        return ""
    return _MORE.get(lines[-1].removeprefix("more "), "")


def _failed(what: str, ended: Completed, lines: Sequence[str]) -> Transient:
    return Transient(": ".join((what, ended.end, *lines[-1:])))


def _run(sandbox: Sandbox, command: Command, watch: Callable[[], None]) -> tuple[Completed, list[str]]:
    log = BytesIO()
    ended = sandbox.run(command, log=log, watch=watch)
    lines = [plain(line) for line in log.getvalue().decode(errors="replace").splitlines()]
    return ended, lines[-_TAIL_LINES:]


def _inside_build(program: str) -> str:
    """Make a program's path relative to the build directory.

    Raises:
        CommandFailed: the program is not in the build directory.
    """
    # The build directory is both /build and /src/build.
    path = posixpath.normpath(posixpath.join("/src", program)).removeprefix("/src")
    if not path.startswith("/build/"):
        raise CommandFailed(f"program {program}", "it is not in the build directory (build/…)")
    return "./" + path.removeprefix("/build/")


def _alternatives(pattern: str) -> tuple[str, ...]:
    """Convert a pattern for find's ``-path``; ``a/**/b`` also means ``a/b``."""
    path = "./" + posixpath.normpath(pattern)
    without = path.replace("/**/", "/")
    return (path,) if without == path else (path, without)
