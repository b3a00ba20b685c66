"""List what the first page has beside changes: the week, and what needs somebody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final

from dashboards.formatting import counted
from service.domain.trunk.regression import RegressionList
from service.domain.trunk.week import Week
from service.domain.values.text import duration
from service.domain.wording.digest import week_sentence
from service.domain.wording.standing import PoolMachine, hindrance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from fastapi import Request

    from service.domain.runs.health import Condition
    from service.ports.failures.reading import EndingKnown
    from service.ports.machines import Machine
    from service.ports.reading import Reading
    from service.ports.trunk import WeekReport

EXPIRING_DAYS: Final = 7
MOST_LINES: Final = 5  # of known failures: the list has them all
_SILENT: Final = timedelta(minutes=2)  # as /readyz: a machine reports every few seconds


@dataclass(frozen=True, slots=True)
class Overview:
    """Sources of the first page beside changes, as the caller of a request sees them.

    Args:
        week: returns the last seven days.
        ending: returns the known failures that need somebody, some more than the page lists.
        names: returns the caller's names on the review servers; none: they did not sign in.
    """

    week: Callable[[Request], WeekReport | None] = lambda _: None
    ending: Callable[[Request], Sequence[EndingKnown]] = lambda _: ()
    names: Callable[[Request], tuple[str, ...]] = lambda _: ()


NO_OVERVIEW: Final = Overview()


@dataclass(frozen=True, slots=True)
class Need:
    """A line about what needs somebody: a link, and what follows it."""

    path: str
    text: str
    more: str = ""


def summary_of(reading: Reading, overview: Overview, request: Request) -> Mapping[str, object]:
    """Return the values of the first page beside its changes."""
    report, machines, condition = overview.week(request), reading.machines(), reading.condition()
    hindered = {queue.pool: _hindrance(queue.pool, machines, condition.now) for queue in condition.queues}
    needs = chain(
        _regressions(report) if report else (),
        _waiting(condition, hindered),
        _unavailable(condition, machines, hindered),
        _ending(overview.ending(request)),
    )
    has_week = report is not None and report.week != Week()
    return {"week": week_sentence(report.week) if report and has_week else "", "needs": tuple(needs)}


def _regressions(report: WeekReport) -> Iterator[Need]:
    week = report.week
    for of, count in (
        (RegressionList.NEW, week.untriaged),
        (RegressionList.OPEN, week.open - week.untriaged),
    ):
        worst = next((each for each in report.worst if each.list is of), None)
        named = f"{worst.worst.benchmark} {worst.worst.change_text}" if worst else ""
        by = f", by {worst.author}" if worst and worst.author else ""
        more = f"{'the worst is ' if count > 1 else ''}{named}{by}" if worst else ""
        if count:
            yield Need(f"/regressions?list={of}", counted(count, f"{of} regression"), more)


def _hindrance(pool: str, machines: Sequence[Machine], now: datetime) -> str:
    return hindrance(
        [
            PoolMachine(
                each.name,
                each.obstacle,
                is_silent=now - each.last_seen_at > _SILENT,
                is_busy=each.build is not None,
            )
            for each in machines
            if each.pool == pool
        ]
    )


def _waiting(condition: Condition, hindered: Mapping[str, str]) -> Iterator[Need]:
    for queue in condition.queues:
        if queue.waiting and queue.oldest_at is not None:
            since = f"the oldest for {duration((condition.now - queue.oldest_at).total_seconds())}"
            text = f"{counted(queue.waiting, 'build waits', 'builds wait')} for pool {queue.pool}"
            yield Need("/?q=is%3Awaiting", text, "; ".join(filter(None, (since, hindered[queue.pool]))))


def _unavailable(
    condition: Condition, machines: Sequence[Machine], hindered: Mapping[str, str]
) -> Iterator[Need]:
    """Yield the machines that take no builds, unless the line of their pool names them."""
    named = {queue.pool for queue in condition.queues if queue.waiting and hindered[queue.pool]}
    for each in machines:
        if each.is_gone(condition.now):
            continue
        silence = condition.now - each.last_seen_at
        if silence > _SILENT:
            yield Need("/machines", each.name, f"has not reported for {duration(silence.total_seconds())}")
        elif each.obstacle and each.build is None and each.pool not in named:
            yield Need("/machines", each.name, f"takes no builds: {each.obstacle}")


def _ending(found: Sequence[EndingKnown]) -> Iterator[Need]:
    for each in found[:MOST_LINES]:
        bug = f" ({each.bug})" if each.bug else ""
        closed = (
            f"its bug is closed{bug}; it still waives builds until" if each.is_bug_closed else "expires on"
        )
        when = f"{each.expires_at.day} {each.expires_at:%B}"
        more = f"known failure, {closed} {when}{'' if each.is_bug_closed else bug}"
        yield Need(f"/failures/{each.id}", each.name, more)
    if len(found) > MOST_LINES:
        yield Need("/failures", "More known failures", "expire soon, or their bugs are closed")
