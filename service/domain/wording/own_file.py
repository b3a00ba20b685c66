"""Causes of the check of a patch set's own project file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAVES: Final = (
    "the patch set has no regular file benchgate.yaml: once it is merged, Benchgate ignores the branch"
)
_MOST_JOBS: Final = 20


def plan_changes(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Name the jobs that a valid file adds, removes and changes; empty if there is no difference."""
    kinds = {
        "adds": [name for name in after if name not in before],
        "removes": [name for name in before if name not in after],
        "changes": [name for name in after if name in before and after[name] != before[name]],
    }
    parts = [f"{verb} {_jobs(names)}" for verb, names in kinds.items() if names]
    return (
        f"once merged, benchgate.yaml {', '.join(parts)}; this patch set ran the branch's jobs"
        if parts
        else ""
    )


def _jobs(names: Sequence[str]) -> str:
    return f"job{'s' if len(names) > 1 else ''} {listed(names, _MOST_JOBS)}"
