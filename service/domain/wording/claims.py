"""Tell how the claims of a commit message held."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import Answer
from service.domain.claims.facts import answers_by_benchmark, facts_of
from service.domain.measuring.metric import metric_named
from service.domain.values.text import both_ends, change, counted, interval
from service.domain.wording.reasons import SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.claims.answers import Answered

_BEGINNING: Final = "Claims of the commit message"
_WORST_FIRST: Final = (Answer.OPPOSITE, Answer.NOT_REPRODUCED, Answer.SMALLER)
_MOST_LINES: Final = 2  # about single claims; the page has all
_NAME: Final = 100  # characters


def claims_sentence(claims: Sequence[Answered]) -> str:
    """Count answers per benchmark, without a period; return nothing without claims."""
    counts = answers_by_benchmark(claims)
    if not counts:
        return ""
    total = counts.total()
    if counts[Answer.NOT_MEASURABLE] == total:
        none = "the benchmark is not" if total == 1 else f"none of {total} benchmarks is"
        return f"{_BEGINNING}: {none} measurable here"
    others = (f", {count} {answer}" for answer, count in counts.items() if answer is not Answer.CONFIRMED)
    confirmed = f"{counts[Answer.CONFIRMED]} of {counted(total, 'benchmark')} confirmed"
    return f"{_BEGINNING}: {confirmed}{''.join(others)}"


def claims_told(claims: Sequence[Answered]) -> tuple[str, ...]:
    """Write the lines of a message about claims, at most three: the counts, and the worst ones.

    The lines are safe to post: authors choose the names.
    """
    adverse = [each for each in facts_of(claims) if each.answer.is_adverse]
    worst = sorted(adverse, key=lambda each: (_WORST_FIRST.index(each.answer), -_distance(each)))
    return tuple(filter(None, [claims_sentence(claims), *map(_line, worst[:_MOST_LINES])]))


def _distance(found: Answered) -> float:
    """Return how far a claim is from what was measured, on the log scale."""
    claimed, measured = found.claim.ratio or 1.0, found.ratio or 1.0
    return abs(math.log(claimed / measured))


def _line(found: Answered) -> str:
    """Write a claim beside what was measured; an adverse answer has a claimed ratio."""
    claim, metric = found.claim, metric_named(found.claim.metric)
    claimed = "" if claim.ratio is None else change(claim.ratio)
    if found.ratio is None or found.low is None or found.high is None:
        measured = SAME_PROGRAM
    else:
        measured = f"measured {change(found.ratio)} {interval(found.low, found.high, found.ratio)}"
    of = metric.label if metric.is_speed else _as_code(metric.name)
    return f"{_as_code(claim.benchmark)}: claimed {claimed} {of}, {measured}: {found.answer}"


def _as_code(name: str) -> str:
    """Quote a name so that nothing in it is a mention, a link or Markdown."""
    quoted = both_ends(name, _NAME).replace("`", "'")
    return f"`{quoted or '?'}`"
