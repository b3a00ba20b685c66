"""A branch with three merged commits, to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.ports.commits import BranchName
from tests.integration.postgres.trunk.regression_site import SAME, Site
from tests.support.trunk import key

if TYPE_CHECKING:
    from tests.support.postgres import Database

PLACE = {"instance": "review", "project": "kv_engine", "branch": "master"}
BRANCH = BranchName(**PLACE)
FIRST, SECOND, THIRD = (f"{number:040x}" for number in (1, 2, 3))


def three_merged(database: Database) -> Site:
    """Merge three commits on a branch that everybody may read."""
    site = Site(database)
    for _ in range(3):
        site.merge({key("BM_a"): SAME, key("BM_b"): SAME}, {key("BM_a"): SAME})
    database.change("UPDATE change SET is_public = true")
    database.change(
        "INSERT INTO public_branch (instance, project, branch) VALUES (:instance, :project, :branch)",
        **PLACE,
    )
    return site
