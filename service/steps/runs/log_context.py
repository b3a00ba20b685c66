"""Bind what a task works on to its log lines, so that one run or change can be followed through all parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from structlog.contextvars import bind_contextvars

if TYPE_CHECKING:
    from service.domain.review.change import Review
    from service.domain.values.identity import ChangeKey
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord

_REF: Final = re.compile(r"refs/changes/[0-9]+/([0-9]+)/([0-9]+)")
_RUN: Final = re.compile(r"\bruns?/([0-9]+)[/#]")


def bind_run(run: RunRecord) -> None:
    """Let every later log line of this task name the run, its change and its patch set."""
    change = name_of(run.change) if run.change else None
    bind_contextvars(run=run.id, change=change, patch_set=run.patch_set)


def bind_build(build: BuildRecord) -> None:
    """Let every later log line of this task name the build, its change and its patch set."""
    bind_contextvars(**names_of_build(build))


def names_of_build(build: BuildRecord) -> dict[str, str | int]:
    """Return the names of the build, its change and its patch set, for a line of the log."""
    found = _REF.fullmatch(str(build.spec.get("patch", {}).get("ref", "")))
    change, patch_set = found.groups() if found else (None, None)
    named: dict[str, str | int] = {"build": f"{build.job}/{build.number}"}
    if patch_set:
        named |= {"change": f"{build.spec['instance']}~{change}", "patch_set": int(patch_set)}
    return named


def bind_review(review: Review, key: str) -> None:
    """Let every later log line of this task name the review, its change, and the run in its key."""
    bind_change(review.change)
    run = _RUN.search(key)
    bind_contextvars(review=review.marker, revision=review.revision, run=int(run[1]) if run else None)


def bind_change(change: ChangeKey, patch_set: int | None = None) -> None:
    """Let every later log line of this task name the change, and its patch set if it is known."""
    bind_contextvars(change=name_of(change), patch_set=patch_set)


def name_of(change: ChangeKey) -> str:
    """Name a change as its pages' addresses do when there are several review servers."""
    return f"{change.instance}~{change.number}"
