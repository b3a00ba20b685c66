"""Add a patch set with its run to a reading in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.ports.review.shown import PatchSetDetail
from service.ports.runs.shown import RunWithBuilds
from tests.support.reading.views import decision_view, patch_set_view, run_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.review.shown import Change
    from service.ports.runs.shown import BuildOfRun, Override
    from service.ports.verdict import Comparison
    from tests.support.reading.fake_reading import FakeReading


def add_patch_set(
    reading: FakeReading,
    change: Change,
    builds: Sequence[tuple[BuildOfRun, Sequence[Comparison]]],
    message: str = "",
    parent: str = "9" * 40,
    overrides: Sequence[Override] = (),
) -> None:
    """Store a patch set, with one run of builds if the change has a ``run_id``."""
    detail = PatchSetDetail(
        change=change,
        patch_set=patch_set_view(change),
        message=f"{change.subject}\n\nChange-Id: I0123456789\n",
        decisions=(),
        runs=(),
        builds=(),
        overrides=tuple(overrides),
        problems=(),
    )
    reading.patch_set_rows.append(detail)
    if change.run_id is not None:
        decisions = (decision_view(change, message),) if change.header else ()
        run = run_view(change, parent)
        reading.runs.append(RunWithBuilds(run, tuple(build for build, _ in builds), decisions))
    reading.rows |= {build.id: list(rows) for build, rows in builds}
