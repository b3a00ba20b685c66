"""The files of built trees that programs load or read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.domain.building.built_files import BuiltFile


class Inspector(Protocol):
    """A reader of built trees, by which two of them can be compared. Raises Transient."""

    def inspect(self, build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
        """Return every file of a build directory by its relative path; None if they cannot all be read."""
