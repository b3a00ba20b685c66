"""Describe overrides and known failures: the person, the decision and the reason."""

from __future__ import annotations

import math
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.failures.known import MAX_BUG
from service.domain.measuring.metric import metric_named
from service.domain.review.comment_commands import MAX_REASON
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.values.text import change, interval, plain
from service.domain.wording.known_failures import bug_closed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.failures.evidence import Rate
    from service.domain.failures.known import KnownFailure
    from service.domain.runs.slowdown import Slowdown
    from service.domain.runs.waivers import Beyond, Waiver

_FORMS: Final[Mapping[OverrideKind, str]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overridden by {who}",
        OverrideKind.ACCEPT: "{filter} accepted by {who}",
        OverrideKind.UNDO: "overrides revoked by {who}",
        OverrideKind.TRUST: "allowed to run by {who}",
        OverrideKind.PERSON_VOTE: "overridden on the review server by {who}",
    }
)
_MOST_BEYOND: Final = 3  # lines of a message; the page has all rows
_NO_RATES: Final[Mapping[int, Rate]] = MappingProxyType({})


def waiver_sentence(waiver: Waiver, rates: Mapping[int, Rate] = _NO_RATES) -> str:
    """Explain in a message why the failure of a build does not count.

    ``rates`` has the rates of known failures by id; without one, the count is left out.
    """
    if isinstance(waiver, Override):
        return override_sentence(waiver)
    named = (known_sentence(each, rates.get(each.id)) for each in waiver.distinct)
    return f"does not count: {'; '.join(named)}"


def known_sentence(known: KnownFailure, rate: Rate | None = None) -> str:
    """Describe a known failure: the bug, the owner, the expiry, the reason and how often it occurs."""
    owner, reason = _person(known.owner), plain(known.reason, MAX_REASON)
    counted = "" if rate is None else f"failed {rate.failed} of {rate.builds} builds in 30 days"
    closed = bug_closed(known.bug) if known.is_bug_closed else ""
    why = "; ".join(filter(None, (reason, counted, closed)))
    named = f"known failure {plain(known.bug, MAX_BUG)} ({owner}, until {known.expires_at:%Y-%m-%d})"
    return f"{named}: {why}" if why else named


def bug_comment(builds: int, link: str) -> str:
    """Write the comment on a bug: how many builds its known failures matched so far.

    The first line depends only on the number, so that a comment that was already posted is recognised.
    """
    failed = "one failed build" if builds == 1 else f"{builds} failed builds"
    return f"Benchgate: known failures of this bug matched {failed} until now.\n{link}"


def override_sentence(override: Override) -> str:
    """Write the line of a message with the person, the decision and the reason."""
    who, benchmarks = _person(override.who), plain(override.filter)
    decided = _FORMS[override.kind].format(who=who, filter=benchmarks)
    if override.carried_from:
        decided += f" on patch set {override.carried_from}"
    reason, bug = plain(override.reason, MAX_REASON), plain(override.bug)
    is_named = re.search(rf"(?<![\w-]){re.escape(bug)}(?![\w-])", reason) is not None
    suffix = f" ({bug})" if bug and not is_named else ""
    return f"{decided}: {reason}{suffix}" if reason else f"{decided}{suffix}"


def accepted_levels(levels: Sequence[Slowdown] | None) -> tuple[str, ...]:
    """Write the highest level that an accept covers, by metric: ``Hash/Insert CPU time up to +12.9 %``.

    Job and suite are named if there are several.
    """
    are_many = len({(each.job, each.suite) for each in levels or ()}) > 1
    return tuple(
        f"{_name_of(each)}{_place(each) if are_many else ''} "
        + (f"up to {_size(each, each.most)}" if math.isfinite(each.most) else "at any size")
        for each in levels or ()
    )


def beyond_sentences(beyond: Sequence[Beyond]) -> tuple[str, ...]:
    """Write the lines of a message about accepted benchmarks that count again, the worst first."""
    worst_first = sorted(beyond, key=lambda each: -each.row.worsening)
    lines = tuple(map(_beyond_sentence, worst_first[:_MOST_BEYOND]))
    more = len(beyond) - _MOST_BEYOND
    return (*lines, f"{more} more worse than accepted") if more > 0 else lines


def _beyond_sentence(beyond: Beyond) -> str:
    row, who = beyond.row, _person(beyond.accept.who)
    before = (
        f"accepted up to {_size(row, beyond.level)} by {who}"
        if math.isfinite(beyond.level)
        else f"not slower{_place(row)} when {who} accepted {plain(beyond.accept.filter)}"
    )
    now = _size(row, row.worsening)
    if math.isfinite(row.most):
        low, high = sorted((row.ratio(row.least), row.ratio(row.most)))
        now += f" {interval(low, high, row.ratio(row.worsening))}"
    return f"{_name_of(row)}: {before}, now {now}"


def _person(name: str) -> str:
    return plain(name) or "somebody"


def _name_of(row: Slowdown) -> str:
    return f"{plain(row.benchmark)} {plain(metric_named(row.metric).label)}"


def _place(row: Slowdown) -> str:
    return f" in {plain(row.job)}/{plain(row.suite)}" if row.job else ""


def _size(row: Slowdown, worsening: float) -> str:
    return change(row.ratio(worsening))
