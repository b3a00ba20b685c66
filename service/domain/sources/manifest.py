"""Read manifests of Google's ``repo``: URL, path and revision of each repository of a project."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.sources.manifest_file import read_elements
from service.domain.sources.submodules import (
    LONGEST,
    folders_of,
    follow,
    may_escape,
    may_mislead,
    redacted,
    server_of,
)
from service.domain.sources.workspace import PlacedFile
from service.domain.values.errors import BadInput
from service.domain.values.text import brief, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.sources.manifest_file import Element

MOST: Final = 200  # projects; the same limit as for submodules
_MOST_FILES: Final = 50  # of a manifest; each may include others
_MOST_ELEMENTS: Final = 5000  # of all files; Android has 1500
_MOST_PLACED: Final = 1000  # files that are copied or linked
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
# Stricter than git, so that `git ls-remote` takes it for neither a pattern nor an option.
_REF: Final = re.compile(r"refs/(?:heads|tags)/(?!.*(?:\.\.|//|@\{))[\w+@#,=][\w.+@#,=/-]{0,199}(?<![./])")
_IS_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\s:]+@[^/\s:]+:")
_PATTERN: Final = re.compile(r"[*?\[]")
_DEFAULT: Final = "default"  # the group of all projects that are not in the group `notdefault`
_OF_LINUX: Final = "platform-linux"  # `repo init` adds this group on Linux


@dataclass(frozen=True, slots=True)
class Project:
    """A project of a manifest.

    Args:
        name: on Gerrit, usually the name of the project there.
        path: relative to the top; empty for the top itself.
        url: without credentials.
        revision: a commit or a ref.
        has_submodules: `repo` would also fetch its submodules.
        files: copied or linked from it.
        where: file and line of the manifest.
    """

    name: str
    path: str
    url: str
    revision: str
    has_submodules: bool = False
    files: tuple[PlacedFile, ...] = ()
    where: str = ""


def read_manifest(
    file: str,
    read: Callable[[str], str | None],
    url: str,
    own: str = "",
    groups: Sequence[str] = (),
) -> tuple[Project, ...]:
    """Read a manifest and its includes as ``repo sync`` does on Linux.

    Args:
        file: the manifest's path in its repository.
        read: returns the text of a file of the repository; None if there is no such regular file.
        url: the URL of the repository, which resolves relative remotes.
        own: the URL prefix of the change's server, which a relative URL cannot leave.
        groups: the groups of projects to take; a minus excludes one. Empty: the default of ``repo``.

    Raises:
        BadInput: the manifest cannot be used; names file, line and element.
    """
    found = _Reader(read, (*(groups or (_DEFAULT,)), _OF_LINUX))
    found.add_file(file, frozenset())
    return found.projects(redacted(url), redacted(own), file)


def find_own(projects: Sequence[Project], name: str, url: str, branch: str, manifest: str) -> Project:
    """Find the project of a change by its name, or else by the end of its URL.

    Args:
        projects: of the manifest.
        name: the project's name on the review server; empty if unknown.
        url: the project's own URL.
        branch: the target branch, which chooses among several paths of the project; empty if unknown.
        manifest: names the manifest in errors.

    Raises:
        BadInput: the manifest does not have the project, or has it at several paths.
    """
    path = redacted(url).rstrip("/").removesuffix(".git")
    # People write repository URLs with and without `.git`.
    names = [(each.name.removesuffix(".git"), each) for each in projects]
    ends = [(own, each) for own, each in names if f"/{path}".endswith((f"/{own}", f":{own}"))]
    longest = max((len(own) for own, _ in ends), default=0)
    same = [each for own, each in names if own == name.removesuffix(".git")] or [
        each for own, each in ends if len(own) == longest
    ]
    # A project of another server may have the same name.
    same = [each for each in same if each.url.removesuffix(".git") == path] or same
    if not same:
        what = f"{brief(name)} ({brief(path)})" if name else brief(path)
        raise BadInput(f"the manifest has no project {what} in its groups", manifest)
    chosen = [each for each in same if each.revision == f"refs/heads/{branch}"]
    if len(same) > 1 and len(chosen) != 1:
        places = listed([each.path or "." for each in same])
        raise BadInput(
            f"the manifest has the project {same[0].name} at several places: {places}; Benchgate chooses the "
            "one whose revision is the target branch",
            manifest,
        )
    return chosen[0] if len(same) > 1 else same[0]


class _Listed:
    """A ``project`` element, with the groups of the files that include it."""

    def __init__(self, element: Element, groups: frozenset[str]) -> None:
        self.element = element
        self.groups = groups
        self.name, self.path = element.required("name"), _place_of(element)
        self.names = {"name": self.name.strip("/"), "path": self.path or "."}


@dataclass
class _Reader:
    """Collects the elements of all files in the reading order of ``repo``."""

    read: Callable[[str], str | None]
    groups: Sequence[str]
    remotes: dict[str, Element] = field(default_factory=dict)
    default: Element | None = None
    listed: list[_Listed] = field(default_factory=list)
    files: int = 0
    elements: int = 0

    def add_file(self, name: str, groups: frozenset[str], where: str = "") -> None:
        """Read a file, and add its projects to ``groups`` too."""
        self.files += 1
        if self.files > _MOST_FILES:
            raise BadInput(f"more than {_MOST_FILES} files are included", where)
        text = None if len(name) > LONGEST or may_escape(name) else self.read(name)
        if text is None:
            raise BadInput(f"the manifest's repository has no regular file {brief(name)}", where)
        for element in read_elements(text, name):
            self.elements += 1
            if self.elements > _MOST_ELEMENTS:
                raise BadInput(f"the manifest has more than {_MOST_ELEMENTS} elements", element.where)
            self._add(element, groups)

    def _add(self, element: Element, groups: frozenset[str]) -> None:
        match element.name:
            case "include":
                self.add_file(element.required("name"), groups | _groups(element), element.where)
            case "remote":
                known = self.remotes.setdefault(element.required("name"), element)
                if known.attributes != element.attributes:
                    raise BadInput(
                        f"`remote` {brief(known.required('name'))} is also at {known.where}", element.where
                    )
            case "default":
                kept = self.default or element
                # `repo` ignores a later one without attributes.
                if element.attributes and kept.attributes != element.attributes:
                    raise BadInput(f"`default` is also at {kept.where}", element.where)
                self.default = kept
            case "project":
                self.listed.append(_Listed(element, groups))
            case _:
                self._remove(element)

    def _remove(self, element: Element) -> None:
        wanted = {name: value.strip("/") for name, value in element.attributes.items() if name != "optional"}
        if not wanted:
            raise BadInput("`remove-project` needs a `name` or a `path`", element.where)
        kept = [each for each in self.listed if not wanted.items() <= each.names.items()]
        if len(kept) == len(self.listed) and not element.says("optional"):
            raise BadInput("`remove-project` names no project that is listed before", element.where)
        self.listed = kept

    def projects(self, url: str, own: str, file: str) -> tuple[Project, ...]:
        """Return the projects in the requested groups."""
        chosen = [self._project(each, url, own) for each in self.listed if self._is_chosen(each)]
        if len(chosen) > MOST:
            raise BadInput(f"the manifest has {len(chosen)} projects; allowed are {MOST}", file)
        if sum(len(each.files) for each in chosen) > _MOST_PLACED:
            raise BadInput(f"the manifest copies and links more than {_MOST_PLACED} files", file)
        _require_places(chosen)
        return tuple(chosen)

    def _is_chosen(self, project: _Listed) -> bool:
        """Return whether the groups select a project; the last group that names it decides."""
        groups = project.groups | _groups(project.element)
        more = {"all", f"name:{project.name}", f"path:{project.path or '.'}"}
        own = groups | more | (set() if "notdefault" in groups else {_DEFAULT})
        decisive = [each for each in self.groups if each.removeprefix("-") in own]
        return bool(decisive) and not decisive[-1].startswith("-")

    def _project(self, project: _Listed, url: str, own: str) -> Project:
        element, name, path = project.element, project.name, project.path
        default = self.default.attributes if self.default else {}
        remote_name = element.attributes.get("remote") or default.get("remote", "")
        if remote_name not in self.remotes:
            raise BadInput(f"there is no `remote` {brief(remote_name)} for `project`", element.where)
        remote = self.remotes[remote_name]
        revisions = (element.attributes, remote.attributes, default)
        revision = next(filter(None, (each.get("revision") for each in revisions)), "")
        if not revision:
            raise BadInput("`project` has no revision, and neither has `default`", element.where)
        address = redacted(f"{_base_of(remote, url, own)}{name}")
        for label, text, is_bad in (("name", name, may_escape), ("address", address, may_mislead)):
            if len(text) > LONGEST or is_bad(text):
                raise BadInput(f"`project` has the {label} {brief(text)}: not allowed", element.where)
        with_submodules = element.says("sync-s")
        if with_submodules is None and self.default:
            with_submodules = self.default.says("sync-s")
        files = tuple(_placed(each, path) for each in element.children)
        ref = _ref_of(revision, element.where)
        return Project(name, path, address, ref, bool(with_submodules), files, element.where)


def _require_places(projects: Sequence[Project]) -> None:
    """Raise BadInput if two projects or files have the same path."""
    taken: dict[str, Project] = {}
    for each in projects:
        if (other := taken.setdefault(each.path, each)) is not each:
            raise BadInput(f"`project` {brief(other.name)} has the same path", each.where)
    for each in projects:
        for target in (file.target for file in each.files):
            if target in taken:
                name = brief(taken[target].name)
                raise BadInput(f"the dest {brief(target)} is a place of `project` {name} too", each.where)
            taken[target] = each


def _groups(element: Element) -> frozenset[str]:
    return frozenset(filter(None, re.split(r"[,\s]+", element.attributes.get("groups", ""))))


def _place_of(element: Element) -> str:
    """Return the path of a project, which must stay below the top."""
    path = (element.attributes.get("path") or element.required("name")).rstrip("/")
    return "" if path == "." else _inner(path, "path", element)


def _inner(path: str, label: str, element: Element) -> str:
    if len(path) > LONGEST or may_escape(path) or ".repo" in path.lower().split("/"):
        raise BadInput(f"`{element.name}` has the {label} {brief(path)}: not allowed", element.where)
    return path


def _placed(element: Element, folder: str) -> PlacedFile:
    source, target = (element.required(name).rstrip("/") for name in ("src", "dest"))
    if _PATTERN.search(source):
        raise BadInput(f"`{element.name}` has a pattern as `src`: name each file", element.where)
    is_link = element.name == "linkfile"
    if not (is_link and source == "."):
        source = f"{folder}/{_inner(source, 'src', element)}".lstrip("/")
    else:
        source = folder
    return PlacedFile(source, _inner(target, "dest", element), is_link)


def _ref_of(revision: str, where: str) -> str:
    if _COMMIT.fullmatch(revision):
        return revision
    ref = revision if revision.startswith("refs/") else f"refs/heads/{revision}"
    if not _REF.fullmatch(ref):
        raise BadInput(f"the revision {brief(revision)} is no branch, tag or whole commit ID", where)
    return ref


def _base_of(remote: Element, url: str, own: str) -> str:
    """Resolve the ``fetch`` of a remote to a URL prefix, as ``repo`` does."""
    fetch = remote.required("fetch")
    if _IS_ABSOLUTE.match(fetch):
        return f"{fetch.rstrip('/')}/"
    begin = own if own and url.startswith(own) else server_of(url)
    is_rooted = fetch.startswith("/")
    folders = [] if is_rooted else folders_of(url, begin)[:-1]
    follow(fetch, folders)
    path = "".join(f"{each}/" for each in folders)
    whole = server_of(begin) + path  # it may contain the folder of the own server, such as /srv/git
    return whole if is_rooted and whole.startswith(begin) else begin + path
