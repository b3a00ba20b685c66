"""The work on a build of the tiny kind that compares."""

from __future__ import annotations

from service.kinds.comparing import compare_sides as run

__all__ = ["run"]
