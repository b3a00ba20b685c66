"""Close hosts to new builds, or reopen them, as an operator asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.machines.closures import Closing
    from service.ports.store import Store, Transaction


def close_hosts(store: Store, hosts: Collection[str], closing: Closing, actor: str) -> None:
    """Close all these hosts, or none. Their running builds go on; nothing new begins.

    Args:
        store: keeps the closures, and who asked for them.
        hosts: at least one.
        closing: of each.
        actor: who asks, for the audit log.

    Raises:
        NotFound: no machine of one of the hosts ever registered.
    """
    moments = {"from": closing.begins_at, "until": closing.ends_at}
    given = {name: each.isoformat(timespec="seconds") for name, each in moments.items() if each}
    with store.transaction() as tx:
        for host in sorted(set(hosts)):
            tx.closures.close(host, closing)
            tx.audit.record_act(
                AuditKind.HOST_CLOSED, actor, f"host {host}", {"reason": closing.reason, **given}
            )


def reopen_hosts(store: Store, hosts: Collection[str], actor: str) -> tuple[str, ...]:
    """End the closures of these hosts, or cancel the next one; return the hosts that had some.

    Raises NotFound, and reopens none, if no machine of one of them ever registered.
    """
    with store.transaction() as tx:
        reopened = tuple(host for host in dict.fromkeys(hosts) if tx.closures.reopen(host))
        for host in reopened:
            tx.audit.record_act(AuditKind.HOST_REOPENED, actor, f"host {host}", {})
    return reopened


def hosts_of_pool(tx: Transaction, pool: str) -> tuple[str, ...]:
    """Return the hosts of a pool. Raises BadInput if it has none."""
    if not (hosts := tx.closures.hosts(pool)):
        raise BadInput("no machine of this pool has ever registered", "pool")
    return tuple(hosts)
