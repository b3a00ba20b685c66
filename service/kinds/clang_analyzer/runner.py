"""The work on a clang-analyzer build, which is that of clang-tidy with other checks."""

from __future__ import annotations

from service.kinds.clang_tidy.runner import run

__all__ = ["run"]
