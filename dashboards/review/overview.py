"""List what the first page has beside changes: the week, and what needs somebody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final

from dashboards.formatting import counted
from service.domain.runs.health import SILENT_AFTER
from service.domain.trunk.regression import RegressionList
from service.domain.trunk.week import Week
from service.domain.wording.digest import week_sentence
from service.domain.wording.standing import PoolMachine, hindrance, refuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from fastapi import Request

    from service.domain.machines.closures import Closure
    from service.domain.runs.health import Condition
    from service.ports.failures.reading import EndingKnown
    from service.ports.machines import Machine
    from service.ports.reading import Reading
    from service.ports.trunk import WeekReport

EXPIRING_DAYS: Final = 7
MOST_LINES: Final = 5  # of known failures: the list has them all
_LONG: Final = timedelta(minutes=30)  # a queue whose builds wait longer needs somebody, also if machines work


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
    """Say why no machine begins a build of the pool; empty if one may, or is just busy."""
    of_pool = [each for each in machines if each.pool == pool]
    present = [each for each in of_pool if each.closed_by(now) or not each.is_gone(now)]
    own = [
        PoolMachine(
            each.name,
            each.closure.reason if each.closure and each.closed_by(now) else each.obstacle,
            is_silent=_is_silent(each, now),
            is_busy=each.is_busy,
            closed_by=each.closed_by(now),
        )
        for each in present or of_pool
    ]
    is_at_work = any(each.is_busy and not each.is_silent for each in own)
    return "" if is_at_work else hindrance(own)


def _is_silent(machine: Machine, now: datetime) -> bool:
    return now - machine.last_seen_at > SILENT_AFTER


def _since(moment: datetime, now: datetime) -> str:
    """Write a moment that stays the same at each refresh: ``since 08:12 UTC``, ``since 27 November``."""
    moment = moment.astimezone(UTC)
    is_today = moment.date() == now.astimezone(UTC).date()
    return f"since {moment:%H:%M} UTC" if is_today else f"since {moment.day} {moment:%B}, {moment:%H:%M} UTC"


def _waiting(condition: Condition, hindered: Mapping[str, str]) -> Iterator[Need]:
    for queue in condition.queues:
        is_long = queue.oldest_at is not None and condition.now - queue.oldest_at > _LONG
        if queue.waiting and queue.oldest_at is not None and (is_long or hindered[queue.pool]):
            since = f"the oldest {_since(queue.oldest_at, condition.now)}"
            text = f"{counted(queue.waiting, 'build waits', 'builds wait')} for pool {queue.pool}"
            yield Need("/?q=is%3Awaiting", text, "; ".join(filter(None, (since, hindered[queue.pool]))))


def _unavailable(
    condition: Condition, machines: Sequence[Machine], hindered: Mapping[str, str]
) -> Iterator[Need]:
    """Yield drained hosts, and machines that take no benchmarks if the line of their pool names none."""
    named = {queue.pool for queue in condition.queues if queue.waiting and hindered[queue.pool]}
    drained: dict[str, Closure] = {}
    for each in machines:
        if each.closure and each.closed_by(condition.now):
            drained[each.host] = each.closure
        elif each.is_gone(condition.now):
            continue
        elif _is_silent(each, condition.now):
            since = _since(each.last_seen_at, condition.now)
            yield Need("/machines", each.name, f"has not reported {since}")
        elif each.obstacle and not each.is_busy and each.pool not in named:
            yield Need("/machines", each.name, refuses(each.obstacle))
    for host, closure in drained.items():
        since = _since(closure.begins_at, condition.now)
        yield Need("/machines", host, f"drained by {closure.closed_by} {since}: {closure.reason}")


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
