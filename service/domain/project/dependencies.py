"""Configure pinned dependencies, and make them known to build systems."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.project.forms import Name, Record, about, after, text
from service.domain.sources.allowed import SourceUrl
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY: Final = "/deps"
"""Where builds and launches find each dependency by its name, read-only."""

_WRAPS: Final = "subprojects/packagecache"  # Meson's default in all versions
CMAKE_FILE: Final = ".benchgate.cmake"  # no dependency has a name that begins with a dot
MOST: Final = 200  # more than any build downloads
_ARCHIVE: Final = re.compile(r"\.(?:zip|tar|tgz|tbz2|txz|tar\.(?:bz2|gz|lz|lzma|xz|zst))$", re.IGNORECASE)


def _fetched(url: str) -> str:
    try:
        SourceUrl.parse(url)
    except BadInput as error:
        raise ValueError(str(error)) from None
    return url


_Url = Annotated[str, text(r"[!-~]{1,2000}", "URLs that begin with https://"), after(_fetched)]
_SHA256: Final = text(r"[0-9a-f]{64}", "64 hexadecimal digits in lower case, as `sha256sum` prints them")
COMMIT: Final = text(r"[0-9a-f]{40}", "whole commit IDs of 40 hexadecimal digits in lower case")


@dataclass(frozen=True, slots=True)
class Dependency(Record):
    """A dependency: a file by ``url`` and ``sha256``, or a repository by ``git`` and ``commit``."""

    url: Annotated[_Url | None, about("of an archive, or of a single file")] = None
    sha256: Annotated[str | None, _SHA256, about("of the archive or file")] = None
    git: Annotated[_Url | None, about("of a repository")] = None
    commit: Annotated[str | None, COMMIT, about("of the repository")] = None

    @property
    def source(self) -> str:
        """The URL that it is fetched from."""
        return self.url or self.git or ""

    def is_file(self, name: str) -> bool:
        """Return whether it is kept as a file, not unpacked: its name ends like that of an archive."""
        return self.url is not None and _ARCHIVE.search(name) is not None


def _pinned(dependency: Dependency) -> Dependency:
    given = {name for name in ("url", "sha256", "git", "commit") if getattr(dependency, name) is not None}
    if given not in ({"url", "sha256"}, {"git", "commit"}):
        raise ValueError("a dependency has either `url` and `sha256`, or `git` and `commit`")
    return dependency


def _bounded(dependencies: dict[str, Dependency]) -> dict[str, Dependency]:
    """Refuse too many, and names that differ only in case, which CMake cannot tell apart."""
    if len(dependencies) > MOST:
        raise ValueError(f"{len(dependencies)} are too many; allowed are {MOST}")
    names = [name.upper() for name in dependencies]
    if twice := sorted(name for name in dependencies if names.count(name.upper()) > 1):
        raise ValueError(f"names must differ in more than capitals: {', '.join(twice)}")
    return dependencies


Pinned = Annotated[
    dict[Name, Annotated[Dependency, after(_pinned)]],
    after(_bounded),
    about("archives and repositories that builds find in /deps, by name"),
]


def cmake_file(dependencies: Mapping[str, Dependency]) -> str:
    """Write a CMake file that makes FetchContent and CPM take the dependencies from the file's own directory.

    CPM uses FetchContent too; its own variable ``CPM_<name>_SOURCE`` would make it forget versions. The file
    works as a tool chain file, which an environment variable can name, or as an initial cache (``cmake -C``).
    """
    lines = [
        f'set(FETCHCONTENT_SOURCE_DIR_{name.upper()} "${{CMAKE_CURRENT_LIST_DIR}}/{name}" CACHE PATH "")\n'
        for name in _directories(dependencies)
    ]
    return "".join(("# The dependencies of benchgate.yaml, for FetchContent and CPM.\n", *lines))


def shell_opening(dependencies: Mapping[str, Dependency]) -> str:
    """Write the shell lines that make the dependencies known to build commands.

    CMake and others get environment variables; those already set win. Without a sandbox, BENCHGATE_DEPS names
    the directory. Meson gets links in its package cache, a directory of its own because it also writes there.
    Before 1.3, it knew neither the variable nor directories in the cache.
    """
    if not dependencies:
        return ""
    prefixes = ":".join(f"$BENCHGATE_DEPS/{name}" for name in _directories(dependencies))
    prefix_path = f'export CMAKE_PREFIX_PATH="${{CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}}{prefixes}"\n'
    return (
        f'export BENCHGATE_DEPS="${{BENCHGATE_DEPS:-{DIRECTORY}}}"\n'
        f"{prefix_path if prefixes else ''}"
        f'export CMAKE_TOOLCHAIN_FILE="${{CMAKE_TOOLCHAIN_FILE:-$BENCHGATE_DEPS/{CMAKE_FILE}}}"\n'
        "if [ -f meson.build ]; then\n"
        f'mkdir -p {_WRAPS} && ln -sf "$BENCHGATE_DEPS"/* {_WRAPS}/ &&\n'
        f'export MESON_PACKAGE_CACHE_DIR="${{MESON_PACKAGE_CACHE_DIR:-$PWD/{_WRAPS}}}"\n'
        "fi\n"
    )


def _directories(dependencies: Mapping[str, Dependency]) -> list[str]:
    return [name for name, dependency in dependencies.items() if not dependency.is_file(name)]
