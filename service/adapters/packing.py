"""Packs built programs into one file, unpacks them and renews them, all inside a sandbox.

A build directory and an archive of it are an attacker's work: on the host neither is ever read as such.
"""

from __future__ import annotations

import posixpath
from io import BytesIO
from typing import TYPE_CHECKING, Final

from service.adapters.untrusted_file import open_output, read_output
from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.errors import BadResults, CommandFailed, ProgramMissing, Transient
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.ports.building import Sandbox

__all__ = ["ARCHIVE", "pack", "read_output", "renew", "unpack"]

ARCHIVE: Final = "binary.tar"
LIMITS: Final = Limits(
    wall_seconds=900.0,  # gigabytes of programs with debug information on a slow disk
    memory_bytes=1 << 30,  # tar and sort need a fraction of it
    processes=64,
    file_bytes=8 << 30,
    log_bytes=1 << 20,
)
_MISSING: Final = "missing program "
_MISSING_CODE: Final = 3  # tar, find and sort end with 1 or 2
_TAIL_LINES: Final = 20
# Without a sandbox the runner says in BENCHGATE_BUILD where the directory is; inside one it is unset.
# Arguments: how many programs, the programs, find's conditions. Programs are packed through symbolic
# links, since the rest of a chain of links may lie outside; shared objects and their links as they are.
# Nothing is packed twice: of a link and a file of one name tar unpacks now this one, now that one.
_PACK: Final = f"""\
set -eu
out=$PWD/{ARCHIVE}
cd "${{BENCHGATE_BUILD:-/build}}"
count=$1
shift
i=0
for program in "$@"; do
  [ "$i" -lt "$count" ] || break
  if ! [ -f "$program" ] || ! [ -x "$program" ]; then
    echo "{_MISSING}$i"
    exit {_MISSING_CODE}
  fi
  i=$((i + 1))
done
export LC_ALL=C
options='--null --no-recursion --verbatim-files-from --mtime=@0 --owner=0 --group=0 --numeric-owner'
: > "$out.named"
i=0
while [ "$i" -lt "$count" ]; do
  printf '%s\\0' "$1" >> "$out.named"
  shift
  i=$((i + 1))
done
sort -z -u "$out.named" > "$out.programs"
find . \\( -type f -o -type l \\) \\( "$@" \\) -print0 | sort -z > "$out.found"
comm -z -23 "$out.found" "$out.programs" > "$out.kept"
tar --create $options --file="$out" --files-from="$out.kept"
tar --append --dereference $options --file="$out" --files-from="$out.programs"
rm "$out.named" "$out.programs" "$out.found" "$out.kept"
"""
_UNPACK: Final = """\
set -eu
tar --extract --file="$1" --directory="${BENCHGATE_BUILD:-/build}" --no-same-owner --no-same-permissions
"""
MOST_RENEWED: Final = 1 << 30  # bytes of both sides; more would take longer to copy than to measure
_TOO_LARGE_CODE: Final = 4
# Nothing is freed before all is copied: what one side frees is not given to the other, so where a copy comes
# to lie follows from the order alone. A reflink would share blocks on disk that must be read again. The old
# file is removed, not replaced by a rename, which some file systems take as a reason to write to the disk.
_RENEW: Final = f"""\
set -eu
first=${{BENCHGATE_FIRST:-/first}}
second=${{BENCHGATE_SECOND:-/second}}
total=0
for build in "$first" "$second"; do
  cd "$build"
  rm -rf .renewed
  mkdir .renewed .renewed/files
  find . -path ./.renewed -prune -o -type f \\( -perm -u+x -o -name '*.so' -o -name '*.so.*' \\) \\
    -print0 > .renewed/names
  size=$(xargs -0 -r stat --format=%s -- < .renewed/names |
    awk '{{ sum += $1 }} END {{ print int(sum / 1024) }}')
  total=$((total + size))
done
if [ "$total" -gt {MOST_RENEWED >> 10} ]; then
  rm -rf "$first/.renewed" "$second/.renewed"
  exit {_TOO_LARGE_CODE}
fi
for build in "$first" "$second"; do
  cd "$build"
  xargs -0 -r cp --parents --preserve=mode,timestamps --reflink=never -t .renewed/files -- < .renewed/names
done
for build in "$first" "$second"; do
  cd "$build/.renewed/files"
  xargs -0 -r sh -c '
    set -eu
    for name; do
      rm -f -- "../../$name"
      mv -T -- "$name" "../../$name"
    done' replace < ../names
  rm -rf "$build/.renewed"
done
"""


def pack(
    sandbox: Sandbox,
    build_dir: Path,
    programs: Sequence[str],
    keep: Sequence[str],
    out_dir: Path,
    watch: Callable[[], None],
) -> Path:
    """Pack programs, all shared objects and what else is wanted of a build directory.

    The same files give the same bytes.

    Args:
        sandbox: where it is done.
        build_dir: what the sandbox sees as ``/build`` and ``/src/build``, read-only.
        programs: relative to ``/src`` (``build/measure/x``), or absolute (``/build/measure/x``).
        keep: paths or patterns relative to the build directory; ``*`` and ``**`` match any characters,
            slashes as well, and a directory brings all that is in it.
        out_dir: an empty directory of ours; gets the archive.
        watch: called several times a second; ends the work by raising.

    Returns:
        The archive, a regular file.

    Raises:
        CommandFailed: a program is missing (it names which), or the files cannot be packed.
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
    argv = ("sh", "-c", _PACK, "pack", str(len(named)), *named, *conditions)
    ended, lines = _run(sandbox, Command(argv, mounts, cwd="/out", limits=LIMITS), watch)
    if not ended.is_success:
        if ended.exit_code == _MISSING_CODE and lines and lines[0].startswith(_MISSING):
            missing = programs[int(lines[0].removeprefix(_MISSING))]
            raise ProgramMissing(f"program {missing}", "the build made no such program")
        raise CommandFailed("packing of the programs", ended.end, "\n".join(lines))
    archive = out_dir / ARCHIVE
    try:
        open_output(archive).close()
    except BadResults as error:
        raise CommandFailed("packing of the programs", str(error)) from error
    return archive


def unpack(sandbox: Sandbox, archive: Path, into: Path, watch: Callable[[], None]) -> None:
    """Unpack what ``pack`` packed.

    Args:
        sandbox: where it is done.
        archive: the file, in a directory that holds nothing secret: the sandbox sees it, read-only.
        into: an empty directory; what the sandbox sees as ``/build``, writable.
        watch: called several times a second; ends the work by raising.

    Raises:
        Transient: it does not succeed. The build packed what can be unpacked, so this is the machine's fault.
    """
    mounts = (Mount(archive.parent, "/in"), Mount(into, "/build", writable=True))
    argv = ("sh", "-c", _UNPACK, "unpack", f"./{archive.name}")
    ended, lines = _run(sandbox, Command(argv, mounts, cwd="/in", limits=LIMITS), watch)
    if not ended.is_success:
        raise _failed("unpacking of the programs", ended, lines)


def renew(sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
    """Put new copies in the place of all programs and shared objects, so that other memory holds them.

    Links and all other files stay as they are.

    Args:
        sandbox: where it is done; no program of a project runs in it.
        builds: where ``unpack`` put them, in the order in which they are copied.
        watch: called several times a second; ends the work by raising.

    Returns:
        False where those of both together are larger than :data:`MOST_RENEWED`; then nothing is copied.

    Raises:
        Transient: a file cannot be copied. No code of the project has a part in that.
    """
    first, second = builds
    mounts = (Mount(first, "/first", writable=True), Mount(second, "/second", writable=True))
    ended, lines = _run(sandbox, Command(("sh", "-c", _RENEW), mounts, cwd="/first", limits=LIMITS), watch)
    if ended.exit_code == _TOO_LARGE_CODE:
        return False
    if not ended.is_success:
        raise _failed("copying of the programs", ended, lines)
    return True


def _failed(what: str, ended: Completed, lines: Sequence[str]) -> Transient:
    return Transient(": ".join((what, ended.end, *lines[-1:])))


def _run(sandbox: Sandbox, command: Command, watch: Callable[[], None]) -> tuple[Completed, list[str]]:
    log = BytesIO()
    ended = sandbox.run(command, log=log, watch=watch)
    lines = [plain(line) for line in log.getvalue().decode(errors="replace").splitlines()]
    return ended, lines[-_TAIL_LINES:]


def _inside_build(program: str) -> str:
    """The path of a program relative to the build directory.

    Raises:
        CommandFailed: it lies elsewhere.
    """
    # The build directory is /build as well as /src/build.
    path = posixpath.normpath(posixpath.join("/src", program)).removeprefix("/src")
    if not path.startswith("/build/"):
        raise CommandFailed(f"program {program}", "it is not in the build directory (build/…)")
    return "./" + path.removeprefix("/build/")


def _alternatives(pattern: str) -> tuple[str, ...]:
    """A pattern as find's ``-path`` takes it; ``a/**/b`` means ``a/b`` too."""
    path = "./" + posixpath.normpath(pattern)
    without = path.replace("/**/", "/")
    return (path,) if without == path else (path, without)
