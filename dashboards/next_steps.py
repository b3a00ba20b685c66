"""The next steps of a page, from the views of its builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.wording.next_steps import next_steps
from service.steps.reviewers.offered_actions import ended_builds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.wording.next_steps import NextStep
    from service.ports.views import Build, Comparison


def steps_after(
    builds: Sequence[tuple[Build, str, Sequence[Comparison]]], *, is_open: bool
) -> tuple[NextStep, ...]:
    """List the next steps after the finished builds of a run.

    Args:
        builds: each with the override that waives its failure (empty if none does) and its comparisons.
        is_open: comment commands work: the patch set is the newest of an open change.
    """
    permissions = {permission for build, *_ in builds for permission in build.permissions}
    return next_steps(ended_builds(builds), permissions, is_open=is_open)
