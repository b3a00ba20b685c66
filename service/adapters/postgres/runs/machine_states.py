"""Tell in SQL what keeps a machine m from a build; ``shut`` is the closure of its host, if it is closed."""

from __future__ import annotations

from typing import Final

from service.domain.machines.disk import in_sql
from service.domain.runs.health import SILENT_AFTER
from service.ports.machines import GONE_DAYS

IS_SILENT: Final = f"m.last_seen_at < now() - interval '{SILENT_AFTER.total_seconds():.0f} seconds'"
# Nobody waits for it, unless it was the last of its pool.
IS_GONE: Final = f"""m.last_seen_at < (
    SELECT max(last_seen_at) - interval '{GONE_DAYS} days' FROM machine AS newest WHERE newest.pool = m.pool
)"""  # noqa: S608 - put together from constants
WITH_CLOSURE: Final = "machine AS m LEFT JOIN current_closure AS shut ON shut.host = m.host"
IS_CLOSED: Final = "EXISTS (SELECT FROM current_closure AS shut WHERE shut.host = m.host)"
# Machines of one host share its CPUs.
IS_BUSY: Final = """EXISTS (
    SELECT FROM machine AS other JOIN lease AS held ON held.machine = other.name
    WHERE other.host = m.host AND held.expires_at > now()
)"""


def obstacle_to(is_exclusive: str) -> str:
    """Return the obstacle of a machine to a build: to one that need not be alone, a closure or full disk."""
    counts = f"{is_exclusive} OR {in_sql('m.obstacle')}"
    return f"coalesce(shut.reason, CASE WHEN {counts} THEN m.obstacle ELSE '' END)"
