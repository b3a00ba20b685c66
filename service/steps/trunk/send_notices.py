"""Send notices of regressions and weekly digests: each once, also if the sender dies in between."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.trunk.notice import NoticeState
from service.domain.trunk.regression import RegressionList
from service.domain.trunk.week import end_of
from service.domain.values.errors import NotFound, Permanent, Transient
from service.domain.wording.digest import NOTHING_TO_TELL, Digest
from service.domain.wording.regressions import NOBODY_NEEDS_IT, PRIVATE, UNKNOWN_FAULT
from service.ports.trunk import ToldIn, as_told
from service.steps.trunk.find_explanation import find_explanation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from service.domain.review.links import Links
    from service.domain.trunk.notice import Channel
    from service.domain.wording.digest import Told
    from service.ports.reading import BuildReading
    from service.ports.trunk import DueNotice, DueNotices, Notifier, RegressionDetail, RegressionReading

_LOG: Final = structlog.get_logger(__name__)
_LONGEST: Final = 3600.0  # seconds between two attempts
_MOST_ATTEMPTS: Final = 100  # four days


def send_notices(
    notices: DueNotices,
    reading: RegressionReading,
    builds: BuildReading,
    notifiers: Mapping[Channel, Notifier],
    links: Links,
) -> int:
    """Send each notice that is due, and return how many were sent; it says why if ``builds`` know that.

    A notice is marked right before it leaves. If the sender dies then, nobody knows whether it arrived, and
    it is not sent again: the lists have the regression.

    Raises:
        Transient: one could not be sent now; all others were tried.
    """
    sent, fault = 0, None
    for due in notices.due_notices():
        try:
            sent += _send(notices, reading, builds, notifiers, links, due)
        except Transient as error:
            fault = error
        except Exception:  # noqa: BLE001 - one that cannot be sent keeps no other from its recipient
            _LOG.exception("notice.failed", notice=due.id, channel=due.recipient.channel)
            notices.settle_notice(due.id, NoticeState.FAILED, UNKNOWN_FAULT)
    if fault is not None:
        raise fault
    return sent


def _send(
    notices: DueNotices,
    reading: RegressionReading,
    builds: BuildReading,
    notifiers: Mapping[Channel, Notifier],
    links: Links,
    due: DueNotice,
) -> bool:
    notifier = notifiers.get(due.recipient.channel)
    if notifier is None:
        notices.settle_notice(due.id, NoticeState.DROPPED)
        return False
    has_left = False
    try:
        due, told = _content(reading, builds, notifier, links, due)
        begin = partial(notices.begin_notice, due.id)
        has_left = notifier.send(due, told, begin)
        if has_left:
            notices.settle_notice(due.id, NoticeState.SENT)
    except NotFound as error:
        notices.settle_notice(due.id, NoticeState.DROPPED, str(error))
    except Permanent as error:
        _LOG.warning("notice.failed", notice=due.id, channel=due.recipient.channel, error=str(error))
        notices.settle_notice(due.id, NoticeState.FAILED, str(error))
    except Transient as error:
        if due.attempts >= _MOST_ATTEMPTS:
            notices.settle_notice(due.id, NoticeState.FAILED, str(error))
        else:
            wait = min(10.0 * 2.0 ** min(due.attempts, 20), _LONGEST)
            notices.postpone_notice(due.id, error.retry_after or wait, str(error))
        raise
    return has_left


def _content(
    reading: RegressionReading, builds: BuildReading, notifier: Notifier, links: Links, due: DueNotice
) -> tuple[DueNotice, Told]:
    """Return a notice with what it tells now; raises NotFound with the reason why nobody needs it."""
    if due.week is not None:
        is_open = notifier.is_open(due.project)
        seen = reading.seen_by(None) if is_open else reading
        return replace(due, is_public=is_open), _digest(seen, links, due, due.week)
    if due.regression_id is None or due.is_private:
        raise NotFound(PRIVATE)
    detail = reading.regression(due.regression_id)
    if _is_over(detail):
        raise NotFound(NOBODY_NEEDS_IT)
    _, why = find_explanation(builds, detail.regression.worst) or (0, None)
    return due, as_told(detail.regression, links, why)


def _digest(reading: RegressionReading, links: Links, due: DueNotice, week: date) -> Digest:
    told = ToldIn(due.instance, due.project, due.recipient.address)
    report = reading.week(end_of(week), told)
    worst = [each for each in report.worst if not reading.regression(each.id).is_made_up]
    counts = replace(report.week, open=report.week.open - len(report.worst) + len(worst))
    if not counts.is_news:
        raise NotFound(NOTHING_TO_TELL)
    return Digest(
        project=due.project,
        begins=week,
        week=counts,
        worst=tuple(as_told(each, links) for each in worst),
        page=links.regressions,
        is_own=bool(told.address),
    )


def _is_over(detail: RegressionDetail) -> bool:
    return detail.regression.list is RegressionList.CLOSED or detail.is_made_up
