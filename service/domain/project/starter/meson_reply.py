"""Parse the answers of ``meson introspect``: options, benchmark programs and subprojects."""

from __future__ import annotations

import json
import posixpath
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from service.domain.project.benchmark import Format
from service.domain.project.starter.cmake_reply import Executable, is_library, is_usable
from service.domain.project.starter.libraries import library_of
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = ("bench", "perf")
_ENABLED: Final = "enabled"  # a choice of options that are features


def meson_options(answer: str) -> tuple[str, ...]:
    """Return the arguments that enable the project's own options for benchmarks, the likely ones first.

    Args:
        answer: the output of ``--buildoptions``.

    Raises:
        BadInput: the answer cannot be parsed.
    """
    found = []
    for option in _read(answer):
        name = option["name"]
        # Options of a subproject are named `subproject:option`.
        if option["section"] != "user" or ":" in name or not any(word in name.lower() for word in _WORDS):
            continue
        if option["value"] is False:
            found.append(f"-D{name}=true")
        elif _ENABLED in option.get("choices", ()) and option["value"] != _ENABLED:
            found.append(f"-D{name}={_ENABLED}")
    return tuple(sorted(found, key=len))


def has_default_wraps(answer: str) -> bool:
    """Return whether the project keeps Meson's default for when to use wraps.

    Args:
        answer: the output of ``--buildoptions``.

    Raises:
        BadInput: the answer cannot be parsed.
    """
    return any(each["name"] == "wrap_mode" and each["value"] == "default" for each in _read(answer))


def meson_programs(
    answer: str, build: str, libraries: Mapping[str, Format] = MappingProxyType({})
) -> tuple[Executable, ...]:
    """List the executables that link Google Benchmark, else those of another library; none of subprojects.

    Args:
        answer: the output of ``--targets``.
        build: the build directory, an absolute path.
        libraries: those of sources, by absolute paths.

    Raises:
        BadInput: the answer cannot be parsed.
    """
    found = [
        Executable(target["name"], posixpath.relpath(target["filename"][0], build), library)
        for target in _read(answer)
        if target["type"] == "executable" and not target.get("subproject")
        if (library := _library(target, libraries))
    ]
    usable = [target for target in found if is_usable(target)]
    return tuple(each for each in usable if each.format is Format.GOOGLE) or tuple(usable)


def _library(target: dict[str, Any], libraries: Mapping[str, Format]) -> Format | None:
    """Match by sources and name too: Meson before 1.2 lists no linker arguments. The program is run later."""
    words = [word for source in target["target_sources"] for word in source.get("parameters", ())]
    if any(map(is_library, words)):
        return Format.GOOGLE
    sources = (path for source in target["target_sources"] for path in source.get("sources", ()))
    is_named = "bench" in target["name"].lower()
    return library_of(sources, libraries) or (Format.GOOGLE if is_named else None)


def meson_benchmarks(answer: str, build: str) -> tuple[str, ...]:
    """List the commands that the project declares as benchmarks; paths are relative to the build directory.

    Args:
        answer: the output of ``--benchmarks``.
        build: the build directory, an absolute path.

    Raises:
        BadInput: the answer cannot be parsed.
    """
    prefix = f"{build}/"
    found = (shlex.join(word.removeprefix(prefix) for word in each["cmd"]) for each in _read(answer))
    return tuple(dict.fromkeys(found))


def meson_subprojects(answer: str) -> tuple[str, tuple[str, ...]]:
    """Return the directory of subprojects, and the names of those in use.

    Args:
        answer: the output of ``--projectinfo``.

    Raises:
        BadInput: the answer cannot be parsed.
    """
    try:
        (found,) = _read(f"[{answer}]")
        return found["subproject_dir"], tuple(each["name"] for each in found["subprojects"])
    except (KeyError, TypeError, ValueError):
        raise _unreadable() from None


def _read(answer: str) -> list[dict[str, Any]]:
    try:
        read = json.loads(answer)
    except ValueError:
        read = None
    if not isinstance(read, list):
        raise _unreadable()
    return read


def _unreadable() -> BadInput:
    return BadInput("its answer cannot be read", "meson introspect")
