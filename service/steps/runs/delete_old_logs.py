"""The deletion of old failures and logs: rows first, an hour later the artifacts that nothing else names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from service.ports.building import Artifacts
    from service.ports.upkeep import OldLogs

_BUILDS: Final = 200  # at once: a short transaction, and more than end between two rounds
_ARTIFACTS: Final = 2000  # at once: a second's work
_GRACE: Final = 3600.0  # seconds from storing an artifact to the row that names it, at most


def delete_old_logs(logs: OldLogs, artifacts: Artifacts) -> int:
    """Delete some failures and logs that are kept no longer, and return the number of deleted artifacts.

    A crash between rows and files leaves files that the next round deletes. An artifact that was stored again
    lately is left alone: its new row may be on the way.
    """
    logs.drop_old_failures(_BUILDS)
    logs.drop_old_logs(_BUILDS)
    unneeded = logs.unneeded_artifacts(_ARTIFACTS)
    deleted = sum(artifacts.delete(artifact, _GRACE) for artifact in unneeded)
    logs.drop_artifacts(unneeded)
    return deleted
