"""Tell how the claims of a commit message held."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import ADVERSE, Answer, Obstacle
from service.domain.claims.facts import answers_by_benchmark, answers_that_count
from service.domain.measuring.metric import metric_named
from service.domain.values.text import both_ends, change, counted, interval
from service.domain.wording.reasons import SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from service.domain.claims.answers import AnsweredClaim
    from service.domain.claims.values import NearName

_BEGINNING: Final = "Claims of the commit message"
_MOST_LINES: Final = 2  # about single claims; the page has all
_NAME: Final = 100  # characters


def claims_sentence(claims: Sequence[AnsweredClaim]) -> str:
    """Count answers per benchmark, without a period; return nothing without claims."""
    return _counted(answers_that_count(claims), ())


def claims_told(claims: Sequence[AnsweredClaim], *, may_follow: Collection[str] = ()) -> tuple[str, ...]:
    """Write the lines of a message about claims, at most three: the counts, the worst ones, and other names.

    ``may_follow`` has the benchmarks that a machine may yet measure because they are claimed. The lines are
    safe to post: authors choose the names.
    """
    found = answers_that_count(claims)
    adverse = [each for each in found if each.answer.is_adverse]
    worst = sorted(adverse, key=lambda each: (ADVERSE.index(each.answer), -_distance(each)))
    lines = [*map(_line, worst), *names_told(each for each in found if not each.answer.is_adverse)]
    return tuple(filter(None, [_counted(found, may_follow), *lines[:_MOST_LINES]]))


def _counted(found: Sequence[AnsweredClaim], may_follow: Collection[str]) -> str:
    """Count the answers that count."""
    if not (total := len(found)):
        return ""
    later = sum(each.obstacle == Obstacle.NO_BENCHMARK and each.benchmark in may_follow for each in found)
    counts = answers_by_benchmark(found)
    counts[Answer.NOT_MEASURABLE] -= later
    following = "; what a filter leaves out may follow on the page" if later else ""
    if total in {later, counts[Answer.NOT_MEASURABLE]}:
        none = "the benchmark is not" if total == 1 else f"none of {total} benchmarks is"
        why, *others = {each.obstacle for each in found}
        said = "compared" if later else "answered" if others else f"answered: {why}"
        return f"{_BEGINNING}: {none} {said}{following}"
    confirmed = counts.pop(Answer.CONFIRMED, 0)
    others = [f", {count} {answer}" for answer, count in (*counts.items(), ("not compared", later)) if count]
    return f"{_BEGINNING}: {confirmed} of {counted(total, 'benchmark')} confirmed{''.join(others)}{following}"


def names_told(found: Iterable[AnsweredClaim]) -> tuple[str, ...]:
    """Write at most two lines about benchmarks that have, or may have, another name here; safe to post."""
    lines = []
    for each in found:
        name = _as_code(each.benchmark)
        if each.measured_benchmark:
            lines.append(f"{name} was measured as {_as_code(each.measured_benchmark)}")
        elif each.near:
            near = " and ".join(_as_code(of.benchmark) for of in each.near)
            lines.append(f"{name}: {each.obstacle}; {near} {differ(each.near)}")
    return tuple(lines[:_MOST_LINES])


def differ(near: Sequence[NearName]) -> str:
    """Say what near names and the claimed one differ in."""
    *others, last = near[0].differs
    what = f"{', '.join(others)} and {last}" if others else last
    return f"differ{'s' if len(near) == 1 else ''} in {what}"


def _distance(found: AnsweredClaim) -> float:
    """Return how far a claim is from what was measured, on the log scale."""
    claimed, measured = found.claimed or 1.0, found.ratio or 1.0
    return abs(math.log(claimed / measured))


def _line(found: AnsweredClaim) -> str:
    """Write a claim beside what was measured; an adverse answer has a claimed ratio."""
    metric = metric_named(found.metric)
    claimed = "" if found.claimed is None else change(found.claimed)
    if found.ratio is None or found.low is None or found.high is None:
        measured = SAME_PROGRAM
    else:
        measured = f"measured {change(found.ratio)} {interval(found.low, found.high, found.ratio)}"
        if found.measured_metric != found.metric:
            measured += f" by {metric_named(found.measured_metric).label}"
    of = metric.label if metric.is_speed else _as_code(metric.name)
    other = f", measured as {_as_code(found.measured_benchmark)}" if found.measured_benchmark else ""
    return f"{_as_code(found.benchmark)}{other}: claimed {claimed} {of}, {measured}: {found.answer}"


def _as_code(name: str) -> str:
    """Quote a name so that nothing in it is a mention, a link or Markdown."""
    quoted = both_ends(name, _NAME).replace("`", "'")
    return f"`{quoted or '?'}`"
