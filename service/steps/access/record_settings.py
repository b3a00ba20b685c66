"""Record the settings of a starting program in the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind, body_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.access import AuditLog
    from service.ports.store import Store

# Newest entries searched for a program's last one; if it is not among them, it is recorded again.
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """A program of Benchgate that starts on a host."""

    command: str
    host: str


def record_settings(
    store: Store, log: AuditLog, program: StartedProgram, settings: Mapping[str, str]
) -> bool:
    """Record the settings of a starting program; return False if they did not change since last time.

    ``settings`` maps variables to values, without secrets.
    """
    entries = log.newest(_MOST, AuditKind.SETTINGS)
    own = (entry for entry in entries if StartedProgram(entry.actor, entry.subject) == program)
    last = next(own, None)
    if last is not None and last.body == body_of(settings):
        return False
    with store.transaction() as tx:
        tx.audit.record_act(AuditKind.SETTINGS, program.command, program.host, settings)
    return True
