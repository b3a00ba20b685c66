"""Lines of the log with what is bound to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structlog.contextvars import clear_contextvars, merge_contextvars
from structlog.testing import capture_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def line_of(event: str, work: Callable[[], object]) -> Mapping[str, Any]:
    """Return the only line of an event that some work logs."""
    clear_contextvars()
    with capture_logs(processors=[merge_contextvars]) as lines:
        work()
    clear_contextvars()
    [line] = [line for line in lines if line["event"] == event]
    return line
