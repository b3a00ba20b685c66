"""Describe the sources of a build that spans several repositories."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.sources.submodules import Submodule, redacted
from service.domain.values.identity import digest_of
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = "./"


@dataclass(frozen=True, slots=True)
class OtherProject:
    """A repository beside the project's own.

    Args:
        path: relative to the top; empty for the top itself.
        url: without credentials. On the project's own server it begins with ``./``, because the control plane
            and machines may reach the server by different URLs.
        commit: the commit to check out.
        has_submodules: its submodules are fetched too.
    """

    path: str
    url: str
    commit: str
    has_submodules: bool = False

    @staticmethod
    def url_to_store(url: str, own: str) -> str:
        """Make a URL relative if it begins with ``own``, the prefix of the project's own server."""
        return f"{_OWN}{url[len(redacted(own)) :]}" if url.startswith(redacted(own)) else url

    def fetched(self, own: str) -> Submodule:
        """Return what to fetch, with an absolute URL."""
        url = f"{redacted(own)}{self.url.removeprefix(_OWN)}" if self.url.startswith(_OWN) else self.url
        return Submodule(self.path, self.path, self.commit, url, "project")


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A copy of a file, or a symbolic link; ``source`` and ``target`` are paths below the top."""

    source: str
    target: str
    is_link: bool


@dataclass(frozen=True, slots=True)
class Workspace:
    """All sources of a build, at fixed commits, so that both sides of a comparison get the same.

    Args:
        manifest: the URL of the manifest's repository, without credentials.
        commit: of that repository.
        folder: the path of the project's own repository below the top; empty for the top itself.
        others: the other repositories.
        files: copies and links, made after all repositories are checked out.
        name: the project's name in the manifest; empty if a previous version planned the build.
    """

    manifest: str
    commit: str
    folder: str
    others: tuple[OtherProject, ...] = ()
    files: tuple[PlacedFile, ...] = ()
    name: str = ""

    @property
    def digest(self) -> str:
        """A digest of the sources alone: another manifest may describe the same ones."""
        found = self.to_mapping()
        return digest_of({"workspace": [found["folder"], found["others"], found["files"]]})

    def own_path(self, path: str) -> str:
        """Convert a path below the top to one in the own repository; empty if it is in another."""
        inner = [each.path for each in self.others if _contains(each.path, path)]
        if not _contains(self.folder, path) or any(len(each) > len(self.folder) for each in inner):
            return ""
        return path[len(self.folder) :].lstrip("/")

    def path_below_top(self, path: str) -> str:
        """Convert a path in the own repository to one below the top."""
        return f"{self.folder}/{path}" if self.folder else path

    def path_in_project(self, path: str) -> str:
        """Convert a path below the top to one in the own repository."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path

    def described(self) -> str:
        """Describe the sources for the log of a build, one line per repository."""
        own = f"manifest {plain(self.manifest)} at {self.commit}; the project is in {self.folder or '.'}"
        others = (f"{each.path or '.'}: {plain(each.url)} at {each.commit}" for each in self.others)
        return "".join(f"== {plain(line, 1000)}\n" for line in (own, *others))

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return {
            **{name: getattr(self, name) for name in ("manifest", "commit", "folder", "name")},
            "others": [asdict(each) for each in self.others],
            "files": [asdict(each) for each in self.files],
        }

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> Workspace:
        """Read what :meth:`to_mapping` made."""
        others = tuple(OtherProject(**each) for each in found["others"])
        files = tuple(PlacedFile(**each) for each in found["files"])
        name = found.get("name", "")
        return Workspace(found["manifest"], found["commit"], found["folder"], others, files, name)


def _contains(folder: str, path: str) -> bool:
    return not folder or path.startswith(f"{folder}/")
