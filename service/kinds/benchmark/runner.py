"""The work on a benchmark build: build both sides, and measure them in pairs."""

from __future__ import annotations

from service.kinds.comparing import compare_sides as run

__all__ = ["run"]
