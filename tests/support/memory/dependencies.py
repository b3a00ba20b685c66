"""Dependencies and other repositories of builds, from sources in memory."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from service.domain.project.dependencies import CMAKE_FILE, cmake_file
from service.domain.sources.workspace import OtherProject, Workspace
from service.domain.values.errors import BadInput
from service.domain.values.identity import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from service.domain.project.dependencies import Dependency
    from service.domain.project.manifest_key import ManifestKey


@dataclass
class MemoryDependencies:
    """Files by the URL of their source; ``fault`` is raised instead of providing them."""

    root: Path
    sources: dict[str, Mapping[str, str]] = field(default_factory=dict)
    fault: Exception | None = None

    def provide(self, wanted: Mapping[str, Dependency], watch: Callable[[], None]) -> Path:
        watch()
        if self.fault is not None:
            raise self.fault
        key = {name: [each.source, each.sha256, each.commit] for name, each in wanted.items()}
        place = self.root / digest_of({"wanted": key})
        for name, dependency in wanted.items():
            if dependency.source not in self.sources:
                raise BadInput(f"{dependency.source}: there is no such source", f"dependency {name}")
            for path, text in self.sources[dependency.source].items():
                if dependency.is_file(name):
                    place.mkdir(parents=True, exist_ok=True)
                    (place / name).write_text(text)
                    continue
                (place / name / path).parent.mkdir(parents=True, exist_ok=True)
                (place / name / path).write_text(text)
        (place / CMAKE_FILE).write_text(cmake_file(wanted))
        return place


@dataclass(kw_only=True)
class MemoryManifest:
    """The commits of other projects by path, and the folder of the project itself."""

    others: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    bad_manifest: Exception | None = None
    laid_out: list[tuple[str, Workspace | None]] = field(default_factory=list)

    def workspace(self, project: str, branch: str, wanted: ManifestKey) -> Workspace:
        if self.bad_manifest is not None:
            raise self.bad_manifest
        others = tuple(OtherProject(path, f"{wanted.git}/{path}", at) for path, at in self.others.items())
        return Workspace(wanted.git, "0" * 40, self.folder, others)

    @contextmanager
    def lay_out(self, revision: str, workspace: Workspace | None, files: Mapping[str, str]) -> Iterator[Path]:
        self.laid_out.append((revision, workspace))
        with tempfile.TemporaryDirectory() as name:
            place = Path(name) / (workspace.folder if workspace else "")
            for path, text in files.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text(text)
            yield Path(name)
