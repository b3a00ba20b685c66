"""Store which changes and branches the review server shows without sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import Connected
from service.ports.review.changes import Visibility

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_HIDE: Final = text("UPDATE change SET is_public = false, is_private = true WHERE id = :change_id")
_SHOW: Final = text("""
UPDATE change SET is_public = number = ANY(cast(:visible AS integer[])) AND NOT is_private
WHERE instance = :instance AND number = ANY(cast(:asked AS integer[]))
""")
_SHOW_BRANCHES: Final = text("""
INSERT INTO public_branch (instance, project, branch)
SELECT DISTINCT instance, project, branch FROM change
WHERE instance = :instance AND number = ANY(cast(:visible AS integer[])) AND is_public
ON CONFLICT DO NOTHING
""")
_HIDDEN: Final = text("""
SELECT number FROM change JOIN public_branch USING (instance, project, branch)
WHERE instance = :instance AND number > :after AND NOT is_public AND NOT is_private
ORDER BY number LIMIT :limit
""")
_BRANCHES: Final = text("""
SELECT DISTINCT project, branch FROM change WHERE instance = :instance ORDER BY project, branch
""")
_OPEN_BRANCH: Final = text("""
INSERT INTO public_branch (instance, project, branch) VALUES (:instance, :project, :branch)
ON CONFLICT DO NOTHING
""")
_CLOSE_BRANCH: Final = text("""
DELETE FROM public_branch WHERE instance = :instance AND project = :project AND branch = :branch
""")
_CLOSE_CHANGES: Final = text("""
UPDATE change SET is_public = false
WHERE instance = :instance AND project = :project AND branch = :branch AND is_public
""")


class PostgresVisibility(Connected, Visibility):
    """Public changes and branches."""

    @override
    def hide_change(self, change_id: int) -> None:
        self._execute(_HIDE, {"change_id": change_id})

    @override
    def record_visible(self, instance: str, asked: Collection[int], visible: Collection[int]) -> None:
        keys = {"instance": instance, "asked": sorted(asked), "visible": sorted(visible)}
        self._execute(_SHOW, keys)
        self._execute(_SHOW_BRANCHES, keys)

    @override
    def hidden_changes(self, instance: str, after: int, limit: int) -> Sequence[int]:
        keys = {"instance": instance, "after": after, "limit": limit}
        return list(self._execute(_HIDDEN, keys).scalars())

    @override
    def branches(self, instance: str) -> Sequence[tuple[str, str]]:
        return [(row.project, row.branch) for row in self._execute(_BRANCHES, {"instance": instance})]

    @override
    def record_branch(self, instance: str, project: str, branch: str, *, is_public: bool) -> None:
        keys = {"instance": instance, "project": project, "branch": branch}
        for statement in (_OPEN_BRANCH,) if is_public else (_CLOSE_BRANCH, _CLOSE_CHANGES):
            self._execute(statement, keys)
