"""The judgement of a benchmark build."""

from __future__ import annotations

from service.kinds.pair_judgement import judge

__all__ = ["judge"]
