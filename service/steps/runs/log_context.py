"""Bind what a task works on to its log lines, so that one run or change can be followed through all parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structlog.contextvars import bind_contextvars

if TYPE_CHECKING:
    from service.domain.values.identity import ChangeKey
    from service.ports.runs.runs import RunRecord


def bind_run(run: RunRecord) -> None:
    """Let every later log line of this task name the run, its change and its patch set."""
    change = name_of(run.change) if run.change else None
    bind_contextvars(run=run.id, change=change, patch_set=run.patch_set)


def name_of(change: ChangeKey) -> str:
    """Name a change as its pages' addresses do when there are several review servers."""
    return f"{change.instance}~{change.number}"
