"""Answer claims by what a run measured: the ratios, because values belong to the author's machine."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - adapters read the annotation
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from service.domain.claims.values import LEVELS, NearName
from service.domain.measuring.launch_order import threads_of
from service.domain.measuring.metric import RATES, own_clock
from service.domain.measuring.renaming import new_name
from service.domain.project.policy import Policy
from service.domain.verdict.inference.estimate import MeasuredRatio, reach_of_error
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.claims.values import Claim
    from service.domain.project.benchmark import Suite
    from service.domain.project.job import Job
    from service.domain.verdict.inference.reasons import Reason

WRONG: Final = 0.05  # most probability that a message with only true claims gets an adverse answer or LARGER
_UNCHANGED: Final = 0.01  # a smaller claimed difference claims that nothing changed
_REPRODUCED: Final = 0.25  # of the claimed difference (log scale); surely less is not reproduced
_SMALLER, _LARGER = 0.8, 1.25
_HALF, _TWICE = 0.5, 2.0
# Relinks, a second sequence, or the parent against itself may show that the difference is not of the change.
_DOUBTS: Final = (NOT_BY_PAIRS - {ReasonKind.LAYOUT_CONFIRMED}) | {ReasonKind.OWN_DIFFERENCE}


class Answer(StrEnum):
    """Answer to a claim."""

    CONFIRMED = "confirmed"
    SMALLER = "smaller than claimed"
    LARGER = "larger than claimed"
    NOT_REPRODUCED = "not reproduced"
    OPPOSITE = "opposite"
    TOO_NOISY = "too noisy to say"
    NOT_MEASURABLE = "not measurable here"

    @property
    def is_adverse(self) -> bool:
        """Return whether it says that the claim does not hold."""
        return self in ADVERSE


ADVERSE: Final = (Answer.OPPOSITE, Answer.NOT_REPRODUCED, Answer.SMALLER)  # the worst first


class Obstacle(StrEnum):
    """Reason why a claim is not measurable here."""

    NO_RATIO = "the claimed values have no ratio"
    NO_BENCHMARK = "no benchmark of this name was measured"
    SEVERAL_SUITES = "several suites have a benchmark of this name"
    SEVERAL_VARIANTS = "the message has several variants"
    OTHER_VARIANT = "the patch set is another variant"
    NO_METRIC = "the job does not compare this metric"
    OTHER_WORK = "an iteration of the patch does other work"
    NOT_IN_PARENT = "the parent does not have the benchmark"
    NOT_IN_PATCH = "the patch set does not have the benchmark"
    FAILS = "the benchmark fails"
    NO_PAIRS = "there are too few pairs, or a value is 0"
    FEW_CPUS = "the machine has fewer CPUs than the benchmark has threads"
    DOUBTFUL = "the measured difference may come from the programs' layout or the machine"
    SMALL = "the claimed and the measured change are smaller than what the job calls the same"
    FEW_DIGITS = "the printed digits allow too many changes"


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A compared row; ``ratio`` and its interval are patch ÷ base.

    ``same_within`` is that of its job's policy: a smaller change counts as none. ``names_metrics``: its suite
    names the metrics to compare, and all else is not looked at. ``cpus`` are the machine's; 0: unknown.
    ``per``: an iteration does other work, so times are divided by this rate; else empty. ``error``
    is the standard error of the ratio's logarithm; None for a counter that repeats exactly. ``renamed`` maps
    old names to new ones.
    """

    job: str
    suite: str
    benchmark: str
    metric: str
    verdict: Verdict
    pairs: int = 0
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    per: str = ""
    is_same_program: bool = False
    is_doubtful: bool = False
    same_within: float = Policy().same_within
    names_metrics: bool = False
    cpus: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)

    @staticmethod
    def fields_of(job: Job | None, suite: str) -> dict[str, Any]:
        """Return the fields that a job decides; the defaults without one."""
        policy = job.policy if job else Policy()
        own = next((each for each in _suites(job) if each.name == suite), None)
        named, renamed = (bool(own.metrics), own.renamed) if own else (False, {})
        return {"same_within": policy.same_within, "names_metrics": named, "renamed": renamed}

    def with_reasons(self, reasons: Iterable[Reason]) -> MeasuredRow:
        """Return the row with what its reasons say of the work and of the programs."""
        facts = {each.kind: each.facts for each in reasons}
        rate, *_ = facts.get(ReasonKind.WORK_CHANGED, ("",))
        is_same, is_doubtful = ReasonKind.SAME_PROGRAM in facts, not _DOUBTS.isdisjoint(facts)
        return replace(self, per=str(rate), is_same_program=is_same, is_doubtful=is_doubtful)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredClaim(MeasuredRatio):
    """A claim beside what was measured: ``ratio`` is new divided by old, as the claimed metric counts it.

    A field's ``metadata`` describes the field in the API's document.
    """

    line: int = field(metadata={"description": "of the commit message, where the new value stands"})
    benchmark: str
    metric: str
    before: float
    after: float
    unit: str = field(
        metadata={"description": "of a time; `%`: of the old one; empty: as printed, without one"}
    )
    claimed: float | None = field(metadata={"description": "the claimed new value divided by the old one"})
    answer: Answer
    obstacle: str = field(metadata={"description": "why it is not measurable here; else empty"})
    job: str = field(metadata={"description": "the job that measured it; may be empty"})
    measured_metric: str = field(metadata={"description": "the metric that answers it; may be empty"})
    measured_benchmark: str = field(metadata={"description": "its name there, if it was renamed; else empty"})
    near: tuple[NearName, ...] = field(
        metadata={"description": "what it may mean, at most two, if no benchmark of its name was measured"}
    )


def names_of(claims: Iterable[Claim | AnsweredClaim]) -> tuple[str, ...]:
    """Return the names of the benchmarks that may answer claims."""
    return tuple(dict.fromkeys(name for claim in claims for name in _names(claim.benchmark)))


def plain_name(name: str) -> str:
    """Return a name without the suffix of an aggregate."""
    plain, _, last = name.rpartition("_")
    return plain if last in LEVELS else name


def with_new_names(names: Iterable[str], jobs: Iterable[Job | None]) -> tuple[str, ...]:
    """Return the names, each with those that suites of these jobs rename it to."""
    suites = (each for job in jobs for each in _suites(job))
    renames = {tuple(each.renamed.items()): each.renamed for each in suites}.values()  # mostly the same
    found = (each for name in names for each in (name, *(new_name(of, name) for of in renames)))
    return tuple(dict.fromkeys(found))


def _suites(job: Job | None) -> Sequence[Suite]:
    return job.benchmark.suites if job and job.configuration.compares else ()


def answers(claims: Sequence[Claim], rows: Sequence[MeasuredRow]) -> tuple[AnsweredClaim, ...]:
    """Answer each claim, in order.

    Args:
        claims: of one commit message.
        rows: that the run compared, in the order of its jobs; at least those of :func:`names_of`.

    Returns:
        One answer for each claim. If all claims that can be answered are exactly true, the probability that
        any gets an adverse answer or *larger* is at most :data:`WRONG`, as far as the intervals of the rows
        hold. Claims whose benchmark has no row count as if they had one, so an adverse answer stays when rows
        are added.
    """
    variants = _variants(claims)
    timed = {each.benchmark for each in claims if each.metric == "cpu_time"}
    found = [_found(claim, rows, has_cpu_time=claim.benchmark in timed) for claim in claims]
    rows_and_missing = {
        (claim.benchmark, claim.metric) if row is Obstacle.NO_BENCHMARK else row
        for claim, row in zip(claims, found, strict=True)
    }
    family = len(rows_and_missing.difference(Obstacle))
    return tuple(
        _answered(claim, row, family, is_variant=claim.benchmark in variants)
        for claim, row in zip(claims, found, strict=True)
    )


def _variants(claims: Iterable[Claim]) -> frozenset[str]:
    """Return the benchmarks that have several new values of one metric, without other variants."""
    lines: dict[tuple[str, str], set[int]] = {}
    for each in claims:
        if not each.is_other_variant:
            lines.setdefault((each.benchmark, each.metric), set()).add(each.line)
    return frozenset(name for (name, _), of in lines.items() if len(of) > 1)


def _names(claimed: str) -> tuple[str, ...]:
    """Return the claimed name, and the name without the suffix of an aggregate."""
    return claimed, plain_name(claimed)


def _found(claim: Claim, rows: Sequence[MeasuredRow], *, has_cpu_time: bool) -> Obstacle | MeasuredRow:
    """Choose the row that answers a claim, perhaps by a new name: of the first job that can, or of the first.

    Whether one can depends on no measured difference, so the choice makes no answer more likely.
    """
    if claim.is_other_variant:
        return Obstacle.OTHER_VARIANT
    names = _names(claim.benchmark)
    own = next((alike for name in names if (alike := [row for row in rows if row.benchmark == name])), None)
    own = own or [
        row
        for row in rows
        if row.renamed and row.benchmark in (new_name(row.renamed, name) for name in names)
    ]
    if not own:
        return Obstacle.NO_BENCHMARK
    jobs = dict.fromkeys(row.job for row in own)
    by_job = ([row for row in own if row.job == job] for job in jobs)
    found = [_of_job(claim, rows, has_cpu_time=has_cpu_time) for rows in by_job]
    able = (each for each in found if isinstance(each, MeasuredRow) and _obstacle_of(each) is None)
    return next(able, found[0])


def _of_job(claim: Claim, own: Sequence[MeasuredRow], *, has_cpu_time: bool) -> Obstacle | MeasuredRow:
    if len({row.suite for row in own}) > 1:
        return Obstacle.SEVERAL_SUITES
    by_metric = {row.metric: row for row in own}
    other = _alike(claim, own, has_cpu_time=has_cpu_time)
    if (row := by_metric.get(claim.metric) or by_metric.get(other)) is None:
        return Obstacle.NO_METRIC
    return row if row.per in {"", claim.metric} else Obstacle.OTHER_WORK


def _alike(claim: Claim, rows: Sequence[MeasuredRow], *, has_cpu_time: bool) -> str:
    """Return the metric that answers a claim if the job does not compare the claimed one; may be empty.

    Items per second are the reciprocal of the benchmark's own clock while an iteration does the same work.
    The time of one thread may be its CPU time if real time is not compared, which gives no adverse answer;
    but a message that claims both tells them apart. Neither is looked at if the suite names its metrics.
    """
    if any(row.names_metrics for row in rows):
        return ""
    if claim.metric == RATES[0]:
        return own_clock(rows[0].benchmark)
    is_only_time = claim.metric == "real_time" and not has_cpu_time
    return "cpu_time" if is_only_time and threads_of(claim.benchmark) == 1 else ""


_OBSTACLES: Final = {
    Verdict.NEW: Obstacle.NOT_IN_PARENT,
    Verdict.REMOVED: Obstacle.NOT_IN_PATCH,
    Verdict.BROKEN: Obstacle.FAILS,
    Verdict.FAILING: Obstacle.FAILS,
}


def _obstacle_of(row: MeasuredRow) -> Obstacle | None:
    without_pairs = None if _logs(row) else Obstacle.NO_PAIRS
    has_few_cpus = 0 < row.cpus < threads_of(row.benchmark)
    return _OBSTACLES.get(row.verdict, Obstacle.FEW_CPUS if has_few_cpus else without_pairs)


def _logs(row: MeasuredRow) -> tuple[float, ...]:
    """Return the logarithms of ratio and interval; empty without them."""
    ratios = (1.0, 1.0, 1.0) if row.is_same_program else (row.ratio, row.low, row.high)
    known = tuple(log for each in ratios if (log := _log(each)) is not None)
    return known if len(known) == len(ratios) else ()


def _answered(claim: Claim, row: Obstacle | MeasuredRow, family: int, *, is_variant: bool) -> AnsweredClaim:
    if isinstance(row, Obstacle):
        return _told(claim, Answer.NOT_MEASURABLE, row)
    obstacle = Obstacle.SEVERAL_VARIANTS if is_variant else _obstacle_of(row)
    claimed = _log(claim.ratio)
    if claimed is None:
        obstacle = Obstacle.NO_RATIO
    if obstacle is not None or claimed is None:
        return _told(claim, Answer.NOT_MEASURABLE, obstacle, row)
    rounding, margin = claim.rounding, math.log1p(row.same_within)
    if rounding > max(abs(claimed) / 2, margin) or rounding >= abs(claimed) > _UNCHANGED:
        return _told(claim, Answer.NOT_MEASURABLE, Obstacle.FEW_DIGITS, row)
    sign = -1 if claim.metric in RATES and row.metric not in RATES else 1
    centre, *ends = (sign * each for each in _logs(row))
    low, high = sorted(ends)
    reach = _reach(row, family)
    wide = min(low, centre - reach), max(high, centre + reach)
    answer = _answer(claimed, rounding, (low, high), wide, margin)
    # Real time may change with what is waited for, unless the programs are equal.
    is_substitute = claim.metric == "real_time" != row.metric and not row.is_same_program
    if row.is_doubtful:
        obstacle = Obstacle.DOUBTFUL
    elif is_substitute and (answer.is_adverse or answer is Answer.LARGER):
        obstacle = Obstacle.NO_METRIC
    elif answer.is_adverse and max(map(abs, (claimed, low, high))) <= margin:
        obstacle = Obstacle.SMALL
    shown = () if row.is_same_program else map(math.exp, (centre, low, high))
    return _told(claim, Answer.NOT_MEASURABLE if obstacle else answer, obstacle, row, *shown)


def _told(
    claim: Claim, answer: Answer, obstacle: Obstacle | None, row: MeasuredRow | None = None, *shown: float
) -> AnsweredClaim:
    ratio, low, high = shown or (None, None, None)
    return AnsweredClaim(
        ratio=ratio,
        low=low,
        high=high,
        line=claim.line,
        benchmark=claim.benchmark,
        metric=claim.metric,
        before=claim.before,
        after=claim.after,
        unit=claim.unit,
        claimed=claim.ratio,
        answer=answer,
        obstacle=obstacle or "",
        job=row.job if row else "",
        measured_metric=row.metric if row else "",
        measured_benchmark=row.benchmark if row and row.benchmark not in _names(claim.benchmark) else "",
        near=(),
    )


def _log(ratio: float | None) -> float | None:
    return math.log(ratio) if ratio is not None and 0 < ratio < math.inf else None


def _reach(row: MeasuredRow, family: int) -> float:
    """Return the half-width of an interval that misses with the row's share of :data:`WRONG`."""
    error = None if row.is_same_program else row.error
    return reach_of_error(error, row.pairs, WRONG / 2 / family) if error else 0.0


def _answer(
    claimed: float,
    rounding: float,
    shown: tuple[float, float],
    wide: tuple[float, float],
    margin: float,
) -> Answer:
    """Compare logarithms: a claim with the shown interval, and adverse answers with the ``wide`` one.

    Less than ``margin`` is no change.
    """
    if abs(claimed) <= _UNCHANGED:
        return _answer_none(claimed, rounding, shown, wide, margin)
    sign = math.copysign(1.0, claimed)
    low, high = sorted(sign * each for each in shown)
    surely, at_most = sorted(sign * each for each in wide)
    least, most = abs(claimed) - rounding, abs(claimed) + rounding
    if at_most < _REPRODUCED * least:
        return Answer.OPPOSITE if at_most < -margin else Answer.NOT_REPRODUCED
    if surely > 0 and at_most < _SMALLER * least:
        return Answer.SMALLER
    if surely > _LARGER * most:
        return Answer.LARGER
    is_near = low >= _HALF * least and high <= _TWICE * most
    return Answer.CONFIRMED if is_near else Answer.TOO_NOISY


def _answer_none(
    claimed: float, rounding: float, shown: tuple[float, float], wide: tuple[float, float], margin: float
) -> Answer:
    """Answer a claim that nothing changed."""
    if -margin <= shown[0] and shown[1] <= margin:
        return Answer.CONFIRMED
    is_wrong = wide[0] > max(0.0, claimed) + rounding or wide[1] < min(0.0, claimed) - rounding
    return Answer.NOT_REPRODUCED if is_wrong else Answer.TOO_NOISY
