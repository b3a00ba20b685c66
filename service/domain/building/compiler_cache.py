"""Configure ccache: one cache per project, which only builds of reviewed code may write."""

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
"""The wrapper of the preprocessor, below the build's own directory."""
# Preprocessed source keeps an `import` but not the module's content, so different modules would share a key.
# If the preprocessor fails, ccache compiles without the cache.
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
    """Return the name of a project's cache. Projects share none, because builds of one could poison it."""
    return digest_of({"instance": spec.instance, "project": spec.project})[:32]


def may_add(spec: BuildSpec, revision: Revision) -> bool:
    """Return whether the build of a revision may write to its project's cache.

    Only reviewed code may, and on a developer's machine only the base: a build can store any object file
    under any key, so a patch set could choose the programs of others.
    """
    return revision.trust == REVIEWED or (spec.instance == LOCAL and revision == spec.base)


def mounts_of(cache: PurePath, own: PurePath, *, is_writable: bool) -> tuple[Mount, ...]:
    """Return the mounts of a project's cache and of the build's own directory."""
    return Mount(cache, _CACHE, writable=is_writable, is_bounded=True), Mount(own, _OWN, writable=True)


def environment_of(toolchain: str, limit: int, *, is_writable: bool) -> Mapping[str, str]:
    """Return the environment variables that make CMake and Meson compile through ``ccache``.

    The key is the preprocessed source, because in direct mode a new header that hides a known one would go
    unnoticed. It also contains the compiler's content and the fingerprint of the tool chain.
    """
    # ccache needs statistics to limit the size of a cache that it writes. A maximum of 0 means no limit.
    readonly = {"CCACHE_READONLY": "1", "CCACHE_NOSTATS": "1"}
    return {
        "CMAKE_C_COMPILER_LAUNCHER": "ccache",
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_DIR": _CACHE,
        "CCACHE_CONFIGPATH": "/dev/null",  # ignore configuration files of the cache and of the system
        "CCACHE_NODIRECT": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_NAMESPACE": toolchain,
        "CCACHE_PREFIX_CPP": f"{_OWN}/{PREPROCESSOR}",
        "CCACHE_TEMPDIR": f"{_OWN}/temporary",
        "CCACHE_STATSLOG": f"{_OWN}/{STATISTICS}",
        **({"CCACHE_MAXSIZE": f"{max(limit >> 10, 1)}Ki"} if is_writable else readonly),
    }


def count_hits(statistics: bytes) -> tuple[int, int]:
    """Return the number of cache hits, and of hits and misses together."""
    lines = statistics.splitlines()
    hits = lines.count(_HIT)
    return hits, hits + lines.count(_MISS)
