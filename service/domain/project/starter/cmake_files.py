"""Search CMake files for options, projects and presets that build the benchmarks."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from service.domain.project.starter.fetched import NAME, is_harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.project.starter.cmake_reply import CacheEntry

FILE: Final = "CMakeLists.txt"
PRESETS: Final = "CMakePresets.json"
RELEASES: Final = frozenset({"release", "relwithdebinfo", "minsizerel"})  # CMake ignores capitals
OPTION_WORDS: Final = (("BENCH", "PERF"), ("DEVELOPER", "DEV_MODE", "MAINTAINER"), ("TEST",))
"""Words in the names of options that may enable benchmarks, in the order in which to try them."""

_CTEST: Final = "BUILD_TESTING"
_VERBS: Final = frozenset({"BUILD", "ENABLE", "WITH"})
# Such builds are slower than the release that users run.
_SLOWER: Final = ("CHECKS", "COVERAGE", "DEBUG", "PERFETTO", "SANITI", "VALGRIND")
_COMMENT: Final = re.compile(r"#.*")
_PROJECT: Final = re.compile(r"\bproject\s*\(", re.IGNORECASE)
# Matches also cmake_dependent_option and the projects' own wrappers, such as option_if_not_defined.
_OPTION: Final = re.compile(r"\b\w*option\w*\s*\(\s*\"?((?:[\w.-]|\$\{\w+\})+)", re.IGNORECASE)
# With FORCE, it is no option: the file overrides what a person sets.
_CACHED: Final = re.compile(
    r"\bset\s*\(\s*((?:[\w.-]|\$\{\w+\})+)\s+[^\s()]+\s+CACHE\s+BOOL\s+(?:\"[^\"]*\"|[^\s()]+)\s*\)",
    re.IGNORECASE,
)
_GUARD: Final = re.compile(r"\bif\s*\(\s*(?:DEFINED\s+)?([A-Z]\w*_[A-Z]\w*)\s*\)", re.IGNORECASE)
LIBRARY: Final = r"\s(?:benchmark::)?benchmark(?:_main)?[\s)]"
"""Google Benchmark among the libraries that a target links."""
_LINK: Final = re.compile(rf"target_link_libraries\s*\([^)]*?{LIBRARY}", re.IGNORECASE)
FOREIGN: Final = frozenset(
    {
        "third_party",
        "thirdparty",
        "3rdparty",
        "external",
        "extern",
        "vendor",
        "deps",
        "submodules",
        "subprojects",
    }
)
"""Usual names of directories with third-party code."""

_REFERENCE: Final = re.compile(r"\$\{\w+\}")
_LISTED: Final = re.compile(rf'^\s+"({NAME})"', re.MULTILINE)
_OFF: Final = frozenset({"", "0", "OFF", "NO", "N", "FALSE", "IGNORE"})
_DEEPEST: Final = 20  # presets that inherit from each other; ends a circle


def benchmark_options(
    files: Mapping[str, str], cache: Mapping[str, CacheEntry], words: Sequence[str] = OPTION_WORDS[0]
) -> tuple[str, ...]:
    """Find options that may enable benchmarks: named like it, off, and declared by the project itself.

    The likely ones come first. A variable that the project asks for in ``if(…)`` and never sets is one, too.

    A directory below the top that calls ``project()`` is another project, such as Google Benchmark, most of
    whose options do harm if they are on, unless it is one of :func:`benchmark_projects`.

    Args:
        files: the CMake files of the sources by path.
        cache: the cache of the configured project.
        words: parts of the options' names, in capitals.
    """
    declared = _declared(files)
    found = (
        name
        for name, entry in cache.items()
        if entry.kind == "BOOL"
        and any(word in name.upper() for word in words)
        and not any(word in name.upper() for word in _SLOWER)
        and entry.value.upper() in _OFF
        and any(pattern.fullmatch(name) for pattern in declared)
    )
    asked = (
        name
        for name in _GUARD.findall("\n".join(_own_code(files)))
        if name not in cache and any(word in name.upper() for word in words)
    )
    return tuple(sorted({*found, *asked}, key=lambda name: (*_unlikely(name, words), name)))


def _unlikely(name: str, words: Sequence[str]) -> tuple[bool, bool, int]:
    """Rank ``X_BUILD_BENCHMARKS`` before ``X_BENCH_ALL``, and both before ``X_BENCHMARK_ENABLE_LTO``."""
    parts = name.upper().split("_")
    return (not any(word in parts[-1] for word in words), _VERBS.isdisjoint(parts), len(name))


def options_of_tests(files: Mapping[str, str], cache: Mapping[str, CacheEntry]) -> tuple[str, ...]:
    """Find options for tests that are on: the project's own, and CTest's. The arguments are as above."""
    declared = (*_declared(files), re.compile(_CTEST))
    return tuple(
        name
        for name, entry in cache.items()
        if entry.kind == "BOOL"
        and "TEST" in name.upper()
        and not any(word in name.upper() for word in OPTION_WORDS[0])
        and entry.value.upper() not in _OFF
        and any(pattern.fullmatch(name) for pattern in declared)
    )


def _own_code(files: Mapping[str, str]) -> list[str]:
    """Return the CMake code of the project itself, without comments."""
    code = {path: _COMMENT.sub("", text) for path, text in files.items()}
    # Header-only libraries often have such a project for their tests.
    own_projects = benchmark_projects(files)
    others = tuple(f"{directory}/" for directory in _projects_below(code) if directory not in own_projects)
    return [text for path, text in code.items() if not path.startswith(others)]


def _declared(files: Mapping[str, str]) -> tuple[re.Pattern[str], ...]:
    """Return patterns of the options that the project itself declares."""
    # A name that is only a variable could match any option.
    names = [
        name
        for text in _own_code(files)
        for name in (*_OPTION.findall(text), *_CACHED.findall(text))
        if _REFERENCE.sub("", name).strip("_")
    ]
    return tuple(map(_pattern, names))


def benchmark_projects(files: Mapping[str, str], sources: Iterable[str] = ()) -> tuple[str, ...]:
    """Find projects below the top that link Google Benchmark, except in directories of third-party code.

    Also those with ``sources`` that use a library of benchmarks, which a file elsewhere may link.
    """
    code = {path: _COMMENT.sub("", text) for path, text in files.items()}
    linking = [posixpath.dirname(path) for path, text in code.items() if _LINK.search(text)]
    linking += map(posixpath.dirname, sources)
    return tuple(
        directory
        for directory in sorted(_projects_below(code), key=lambda each: (each.count("/"), each))
        if any(f"{each}/".startswith(f"{directory}/") for each in linking)
        and not FOREIGN.intersection(directory.lower().split("/"))
        and is_harmless(directory)
    )


def _projects_below(code: Mapping[str, str]) -> Iterator[str]:
    for path, text in code.items():
        if "/" in path and posixpath.basename(path) == FILE and _PROJECT.search(text):
            yield posixpath.dirname(path)


def _pattern(declared: str) -> re.Pattern[str]:
    """Match a declared name, which may contain variables; atomic groups keep the time linear."""
    first, *further = (re.escape(part) for part in _REFERENCE.split(declared))
    if not further:
        return re.compile(first)
    *inner, last = further
    return re.compile("".join((first, *(rf"(?>\w*?{part})" for part in inner), rf"\w*{last}")))


def release_preset(text: str, listing: str) -> str:
    """Choose a configure preset for a release build; empty if there is none.

    Args:
        text: ``CMakePresets.json``.
        listing: the output of ``cmake --list-presets``: the presets that this machine can use.
    """
    try:
        presets = {each["name"]: each for each in json.loads(text)["configurePresets"]}
        usable = [name for name in _LISTED.findall(listing) if name in presets]
        return next((name for name in usable if _build_type(presets, name).lower() in RELEASES), "")
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""  # `cmake` reports the error


def _build_type(presets: Mapping[str, Mapping[str, Any]], name: str, depth: int = 0) -> str:
    """Return a preset's build type: its own, or the first inherited one."""
    preset = presets.get(name)
    if preset is None or depth > _DEEPEST:
        return ""
    own = preset.get("cacheVariables", {}).get("CMAKE_BUILD_TYPE")
    if own is not None:
        return str(own["value"] if isinstance(own, dict) else own)
    inherits = preset.get("inherits", ())
    parents = [inherits] if isinstance(inherits, str) else inherits
    return next(filter(None, (_build_type(presets, each, depth + 1) for each in parents)), "")
