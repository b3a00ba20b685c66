"""Copy the artifacts that another store lacks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.building import ArtifactStore
    from service.ports.runs.retention import Retention

_CHUNK: Final = 1 << 20
_PARTS: Final = tuple(f"{place:02x}" for place in range(256))  # few enough keys at once for any memory


@dataclass(frozen=True, slots=True)
class Copied:
    """Number of copied artifacts, and the keys of those that are damaged or were deleted meanwhile."""

    count: int
    damaged: tuple[str, ...]
    deleted: tuple[str, ...] = ()


def copy_artifacts(source: ArtifactStore, target: ArtifactStore, report: Callable[[int], None]) -> Copied:
    """Copy what ``target`` lacks, each checked against its key; ``report`` gets the number after each.

    A damaged artifact is left out: it cannot be used anywhere.
    """
    count = 0
    damaged: list[str] = []
    deleted: list[str] = []
    for part in _PARTS:
        there = {each.key for each in target.listed(part)}
        for key in sorted({each.key for each in source.listed(part)} - there):
            try:
                _copy(source, target, key)
            except BadInput:
                damaged.append(key)
            except NotFound:  # a file may also have a name that is no key
                is_there = any(each.key == key for each in source.listed(key[:4]))
                (damaged if is_there else deleted).append(key)
            else:
                count += 1
                report(count)
    return Copied(count, tuple(damaged), tuple(deleted))


def lacking(retention: Retention, artifacts: ArtifactStore, part: str) -> set[str]:
    """Return the keys of one part that records name and a store does not have."""
    return retention.named(part).keys() - {each.key for each in artifacts.listed(part)}


def _copy(source: ArtifactStore, target: ArtifactStore, key: str) -> None:
    with source.packed(key) as packed, closing(target.receive(key)) as incoming:
        while data := packed.read(_CHUNK):
            incoming.take(data)
        incoming.publish()
