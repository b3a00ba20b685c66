"""The reply of CMake's file API: the cache of a configured project, and its benchmark programs.

The form is that of cmake-file-api(7): an index that names the other files, a code model and a cache.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

QUERIES: Final = ("codemodel-v2", "cache-v2")
"""The objects to ask for, by empty files of these names in ``.cmake/api/v1/query`` of the build directory."""

_API: Final = "CMake's file API"
_LIBRARY: Final = re.compile(r"(?:^|[\s/])(?:lib|-l)benchmark(?:_main)?(?:\.(?:a|so|lib)[\d.]*)?(?=\s|$)")
_INCLUDED: Final = re.compile(r"(?:^|/)(?:google-?)?benchmark(?:-src)?/include/?$")
_OWN: Final = "benchmark"  # the library that only Google Benchmark's own project defines
# A name that means the same to CMake, a shell and YAML, and no option to any of them.
_PLAIN: Final = re.compile(r"(?!-)[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One entry of the cache; ``kind`` is CMake's: BOOL, PATH, STRING, INTERNAL and so on."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Target:
    """An executable: its name, and its path, relative to the build directory if it is below it."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class CMakeReply:
    """A configured project.

    ``configuration`` is the one of ``programs``; it is empty if the generator knows only one. ``programs``
    are the executables that link Google Benchmark, except those of Google Benchmark itself. ``unusable`` are
    those whose path is outside the build directory, or has characters that a shell or YAML could misread,
    or which a command could take for an option.
    """

    cache: Mapping[str, CacheEntry]
    configuration: str
    programs: tuple[Target, ...]
    unusable: tuple[Target, ...] = ()


def parse_reply(files: Mapping[str, str]) -> CMakeReply:
    """Read the files of a reply directory, by their names.

    Raises:
        BadInput: they are no reply to the queries.
    """
    newest = max((name for name in files if name.startswith("index-")), default="")
    if not newest:
        raise BadInput("it left no reply; CMake has it since version 3.14", _API)
    try:
        index = json.loads(files[newest])
        model, cache = (json.loads(files[index["reply"][query]["jsonFile"]]) for query in QUERIES)
        by_name = {each["name"]: each for each in model["configurations"]}
        chosen = by_name.get("Release") or model["configurations"][0]
        targets = [json.loads(files[each["jsonFile"]]) for each in chosen["targets"]]
        programs = tuple(_programs(chosen, targets))
        configuration = chosen["name"] if index["cmake"]["generator"]["multiConfig"] else ""
        if configuration and not _PLAIN.fullmatch(configuration):
            raise BadInput(f"the name of its configuration {plain(configuration)} is unusual", _API)
        return CMakeReply(
            {each["name"]: CacheEntry(each["type"], each["value"]) for each in cache["entries"]},
            configuration,
            tuple(each for each in programs if is_usable(each)),
            tuple(each for each in programs if not is_usable(each)),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BadInput(f"its reply cannot be read: {error!r}", _API) from None


def _programs(configuration: Mapping[str, Any], targets: list[dict[str, Any]]) -> Iterator[Target]:
    for summary, target in zip(configuration["targets"], targets, strict=True):
        project = configuration["projects"][summary["projectIndex"]]
        is_top = "parentIndex" not in project
        siblings = [targets[place] for place in project.get("targetIndexes", ())]
        libraries = {each["name"] for each in siblings if each["type"].endswith("_LIBRARY")}
        if target["type"] != "EXECUTABLE" or (not is_top and _OWN in libraries) or not _links(target):
            continue
        source = target["paths"]["source"]
        # CMake writes a path outside the project, such as that of a download, as an absolute one.
        if posixpath.isabs(source) or source.split("/")[0] == "..":
            continue
        for artifact in target["artifacts"]:
            path = artifact["path"]
            if posixpath.basename(path) == target.get("nameOnDisk"):
                yield Target(target["name"], path)


def is_usable(target: Target) -> bool:
    """Return whether a path is below the build directory, and nothing in it can be misread."""
    return all(_PLAIN.fullmatch(text) for text in (target.name, target.path)) and ".." not in target.path


def is_library(argument: str) -> bool:
    """Return whether an argument of a linker names Google Benchmark."""
    return _LIBRARY.search(argument) is not None


def _links(target: Mapping[str, Any]) -> bool:
    fragments = target.get("link", {}).get("commandFragments", ())
    linked = any(is_library(each["fragment"]) for each in fragments if each["role"] == "libraries")
    groups = target.get("compileGroups", ())
    return linked or any(
        _INCLUDED.search(each["path"]) for group in groups for each in group.get("includes", ())
    )
