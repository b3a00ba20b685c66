"""Find what two references name, and what is known of the two together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from service.domain.trunk.reference import ReferenceKind, parse_reference
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeAddress
from service.domain.verdict.comparison.combined import goodness, quotient
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.ports.commits import ComparedPatchSet, MergedCommit, PatchSetPair, RatioOfRatios

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.trunk.reference import Reference
    from service.ports.commits import BranchName, CommitPair, CommitReading
    from service.ports.reading import ChangeReading
    from service.ports.verdict import MeasuredPatchSet

    End = tuple[ComparedPatchSet | MergedCommit, MeasuredPatchSet | None]


def compare_references(
    commits: CommitReading, changes: ChangeReading, branch: BranchName, base: str, patch: str
) -> CommitPair | PatchSetPair:
    """Return what two references name: two commits with their runs, or ends that have a patch set.

    Raises:
        BadInput: one names nothing that can be compared, or both name the same.
        NotFound: there is no such commit or patch set, or the caller may not see it.
    """
    first = parse_reference(base, branch.branch, "base")
    second = parse_reference(patch, branch.branch, "patch")
    if ReferenceKind.PATCH_SET not in {first.kind, second.kind}:
        return commits.pair(branch, first, second)
    (one, measured), (other, measured_too) = (
        _end(commits, changes, branch, each) for each in (first, second)
    )
    if one.revision == other.revision:
        raise BadInput("choose two different patch sets or commits: both are one", "patch")
    if measured and measured_too:
        if not measured.has_base_of(measured_too):
            return PatchSetPair(base=one, patch=other, parent=None)
        rows = sorted(_quotients(measured, measured_too), key=_worst_first)
        return PatchSetPair(base=one, patch=other, parent=measured.parent, rows=tuple(rows))
    found = measured or measured_too
    ends = {each.revision for each in (one, other) if isinstance(each, MergedCommit)}
    parent = found.parent if found and found.parent in ends else None
    return PatchSetPair(base=one, patch=other, parent=parent)


def _end(commits: CommitReading, changes: ChangeReading, branch: BranchName, reference: Reference) -> End:
    if reference.change is None:
        return commits.commit(branch, reference), None
    address = ChangeAddress(reference.change.number, reference.change.instance or branch.instance or None)
    detail = changes.patch_set(address, reference.patch_set)
    number = detail.patch_set.number
    newest = changes.measured_patch_sets(address, 1, number + 1).patch_sets
    measured = next((each for each in newest if each.number == number), None)
    shown = ComparedPatchSet(
        change=detail.change.address,
        patch_set=number,
        revision=detail.patch_set.revision,
        subject=detail.patch_set.subject,
        parent=measured.parent if measured else None,
    )
    return shown, measured


def _quotients(base: MeasuredPatchSet, patch: MeasuredPatchSet) -> Iterator[RatioOfRatios]:
    """Yield the rows that both patch sets have; those of one series were measured on one pool."""
    others = {row.series_id: (build.number, row) for build in base.builds for row in build.comparisons}
    for build in patch.builds:
        for row in build.comparisons:
            if row.metric == INSTRUCTIONS.name or row.series_id not in others:
                continue
            number, other = others[row.series_id]
            is_one = number == build.number
            found = None if is_one else quotient(other, row)
            ratio, low, high = (found.ratio, found.low, found.high) if found else (None, None, None)
            yield RatioOfRatios(
                ratio=ratio,
                low=low,
                high=high,
                job=build.job,
                series_id=row.series_id,
                base=other,
                patch=row,
                is_one_result=is_one,
            )


def _worst_first(row: RatioOfRatios) -> float:
    return goodness(row.patch.better, row.ratio) or math.inf
