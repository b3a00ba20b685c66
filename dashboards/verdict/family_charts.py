"""Draw the levels of a family of benchmarks in small charts of one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from dashboards.verdict.comparison_table import sign_of, word_of
from dashboards.verdict.trend_cards import level_text
from dashboards.verdict.trend_lines import JUDGED
from service.domain.values.text import change, counted
from service.domain.verdict.inference.estimate import MeasuredRatio, ratio_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import Step, join_unchanged, level_line
from service.domain.verdict.trend.thinning import thinned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from service.domain.verdict.trend.line import CommitLevel
    from service.ports.verdict import Family, Series, SeriesWithSteps

_MOST_DRAWN: Final = 80  # commits of a chart, which is about 300 pixels wide
_LEAST: Final = 0.02  # span of the scale, about 2 %: noise below it would look like news
_BEYOND: Final = 0.25  # of the lines' span: how far intervals may widen the scale
_MOST_TICKS: Final = 6
_IN_PERCENT: Final = 1.5  # span up to which ticks have equal distances in percent, as from −50 % to +120 %
_UP: Final = "▲"


class Tick(NamedTuple):
    """A labelled height of the scale."""

    y: float
    text: str


class Mark(NamedTuple):
    """A commit that is slower or faster; the triangle points to where the value moved."""

    x: float
    y: float
    verdict: Verdict
    is_up: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A member's line with the band of its interval, in units of the drawing.

    ``now`` is how far its newest commit is from an older one, and ``last`` which commit was slower or faster
    last, with its run; ``words`` describe the line. Without measured commits all but ``series`` are empty.
    """

    WIDTH: ClassVar[int] = 340
    HEIGHT: ClassVar[int] = 110
    LEFT: ClassVar[int] = 58  # of the line; labels are beside it
    RIGHT: ClassVar[int] = WIDTH - 8
    TOP: ClassVar[int] = 8
    BOTTOM: ClassVar[int] = HEIGHT - 8

    series: Series
    line: str = ""
    band: str = ""
    marks: tuple[Mark, ...] = ()
    now: str = ""
    last: str = ""
    last_run: int | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Charts:
    """The charts of a family, all from ``begin`` to ``end``.

    ``is_cut``: a band leaves its chart; ``has_gaps``: a line has several parts.
    """

    charts: tuple[Chart, ...]
    ticks: tuple[Tick, ...]
    begin: datetime | None
    end: datetime | None
    is_cut: bool = False
    has_gaps: bool = False


class _Spot(NamedTuple):
    """A commit with its level, drawn at ``height``: ln(commit ÷ the commit at 0), and its interval."""

    step: Step
    level: CommitLevel
    height: float
    low: float
    high: float


class _Line(NamedTuple):
    """The drawn commits of a member; ``judged`` are all that are slower or faster, of ``commits``."""

    spots: Sequence[_Spot]
    judged: Sequence[Step]
    commits: int


@dataclass(frozen=True, slots=True)
class _Scale:
    begin: datetime
    end: datetime
    low: float
    high: float

    def x(self, moment: datetime) -> str:
        share = (moment - self.begin) / (self.end - self.begin) if self.end > self.begin else 1.0
        return f"{Chart.LEFT + share * (Chart.RIGHT - Chart.LEFT):.1f}"

    def y(self, height: float) -> float:
        share = (self.high - min(max(height, self.low), self.high)) / (self.high - self.low)
        return round(Chart.TOP + share * (Chart.BOTTOM - Chart.TOP), 1)


def charts_of(family: Family, since: str = "") -> Charts:
    """Draw the level of each member since a commit; empty or unknown: its oldest one.

    All charts have the same axes, and equal ratios have equal heights. Intervals that are far wider than the
    lines are cut at the edge.
    """
    members, unchanged = family.members, _unchanged(family, since)
    lines = [_line(each, unchanged, since) for each in members]
    spots = [spot for line in lines for spot in line.spots]
    if not spots:
        return Charts(tuple(Chart(each.series) for each in members), (), None, None)
    moments = [spot.step.moment for spot in spots]
    lowest, highest = min(spot.low for spot in spots), max(spot.high for spot in spots)
    low, high = _span([spot.height for spot in spots], (lowest, highest))
    scale = _Scale(min(moments), max(moments), low, high)
    return Charts(
        tuple(_chart(each.series, line, scale) for each, line in zip(members, lines, strict=True)),
        _ticks(scale),
        scale.begin,
        scale.end,
        is_cut=lowest < low or highest > high,
        has_gaps=any(len({spot.level.since for spot in line.spots}) > 1 for line in lines),
    )


def _unchanged(family: Family, since: str) -> list[Step]:
    """Return as few steps as join all commits of a family: thousands of them would cost time in each line."""
    steps = (Step(each.revision, each.parent, each.moment, 0.0, 0.0) for each in family.untouched)
    kept = chain.from_iterable(map(_commits_of, family.members))
    return [*join_unchanged(steps, {since, *kept})]


def _commits_of(member: SeriesWithSteps) -> Iterator[str]:
    return (commit for each in (*member.steps, *member.anchors) for commit in (each.parent, each.revision))


def _line(member: SeriesWithSteps, unchanged: Sequence[Step], since: str) -> _Line:
    """Level the commits that the branch has; choose those that are drawn."""
    begin = min((each.moment for each in member.steps), default=None)
    later = (each for each in unchanged if begin is not None and each.moment >= begin)
    joining = join_unchanged(later, {since, *_commits_of(member)})
    line = level_line((*member.steps, *joining), since, member.anchors)
    newest: Mapping[str, Step] = {
        each.revision: each for each in member.steps if each.log is not None and each.verdict is not None
    }
    found = [(newest[each], line.levels[each]) for each in line.followed if each in newest]
    judged = [place for place, (step, _) in enumerate(found) if step.verdict in JUDGED]
    kept = thinned([level.offset + level.log for _, level in found], judged, _MOST_DRAWN)
    return _Line([_spot(*found[place]) for place in kept], [found[place][0] for place in judged], len(found))


def _spot(step: Step, level: CommitLevel) -> _Spot:
    return _Spot(step, level, *(level.offset + each for each in (level.log, level.low, level.high)))


def _span(heights: Sequence[float], ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of the scale: room for all lines, and for intervals within reason."""
    low, high = min(0.0, *heights), max(0.0, *heights)
    missing = max(_LEAST - (high - low), 0.0) / 2
    low, high = low - missing, high + missing
    room = _BEYOND * (high - low)
    return max(low - room, min(low, ends[0])), min(high + room, max(high, ends[1]))


def _ticks(scale: _Scale) -> tuple[Tick, ...]:
    """Label round percentages, or powers of a factor on a scale that they would crowd at its upper end."""
    is_in_percent = scale.high - scale.low <= _IN_PERCENT
    low, high = map(math.expm1, (scale.low, scale.high)) if is_in_percent else (scale.low, scale.high)
    span = (high - low) / _MOST_TICKS
    if is_in_percent:
        power = 10.0 ** math.floor(math.log10(span))
        sizes = [each * power for each in (1, 2, 5, 10)]
    else:
        sizes = [math.log(2), math.log(4), math.ceil(span / math.log(10)) * math.log(10)]
    size = next(each for each in sizes if span <= each)
    heights = {}
    for number in range(math.ceil(low / size), math.floor(high / size) + 1):
        height = math.log1p(number * size) if is_in_percent else number * size
        heights[change(ratio_of(height)) if number else "0 %"] = height
    return tuple(Tick(scale.y(height), text) for text, height in heights.items())


def _chart(series: Series, line: _Line, scale: _Scale) -> Chart:
    spots, metric = line.spots, series.metric
    if not spots:
        return Chart(series)
    parts = [[*part] for _, part in groupby(spots, key=lambda spot: spot.level.since)]
    drawn = [_drawn(part, scale) for part in parts]
    low, high = (change(ratio_of(end(spot.height for spot in spots))) for end in (min, max))
    return Chart(
        series,
        line=" ".join(path for path, _ in drawn),
        band=" ".join(path for _, path in drawn),
        marks=tuple(_mark(spot, metric, scale) for spot in spots if spot.step.verdict in JUDGED),
        now=level_text(spots[-1].level),
        last=f"{_sign(line.judged[-1], metric)} {_word(line.judged[-1], metric)}" if line.judged else "",
        last_run=line.judged[-1].run_id if line.judged else None,
        words=f"{counted(line.commits, 'commit')} between {low} and {high}, {len(line.judged)} of them "
        f"{word_of(Verdict.SLOWER, metric)} or {word_of(Verdict.FASTER, metric)}",
    )


def _drawn(part: Sequence[_Spot], scale: _Scale) -> tuple[str, str]:
    """Draw a line, and the band around it: along the upper ends of its intervals, back along the lower ones.

    A height holds until the next commit, which changes it.
    """
    xs = [scale.x(spot.step.moment) for spot in part]
    ys, lows, highs = (
        [*map(scale.y, each)]
        for each in zip(*((spot.height, spot.low, spot.high) for spot in part), strict=True)
    )
    back = _stairs(xs[:0:-1], lows[-2::-1], lows[-1])
    return (
        f"M{xs[0]} {ys[0]:g}{_stairs(xs[1:], ys[1:], ys[0])}H{xs[-1]}",
        f"M{xs[0]} {highs[0]:g}{_stairs(xs[1:], highs[1:], highs[0])}H{xs[-1]}V{lows[-1]:g}{back}H{xs[0]}Z",
    )


def _stairs(xs: Sequence[str], ys: Sequence[float], y: float) -> str:
    """Draw from the height ``y`` to others, each at its place."""
    drawn = []
    for x, following in zip(xs, ys, strict=True):
        if following != y:
            y = following
            drawn.append(f"H{x}V{y:g}")
    return "".join(drawn)


def _mark(spot: _Spot, metric: str, scale: _Scale) -> Mark:
    verdict = spot.step.verdict or Verdict.SAME
    is_up = _sign(spot.step, metric) == _UP
    return Mark(float(scale.x(spot.step.moment)), scale.y(spot.height), verdict, is_up)


def _sign(step: Step, metric: str) -> str:
    ratio = None if step.log is None else ratio_of(step.log)
    return sign_of(step.verdict or Verdict.SAME, MeasuredRatio(ratio=ratio, low=None, high=None), metric)


def _word(step: Step, metric: str) -> str:
    return f"{word_of(step.verdict or Verdict.SAME, metric)} {step.moment:%Y-%m-%d}"
