"""Copy the artifacts that another store lacks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.building import ArtifactStore

_CHUNK: Final = 1 << 20
_PARTS: Final = tuple(f"{place:02x}" for place in range(256))  # few enough keys at once for any memory


@dataclass(frozen=True, slots=True)
class Copied:
    """Number of copied artifacts, and the keys of those that are damaged where they came from."""

    count: int
    damaged: tuple[str, ...]


def copy_artifacts(source: ArtifactStore, target: ArtifactStore, report: Callable[[int], None]) -> Copied:
    """Copy what ``target`` lacks, each checked against its key; ``report`` gets the number after each.

    A damaged artifact is left out: it cannot be used anywhere. One that is deleted meanwhile is, too.
    """
    count, damaged = 0, []
    for part in _PARTS:
        there = {each.key for each in target.listed(part)}
        for key in sorted({each.key for each in source.listed(part)} - there):
            try:
                _copy(source, target, key)
            except BadInput:
                damaged.append(key)
            except NotFound:
                continue
            else:
                count += 1
                report(count)
    return Copied(count, tuple(damaged))


def _copy(source: ArtifactStore, target: ArtifactStore, key: str) -> None:
    with source.packed(key) as packed, closing(target.receive(key)) as incoming:
        while data := packed.read(_CHUNK):
            incoming.take(data)
        incoming.publish()
