"""Write the sentence for a week, and the digests that begin with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.text import counted, plain
from service.domain.wording.regressions import Mail, MergedSlowdown, as_code, chat_of, mail_of, size_of

if TYPE_CHECKING:
    from datetime import date

    from service.domain.trunk.week import Week

NOTHING_TO_TELL: Final = "no regression was found or fixed in the week, and none is open"
LAST_DAYS: Final = "In the last 7 days"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A project's week as its chat reads it, or one of its owners.

    Args:
        begins: the Monday of the week.
        worst: open regressions, the worst first, perhaps not all.
        page: the address of the lists of regressions.
        is_own: only regressions that the reader had a notice of.
    """

    project: str
    begins: date
    week: Week
    worst: tuple[MergedSlowdown, ...]
    page: str
    is_own: bool


def week_sentence(week: Week, period: str = LAST_DAYS, *, is_own: bool = False) -> str:
    """Write a week as a sentence; ``is_own``: its regressions are the reader's."""
    commits = counted(week.measured, "merged commit") if week.measured else "no merged commit"
    were = "were" if week.measured > 1 else "was"
    faster = f", {week.faster} of them faster" if week.faster else ""
    return f"{period}, {commits} {were} measured{faster}; {_regressions(week, is_own=is_own)}."


def digest_mail(digest: Digest) -> Mail:
    """Write the e-mail with a week's digest."""
    project = plain(digest.project, 60)
    lines = [_sentence(digest)]
    for each in digest.worst:
        place = f"commit {each.culprit} on {plain(each.branch, 100)}"
        commit = "" if each.since else f": {plain(each.subject, 120)}, by {plain(each.author, 60)}"
        lines += ["", f"{plain(each.benchmark, 120)}: {size_of(each)}", f"{place}{commit}", each.page]
    title = f"[Benchgate] {project}: week of {_day(digest.begins)}, {_regressions(digest.week)}"
    return Mail(title, "\n".join((*lines, "", _more(digest))) + "\n")


def digest_chat(digest: Digest) -> str:
    """Write the chat message with a week's digest; names are code."""
    lines = [f"{as_code(digest.project, 100)}: {_sentence(digest)}"]
    for each in digest.worst:
        commit = "" if each.since else f" {as_code(each.subject, 80)} by {as_code(each.author, 60)}"
        place = f"{as_code(each.culprit, 30)} on {as_code(each.branch, 100)}"
        lines.append(f"• {as_code(each.benchmark, 120)} {size_of(each)}, {place}{commit}: {each.page}")
    return "\n".join((*lines, _more(digest)))


Told = MergedSlowdown | Digest
"""Content of a notice."""


def mail_about(told: Told) -> Mail:
    """Write the e-mail of a notice."""
    return digest_mail(told) if isinstance(told, Digest) else mail_of(told)


def chat_about(told: Told) -> str:
    """Write the chat message of a notice."""
    return digest_chat(told) if isinstance(told, Digest) else chat_of(told)


def _sentence(digest: Digest) -> str:
    period = f"In the week of {_day(digest.begins)}"
    return week_sentence(digest.week, period, is_own=digest.is_own)


def _more(digest: Digest) -> str:
    hidden = digest.week.open - len(digest.worst)
    return f"{f'and {hidden} more: ' if hidden > 0 and digest.worst else 'All: '}{digest.page}"


def _regressions(week: Week, *, is_own: bool = False) -> str:
    if not week.is_news:
        return "no regression is open"
    counts = [f"{week.found or 'none'} found", *([f"{week.fixed} fixed"] if week.fixed else [])]
    return f"{'your ' if is_own else ''}regressions: {', '.join(counts)}, {week.open or 'none'} open"


def _day(day: date) -> str:
    return f"{day.day} {day:%B}"
