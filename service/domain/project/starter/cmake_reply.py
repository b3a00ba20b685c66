"""Parse the reply of CMake's file API (cmake-file-api(7)): cache and benchmark programs of a project."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from service.domain.project.benchmark import Format
from service.domain.project.starter.libraries import library_of
from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

QUERIES: Final = ("codemodel-v2", "cache-v2")
"""Names of the empty files to create in ``.cmake/api/v1/query`` of the build directory."""

_API: Final = "CMake's file API"
_LIBRARY: Final = re.compile(r"(?:^|[\s/])(?:lib|-l)benchmark(?:_main)?(?:\.(?:a|so|lib)[\d.]*)?(?=\s|$)")
_INCLUDED: Final = re.compile(r"(?:^|/)(?:google-?)?benchmark(?:-src)?/include/?$")
_OWN: Final = "benchmark"  # the library that only Google Benchmark's own project defines
# A name that CMake, a shell and YAML read alike, and none of them as an option.
_PLAIN: Final = re.compile(r"(?!-)[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A cache entry; ``kind`` is CMake's: BOOL, PATH, STRING, INTERNAL and so on."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Executable:
    """An executable with benchmarks; its path is relative to the build directory if it is below."""

    name: str
    path: str
    format: Format = Format.GOOGLE


@dataclass(frozen=True, slots=True)
class CMakeReply:
    """A configured project.

    ``configuration`` is that of ``programs``, or empty if the generator has only one. ``programs`` are the
    executables that link Google Benchmark, except its own. ``unusable`` are those that :func:`is_usable`
    rejects. ``others`` are executables with benchmarks of other libraries.
    """

    cache: Mapping[str, CacheEntry]
    configuration: str
    programs: tuple[Executable, ...]
    unusable: tuple[Executable, ...] = ()
    others: tuple[Executable, ...] = ()

    @property
    def linking(self) -> int:
        """The number of executables that link Google Benchmark, usable or not."""
        return len(self.programs) + len(self.unusable)


def parse_reply(files: Mapping[str, str], others: Mapping[str, Format] = MappingProxyType({})) -> CMakeReply:
    """Parse the files of a reply directory, given by name.

    ``others`` has the sources, relative to the project's directory, that use another library.

    Raises:
        BadInput: they do not answer the queries.
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
        found = tuple(_programs(chosen, targets, others))
        programs = [each for each in found if each.format is Format.GOOGLE]
        configuration = chosen["name"] if index["cmake"]["generator"]["multiConfig"] else ""
        if configuration and not _PLAIN.fullmatch(configuration):
            raise BadInput(f"the name of its configuration {plain(configuration)} is unusual", _API)
        return CMakeReply(
            {each["name"]: CacheEntry(each["type"], each["value"]) for each in cache["entries"]},
            configuration,
            tuple(each for each in programs if is_usable(each)),
            tuple(each for each in programs if not is_usable(each)),
            tuple(each for each in found if each.format is not Format.GOOGLE and is_usable(each)),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BadInput(f"its reply cannot be read: {error!r}", _API) from None


def _programs(
    configuration: Mapping[str, Any], targets: list[dict[str, Any]], others: Mapping[str, Format]
) -> Iterator[Executable]:
    for summary, target in zip(configuration["targets"], targets, strict=True):
        project = configuration["projects"][summary["projectIndex"]]
        is_top = "parentIndex" not in project
        siblings = [targets[place] for place in project.get("targetIndexes", ())]
        libraries = {each["name"] for each in siblings if each["type"].endswith("_LIBRARY")}
        if target["type"] != "EXECUTABLE" or (not is_top and _OWN in libraries):
            continue
        sources = (each["path"] for each in target.get("sources", ()))
        library = Format.GOOGLE if _links(target) else library_of(sources, others)
        if library is None:
            continue
        source = target["paths"]["source"]
        # A path outside the project, such as a download's, is absolute.
        if posixpath.isabs(source) or source.split("/")[0] == "..":
            continue
        for artifact in target["artifacts"]:
            path = artifact["path"]
            if posixpath.basename(path) == target.get("nameOnDisk"):
                yield Executable(target["name"], path, library)


def is_usable(target: Executable) -> bool:
    """Return whether the path is below the build directory, and no shell, YAML or command can misread it."""
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
