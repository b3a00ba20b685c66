"""Try whether artifacts can be stored, listed, read and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Permanent

if TYPE_CHECKING:
    from service.ports.building import ArtifactStore

_NO_AGE: Final = -24 * 3600.0  # whatever the store's clock says


def try_store(artifacts: ArtifactStore, data: bytes) -> None:
    """Store these bytes, which no record names, and delete them.

    Raises:
        Permanent: the store does not list them, or does not delete them.
        Transient: an operation fails; Refused: a right is missing.
    """
    key = artifacts.put(data)
    artifacts.get(key)
    if all(each.key != key for each in artifacts.listed(key[:4])):
        raise Permanent(f"artifact {key} was stored and is not listed")
    if not artifacts.delete(key, _NO_AGE) or any(each.key == key for each in artifacts.listed(key[:4])):
        raise Permanent(f"artifact {key} was deleted and is still there")
