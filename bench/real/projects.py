"""Read the projects of a campaign, with the changes to try on them, from TOML files."""

from __future__ import annotations

import re  # noqa: TC003 - pydantic reads the annotations
import tomllib
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from bench.real.results import file_of
from service.domain.project.policy import Policy

_WITHOUT_SLASH: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_REPOSITORY: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
_COMMIT: Final = r"^[0-9a-f]{40}$"
_SHA256: Final = r"^[0-9a-f]{64}$"
_SAME: Final = 100 * Policy().same_within


class BadProjects(Exception):
    """A file of projects that cannot be used; says which entry is wrong."""


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or not parts.parts or ".." in parts.parts:
        raise ValueError("must be a path below the top of the repository")
    return path


def _no_expression(text: str) -> str:
    if ".*" in text or text.startswith("^") or text.endswith("$"):
        raise ValueError("is no regular expression: a part of a name, or a name with `*` for any characters")
    return text


_Path = Annotated[str, AfterValidator(_inside)]


class _Entry(BaseModel):
    """A table of the file; other keys than its own are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Edit(_Entry):
    """Text for a file: behind the lines ``after``, instead of the lines ``replace``, or a whole new file.

    The lines must occur once, exactly.
    """

    file: _Path
    insert: str
    after: str | None = None
    replace: str | None = None

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if self.after is not None and self.replace is not None:
            raise ValueError("has `after` and `replace`: only one of them is possible")
        return self


class Change(_Entry):
    """A commit on top of the base that makes the benchmarks of a pattern slower by ``percent``.

    ``partly`` are benchmarks that it slows down by an unknown amount: they count only if they are called
    faster, broken, removed or new.
    """

    name: str = Field(min_length=1)
    percent: float = Field(ge=0, lt=100)
    edit: tuple[Edit, ...] = Field(min_length=1)
    benchmarks: re.Pattern[str] | None = None
    partly: re.Pattern[str] | None = None

    @model_validator(mode="after")
    def _names_what_it_affects(self) -> Self:
        if self.percent and self.benchmarks is None:
            raise ValueError("has no `benchmarks`: a pattern of those that it makes slower")
        if not self.percent and (self.benchmarks or self.partly):
            raise ValueError("makes nothing slower (percent = 0), so it has no `benchmarks` and no `partly`")
        if 0 < self.percent <= _SAME:
            raise ValueError(f"percent must be 0 or more than {_SAME:g}, which Benchgate may call the same")
        return self

    def affects(self, benchmark: str) -> bool:
        """Return whether it makes the benchmark slower by all its percent."""
        return self.benchmarks is not None and self.benchmarks.search(benchmark) is not None

    def may_affect(self, benchmark: str) -> bool:
        """Return whether it makes the benchmark slower by an unknown amount."""
        is_partly = self.partly is not None and self.partly.search(benchmark) is not None
        return is_partly and not self.affects(benchmark)


class Download(_Entry):
    """A file or archive that the project downloads, and how to make it from a mirror.

    Args:
        url: the address in the project's files.
        repository: the mirror, ``OWNER/NAME``.
        commit: a commit or tag there.
        path: a file of it, or the folder that an archive has; empty: everything.
        prefix: the folder within an archive; None: the file itself is downloaded.
        replace: texts of a file, and what the release has instead.
        sha256: the published hash, which the project's files name.
    """

    url: str = Field(pattern=r"^https://")
    repository: str = Field(pattern=_REPOSITORY)
    commit: str = Field(min_length=1)
    path: str = ""
    prefix: str | None = None
    replace: dict[str, str] = Field(default_factory=dict)
    sha256: str | None = Field(default=None, pattern=_SHA256)


class Mirror(_Entry):
    """A mirror of a dependency that lacks some files: its commit without them.

    Args:
        repository: the mirror, ``OWNER/NAME``.
        commit: the commit or tag that the project fetches.
        without: pathspecs of files to leave out.
        copy_of: files that exist instead of files that the mirror has not, by their paths.
    """

    repository: str = Field(pattern=_REPOSITORY)
    commit: str = Field(min_length=1)
    without: tuple[str, ...] = ()
    copy_of: dict[str, str] = Field(default_factory=dict)


class Project(_Entry):
    """A project with the changes to try.

    Args:
        name: its name in reports and directories.
        repository: its mirror, ``OWNER/NAME``.
        commit: the commit that the changes are based on.
        build_system: for the report.
        dependencies: for the report: how the project gets its dependencies.
        packages: Debian packages that it needs.
        needed: for the report: what was prepared by hand, and why.
        filter: the benchmarks to measure, as for ``benchgate gate --filter``; empty: all.
        without: pathspecs of files that the base leaves out.
        archive: GitHub archives that its files do not name literally, such as
            ``OWNER/NAME/archive/refs/tags/v1.0.zip``.
        download: other downloads.
        mirror: dependencies that are fetched without some of their files.
        edit: changes of the base itself.
        change: the changes to try.
    """

    name: str = Field(pattern=_WITHOUT_SLASH)
    repository: str = Field(pattern=_REPOSITORY)
    commit: str = Field(pattern=_COMMIT)
    build_system: str
    dependencies: str
    packages: tuple[str, ...] = ()
    needed: str = ""
    filter: Annotated[str, AfterValidator(_no_expression)] = ""
    without: tuple[str, ...] = ()
    archive: tuple[str, ...] = ()
    download: tuple[Download, ...] = ()
    mirror: tuple[Mirror, ...] = ()
    edit: tuple[Edit, ...] = ()
    change: tuple[Change, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_distinct_changes(self) -> Self:
        files = [file_of(change.name) for change in self.change]
        if len({*files}) < len(files):
            raise ValueError("has two changes whose names have the same letters and digits")
        return self


class _File(_Entry):
    project: tuple[Project, ...]


def load_projects(place: Path) -> tuple[Project, ...]:
    """Read the projects of a TOML file, or of all ``*.toml`` of a directory in the order of their names.

    Raises:
        BadProjects: a file cannot be used; has a line for each error.
    """
    files = sorted(place.glob("*.toml")) if place.is_dir() else [place]
    projects = [project for file in files for project in _read(file)]
    names = [project.name for project in projects]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadProjects(f"{place}: two projects are called {', '.join(twice)}")
    if not projects:
        raise BadProjects(f"{place}: there is no project")
    return tuple(projects)


def _read(file: Path) -> tuple[Project, ...]:
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadProjects(f"{file}: {error}") from None
    try:
        return _File.model_validate(found).project
    except ValidationError as error:
        lines = [f"{file}: {_place(found, each['loc'])}: {each['msg']}" for each in error.errors()]
        raise BadProjects("\n".join(lines)) from None


def _place(found: Any, location: tuple[int | str, ...]) -> str:  # noqa: ANN401 - any TOML
    """Name the place of an error by the names of the entries that it is in."""
    words: list[str] = []
    for part in location:
        try:
            found = found[part]
        except (IndexError, KeyError, TypeError):
            found = None
        if isinstance(part, str):
            words.append(part)
        else:
            name = found.get("name") if isinstance(found, dict) else None
            words[-1:] = [f"{words[-1]} {name or part + 1}"] if words else [str(part + 1)]
    return ": ".join(words) or "the file"
