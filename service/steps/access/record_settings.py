"""The settings at start, in the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind, body_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.access import AuditLog
    from service.ports.store import Store

_ACTOR: Final = "benchgate serve"


def record_settings(store: Store, log: AuditLog, host: str, settings: Mapping[str, str]) -> bool:
    """Record the settings of a web server that starts; return False if they are those recorded last.

    Args:
        store: where the entry is appended.
        log: the log, to be read.
        host: the name of the web server's host.
        settings: values by the names of their variables, without secrets.
    """
    last = log.newest(1, AuditKind.SETTINGS)
    if last and last[0].body == body_of(settings):
        return False
    with store.transaction() as tx:
        tx.record_act(AuditKind.SETTINGS, _ACTOR, host, settings)
    return True
