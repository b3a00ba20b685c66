"""The compiler cache of a machine: which entries the build of a revision reads, and which it adds to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Mount
from service.domain.building.spec import LOCAL, REVIEWED
from service.domain.values.identity import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath

    from service.domain.building.spec import BuildSpec, Revision

CACHE_BYTES: Final = 5 << 30  # of one project: the objects of some hundred revisions of a large one
STATISTICS: Final = "statistics"
PREPROCESSOR: Final = "preprocessor"
"""The program below the build's own directory that ccache starts the preprocessor by."""
# An `import` stays in the preprocessed source, without the module's content: its object file would be taken
# for that of another module. After an error of the preprocessor, ccache compiles without the cache.
REFUSE_MODULES: Final = """\
#!/bin/sh
for word; do
  case $word in
    -fmodule* | -fcxx-modules | -fprebuilt-module-path* | --precompile) exit 1 ;;
  esac
done
exec "$@"
"""
_CACHE: Final = "/compiler-cache"
_OWN: Final = "/compiler-cache-run"
_HIT: Final = b"preprocessed_cache_hit"
_MISS: Final = b"cache_miss"


def owner_of(spec: BuildSpec) -> str:
    """Return the name of the cache of a project: the build of one must not write what another reads."""
    return digest_of({"instance": spec.instance, "project": spec.project})[:32]


def may_add(spec: BuildSpec, revision: Revision) -> bool:
    """Return whether the build of a revision adds entries to the cache of its project.

    Only reviewed code does, and on a developer's machine only the base. A build can write any object file
    under any key, so a patch set would otherwise choose the programs of others.
    """
    return revision.trust == REVIEWED or (spec.instance == LOCAL and revision == spec.base)


def mounts_of(cache: PurePath, own: PurePath, *, is_writable: bool) -> tuple[Mount, ...]:
    """Return the mounts of a project's cache, and of a directory that only this build has."""
    return Mount(cache, _CACHE, writable=is_writable), Mount(own, _OWN, writable=True)


def environment_of(toolchain: str, limit: int, *, is_writable: bool) -> Mapping[str, str]:
    """Return the variables by which CMake and Meson compile through ``ccache``.

    The preprocessed source decides, not the names and times of headers, because a new header may come before
    a known one. Compilers count by their content, and all else of the tool chain by its fingerprint.
    """
    # Without statistics, ccache would not know the size of a cache that it writes. Its 0 is no limit.
    readonly = {"CCACHE_READONLY": "1", "CCACHE_NOSTATS": "1"}
    return {
        "CMAKE_C_COMPILER_LAUNCHER": "ccache",
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_DIR": _CACHE,
        "CCACHE_CONFIGPATH": "/dev/null",  # no file of the cache or of the system sets other values
        "CCACHE_NODIRECT": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_NAMESPACE": toolchain,
        "CCACHE_PREFIX_CPP": f"{_OWN}/{PREPROCESSOR}",
        "CCACHE_TEMPDIR": f"{_OWN}/temporary",
        "CCACHE_STATSLOG": f"{_OWN}/{STATISTICS}",
        **({"CCACHE_MAXSIZE": f"{max(limit >> 10, 1)}Ki"} if is_writable else readonly),
    }


def count_hits(statistics: bytes) -> tuple[int, int]:
    """Count the compilations that were answered from the cache, and all that could be."""
    lines = statistics.splitlines()
    hits = lines.count(_HIT)
    return hits, hits + lines.count(_MISS)
