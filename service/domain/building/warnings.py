"""Warnings of GCC, Clang and MSVC in the log of a build, with their files and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.building.compiler_messages import WARNING, messages_in

if TYPE_CHECKING:
    from service.domain.building.findings import Finding

MOST_WARNINGS: Final = 10_000  # the lines that a patch set touches are selected from these


def warnings_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """Find the warnings of a build in order, at most :data:`MOST_WARNINGS`, as ``messages_in``."""
    return messages_in(log, sources, WARNING, MOST_WARNINGS)
