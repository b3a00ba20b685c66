"""The dependencies of builds, from sources in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.errors import BadInput
from service.domain.identity import digest_of
from service.domain.project.dependencies import CMAKE_FILE, cmake_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.domain.project.dependencies import Dependency


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
