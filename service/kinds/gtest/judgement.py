"""The judgement of a build that compared the durations of tests."""

from __future__ import annotations

from service.kinds.pair_judgement import judge

__all__ = ["judge"]
