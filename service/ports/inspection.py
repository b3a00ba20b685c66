"""What the steps need to know of built trees: the files that programs load or read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.domain.building.built_files import BuiltFile


class Inspector(Protocol):
    """Tells whether built trees differ in anything that a program could load or read. Raises Transient."""

    def inspect(self, build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
        """Every file of a build directory by its relative path; None where that cannot be told."""
