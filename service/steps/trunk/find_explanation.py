"""Find what a machine found out about a slower result of a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.errors import NotFound, Transient

if TYPE_CHECKING:
    from service.domain.verdict.explanation.explanation import Explanation
    from service.ports.reading import BuildReading
    from service.ports.trunk import NarrowedRange, RegressedResult


def find_explanation(
    reading: BuildReading, of: RegressedResult | NarrowedRange
) -> tuple[int, Explanation] | None:
    """Return the explanation of a result with its place in the build, if the reader sees the build."""
    try:
        build = reading.build(of.job, of.number).build
    except (NotFound, Transient):  # as while a review server is silent; all else is known
        return None
    named = of.suite, of.benchmark
    items = enumerate(reading.explanations(build.id).items, 1)
    return next(((place, each) for place, each in items if (each.suite, each.benchmark) == named), None)
