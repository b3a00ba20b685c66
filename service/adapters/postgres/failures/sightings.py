"""Sightings of a signature: the columns of their query, and values from its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from service.adapters.postgres.failures.builds_in_scope import HAS_PASSED
from service.domain.failures.evidence import Sighting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import RowMapping

# Of a build ``b``, one of its runs ``r``, its patch set ``p`` and failure ``found``, which may be missing.
# A pattern has no failure of its own. It needs the set ``passed``.
SIGHTING: Final = f"""
    coalesce(cast(p.change_id AS text), r.revision) AS change, r.revision, coalesce(r.parent, '') AS parent,
    r.tree, r.parent_tree, split_part(coalesce(b.machine, ''), '/', 1) AS host, b.finished_at,
    coalesce(found.is_cleared, false) AS is_cleared,
    coalesce(found.is_cleared, false) OR {HAS_PASSED} AS passed_on_retry
"""


def sightings_of(rows: Sequence[RowMapping]) -> tuple[Sighting, ...]:
    """Make the sightings of a signature; a parent among them fails too, or a commit with an equal tree.

    Args:
        rows: all of the signature in a scope, with the columns of :data:`SIGHTING`.
    """
    failed = [row for row in rows if not row["is_cleared"]]
    revisions, trees = {row["revision"] for row in failed}, {row["tree"] for row in failed} - {None}
    return tuple(_sighting(row, revisions, trees) for row in rows)


def _sighting(row: RowMapping, revisions: set[Any], trees: set[Any]) -> Sighting:
    return Sighting(
        change=row["change"],
        revision=row["revision"],
        parent=row["parent"],
        host=row["host"],
        at=row["finished_at"],
        fails_on_parent=row["parent"] in revisions or row["parent_tree"] in trees,
        passed_on_retry=row["passed_on_retry"],
    )
