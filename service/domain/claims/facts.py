"""Choose the answer of each benchmark: its real time, CPU time and rates are one fact."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from service.domain.claims.answers import Answer, Obstacle, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.claims.answers import AnsweredClaim


def answers_that_count(claims: Iterable[AnsweredClaim]) -> tuple[AnsweredClaim, ...]:
    """Return the answer that counts for each benchmark.

    A claim of the metric that was compared counts; of several, the first adverse one.
    """
    facts: dict[str, AnsweredClaim] = {}
    claims = tuple(claims)
    renamed = {each.benchmark: each.measured_benchmark for each in claims if each.measured_benchmark}
    for each in claims:
        name = plain_name(renamed.get(each.benchmark, each.benchmark))
        if _rank(each) < _rank(facts.setdefault(name, each)):
            facts[name] = each
    return tuple(facts.values())


def answers_by_benchmark(found: Iterable[AnsweredClaim]) -> Counter[Answer]:
    """Return how many of the answers that count are each, in the order of :class:`Answer`."""
    counts = Counter(each.answer for each in found)
    return Counter({answer: counts[answer] for answer in Answer if counts[answer]})


def _rank(each: AnsweredClaim) -> tuple[bool, bool, bool, bool]:
    is_other_variant = each.obstacle == Obstacle.OTHER_VARIANT  # says nothing of the patch set
    is_other_metric = each.measured_metric != each.metric
    return each.answer is Answer.NOT_MEASURABLE, is_other_variant, is_other_metric, not each.answer.is_adverse
