"""Choose the findings and the lines of explanations that a comment on the change can place."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.findings import Finding
from service.domain.measuring.lint.touched_lines import touched
from service.domain.values.errors import BadInput, Permanent, Transient
from service.steps.sources.fetch_sides import fetch_sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.verdict.explanation.explanation import Explanation
    from service.ports.sources import Source


def own_findings(spec: BuildSpec, source: Source, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Choose the findings that a comment on the change can place: in its repository, on lines of its files.

    A merge with the branch moves the lines of a file that both have changed.
    """
    if spec.workspace is not None:
        placed = ((each, spec.workspace.own_path(each.path)) for each in findings)
        findings = tuple(replace(each, path=path) for each, path in placed if path)
    if not findings or spec.patch.merge is None:
        return tuple(findings)
    moved = frozenset(source.changed_paths(spec.project, spec.patch.pushed, spec.patch.commit))
    return tuple(each for each in findings if each.path not in moved)


def with_touched_lines(
    spec: BuildSpec, source: Source, found: Sequence[Explanation]
) -> tuple[Explanation, ...]:
    """Add its main line to each explanation, if the job wants comments and the patch set touches the line.

    An explanation without is better than none, so nothing is added if the source fails.
    """
    wanted = [Finding(*line, str(at)) for at, each in enumerate(found) if (line := each.main_line)]
    if not spec.job.line_comments or not wanted or spec.base is None:
        return tuple(found)
    try:
        fetch_sides(source, spec)
        own = own_findings(spec, source, wanted)
        endings = {posixpath.splitext(each.path)[1] or each.path for each in own}
        base, patch = spec.base.commit, spec.patch.commit
        lines = source.changed_lines(spec.project, base, patch, endings) if own else {}
    except (BadInput, Permanent, Transient):
        return tuple(found)
    chosen = {int(each.text): (each.path, each.line) for each in touched(own, lines)}
    return tuple(replace(each, touched=chosen.get(at)) for at, each in enumerate(found))
