"""The repositories of a project besides its own, each with its place and commit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.sources.submodules import Submodule, shown
from service.domain.values.identity import digest_of
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = "./"


@dataclass(frozen=True, slots=True)
class OtherProject:
    """A repository beside the project's own.

    Args:
        path: its place below the top; empty for the top itself.
        url: its address, without credentials. That on the project's own server begins with ``./``, because
            the control plane and machines may reach the server by different addresses.
        commit: of which it has the files.
        has_submodules: its submodules are filled too.
    """

    path: str
    url: str
    commit: str
    has_submodules: bool = False

    @staticmethod
    def url_to_store(url: str, own: str) -> str:
        """Make the ``url`` of an address; ``own`` is what those of the project's own server begin with."""
        return f"{_OWN}{url[len(shown(own)) :]}" if url.startswith(shown(own)) else url

    def fetched(self, own: str) -> Submodule:
        """Return the commit to fetch, by its whole address."""
        url = f"{shown(own)}{self.url.removeprefix(_OWN)}" if self.url.startswith(_OWN) else self.url
        return Submodule(self.path, self.path, self.commit, url, "project")


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A copy of a file, or a symbolic link; ``source`` and ``target`` are paths below the top."""

    source: str
    target: str
    is_link: bool


@dataclass(frozen=True, slots=True)
class Workspace:
    """All sources of a build: the place of the project's own repository, and everything beside it.

    It has commits, no branches, so that both sides of a comparison get the same.

    Args:
        manifest: the address of the repository whose manifest it follows, without credentials.
        commit: of that repository.
        folder: the place of the project's own repository below the top; empty for the top itself.
        others: the other repositories.
        files: are put there afterwards.
        name: of the project in the manifest; empty if a previous version planned the build.
    """

    manifest: str
    commit: str
    folder: str
    others: tuple[OtherProject, ...] = ()
    files: tuple[PlacedFile, ...] = ()
    name: str = ""

    @property
    def digest(self) -> str:
        """A digest of all that programs can depend on; another manifest may describe the same sources."""
        found = self.to_mapping()
        return digest_of({"workspace": [found["folder"], found["others"], found["files"]]})

    def own_path(self, path: str) -> str:
        """Make a path below the top one of the project's own repository; empty if another one has it."""
        inner = [each.path for each in self.others if _contains(each.path, path)]
        if not _contains(self.folder, path) or any(len(each) > len(self.folder) for each in inner):
            return ""
        return path[len(self.folder) :].lstrip("/")

    def path_below_top(self, path: str) -> str:
        """Make a path of the project's own repository one below the top."""
        return f"{self.folder}/{path}" if self.folder else path

    def described(self) -> str:
        """Describe the sources for the log of a build, a line for each repository."""
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
