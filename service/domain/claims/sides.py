"""Decide which table shows which side, and join the rows of two sides to claims."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from service.domain.claims.values import SCATTERS, Claim, Fault, Refusal, Role, Unreadable
from service.domain.claims.words import quotient
from service.domain.measuring.formats.row import PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.claims.values import Row, Table
    from service.domain.claims.words import Line

_LONGEST: Final = 70  # characters of a heading that neither a colon nor brackets mark
_MOST_READ: Final = 300  # characters of a heading, at its end, that may tell what else differs
_FEW: Final = 3  # words of a line that is a heading because it names a side
_MARKED: Final = re.compile(r"\[.{1,60}\]|\*\*.{1,60}\*\*|#{1,6} .{1,60}")
_THIS: Final = r"(?:this|the|my) (?:patch|change|commit|pr|cl|diff|fix|branch)"
_PLACE: Final = (
    r"\b(?:machine|server|laptop|desktop|host|box|hardware|mac\w*|linux|windows|arm\d*|aarch64|x86\w*|intel|amd"
    r"|gcc|clang|msvc|compiler|debug|release|build|threads?|lto|pgo|docker|container|vm)\b"
)
_PLACES: Final = re.compile(_PLACE, re.IGNORECASE)
# A bare "without" does not tell: the change may be what removes it. Nor does "the old machine".
_BEFORE: Final = (
    rf"(?:before|without|prior to) {_THIS}|before|old(?! {_PLACE})|prior|previous(?:ly)?|pre-?patch|unpatched"
    r"|^was|original(?:ly)?|(?:main|master|trunk|upstream|parent)(?=\W*$| ?[(@:\[-]| branch| commit)"
)
_AFTER: Final = (
    rf"after|new(?! {_PLACE})|contender|^now|now (?:take|run|get|need|show|look)s?|patched|post-?patch"
    rf"|with (?:patch|change|fix)|{_THIS}"
)
SIDES: Final = re.compile(
    rf"\b(?:(?P<baseline>baseline|base)|(?P<before>{_BEFORE})|(?P<after>{_AFTER}))\b", re.IGNORECASE
)
_JOINED: Final = re.compile(r" ?(?:and|to|/|&|->|,) ?(?:the )?", re.IGNORECASE)  # names both sides
# "Faster than before" and "same as the old one" are about the other side.
_COMPARED: Final = re.compile(r"\b(?:than|as|like|compared|vs|versus|better|faster|slower)\b", re.IGNORECASE)
_CAUSE: Final = re.compile(r"\bby (?:switching|using|replacing|moving|removing|avoiding)\b", re.IGNORECASE)
# What may follow "before" or "new": nothing, what the change is called, or what a benchmark prints. With any
# other word they name a phase, as "after warm-up", or things, as "new keys".
_CHANGE: Final = (
    r"(?:change[sd]?|patch(?:es)?|commit|fix(?:e[sd])?|pr|cl|diff|branch|code|impl(?:ementation)?|version"
    r"|algorithm|approach|optimi[sz]ations?|refactor(?:ing)?|rewrite|improvements?"
    r"|results?|numbers|figures|timings?|times?|measurements?|performance|output)"
)
_TICKET: Final = r"(?-i:[A-Z]{2,12}-[0-9]{4,6})"
_HASH: Final = r"(?=[0-9]*[a-f])[0-9a-f]{7,40}"
_COMMIT: Final = rf"(?:{_HASH}|{_TICKET}|master|main|trunk|head)\b"
_END: Final = r"(?= ?(?:$|[^\w\s-])| -)"
_THEN: Final = (
    r"(?= (?:is|was|are|were|it|we|in|by|with|on|for|the|this|that|to|from|and|has|applied|landed)\b)"
)
_OTHERWISE: Final = re.compile(
    r"\b(?:before|after|prior to|prior(?! to)|base|old|new|previous|original|patched|unpatched)\b"
    rf"(?!{_END}|(?: (?:this|the|my|our))?(?: [\w-]{{1,20}})? {_CHANGE}\b(?:{_END}|{_THEN}| {_COMMIT})"
    rf"| (?:the )?{_COMMIT}(?:{_END}|{_THEN}| branch\b)| (?:it|this|that)\b{_END})",
    re.IGNORECASE,
)
CONDITIONS: Final = re.compile(
    rf"{_PLACE}|\b(?:single|multi|threaded|cold|warm(?:ed)?|[at]san|ubsan)\b",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][\w-]*|\b\w{1,60}(?:: |=)true\b")
# "Compared to the parent" and "old vs new" are about the change, "AVX vs SSE" is not.
AGAINST: Final = re.compile(
    r"(?:\b(?:vs\.?|versus) (?!(?:the )?(?:after|new|with|pr|patch|branch)\b)"
    r"|\b(?:old is|relative to|compared (?:to|with)) "
    r"|\bcomparing (?!to\b|with\b|\S+ to \S+$)|\b(?<!more )(?<!less )(?<!rather )than (?!\d))"
    r"(?!(?:the |its )?(?:previous|parent|prior|master|main|trunk|head|current|before|base(?:line)?|old"
    r"|original|latest|existing|upstream|unpatched|this|that|without)\b)",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(
    r"\b(?:one|two|four|eight|sixteen|first|second|third|last)\b|(?<![\w./-])[\w./-]{0,40}\d[\w./-]*",
    re.IGNORECASE,
)
_IDENTITY: Final = re.compile(rf"{_HASH}|{_TICKET}", re.IGNORECASE)
# Results, and no conditions.
_RESULTS: Final = re.compile(
    r"\d[\d.,]{0,15} ?[kKMGT]?i? ?(?:B|items|ops)/s\b|\btakes? [^\s\d]?\d[\d.,]{0,15} ?(?:[num]?s|min)\b"
)


def heading_of(paragraph: Sequence[Line]) -> str | None:
    """Return the line that introduces what follows a paragraph; None if the paragraph is only prose."""
    if not paragraph:
        return None
    text = paragraph[-1].text.strip()
    is_alone = len(paragraph) == 1 and len(text) <= _LONGEST and not text.endswith((".", ",", ";", "!", "?"))
    names_side = len(text.split()) <= _FEW and role_in(text) is not None and not text.endswith(".")
    return text if is_alone or names_side or text.endswith(":") or _MARKED.fullmatch(text) else None


def role_in(heading: str) -> Role | None:
    """Return the side that a heading names; None if it names none, or both."""
    heading = heading.strip("*_`#[]( ")
    found = list(SIDES.finditer(heading))
    both = (_JOINED.fullmatch(heading, left.end(), right.start()) for left, right in pairwise(found))
    if _COMPARED.search(heading) or any(both):
        return None
    roles = [Role(match.lastgroup or "") for match in found]
    # "Baseline (before this patch)" begins with the word that counts.
    return roles[0] if len(set(roles)) == 1 or (found and found[0].start() == 0) else None


def tells_otherwise(heading: str) -> bool:
    """Return whether a heading names a side of something else than the change, as "after warm-up" does."""
    return _OTHERWISE.search(heading.strip("*_`#[]( ")) is not None


def differ_in_conditions(old: str, new: str) -> bool:
    """Return whether two headings name different places, builds or numbers; ids of commits are none.

    A place that only one of them names counts if it stands beside the side, as in "after, on the server".
    """
    places = [{word.lower().rstrip("s") for word in CONDITIONS.findall(each)} for each in (old, new)]
    numbers = [_numbers_in(each) for each in (old, new)]
    counts = all(places) or role_in(old if places[0] else new) is not None
    options = _OPTION.findall(old) == _OPTION.findall(new)
    return not options or (counts and places[0] != places[1]) or (all(numbers) and numbers[0] != numbers[1])


def _numbers_in(heading: str) -> set[str]:
    words = (word.strip("./-") for word in _NUMBERS.findall(_RESULTS.sub("", heading)))
    return {word.lower() for word in words if not _IDENTITY.fullmatch(word)}


def hints_in(paragraph: Sequence[Line]) -> tuple[bool, bool]:
    """Return whether the last sentence names a place to run, or what the change does."""
    intro = " ".join(line.text.strip() for line in paragraph[-6:]).rpartition(". ")[2]
    return _PLACES.search(intro) is not None, _CAUSE.search(intro) is not None


def names_other_base(paragraph: Sequence[Line]) -> bool:
    """Return whether the last two lines compare with anything but the code before the change."""
    return AGAINST.search(" ".join(line.text.strip() for line in paragraph[-2:])) is not None


def with_roles(tables: Sequence[Table]) -> list[Table]:
    """Give a role to the tables whose heading names none: that which a table of the same benchmarks lacks."""
    return [replace(table, role=_role(table, tables)) for table in tables]


def _role(table: Table, tables: Sequence[Table]) -> Role:
    others = [other for other in tables if other is not table and _share(table, other)]
    is_elsewhere = table.names_place or any(each.names_place or _differ(table, each) for each in others)
    if table.role is not Role.SINGLE or is_elsewhere:  # where it ran may be all that differs
        return table.role
    known = {other.role for other in others}.difference({Role.SINGLE})
    unknown = [other for other in others if other.role is Role.SINGLE]
    if known and Role.AFTER not in known:
        return Role.VARIANT if unknown else Role.AFTER
    if known:
        is_first = all(each.rows[0].line > table.rows[0].line for each in others)
        return Role.BEFORE if known == {Role.AFTER} and is_first and not unknown else Role.SINGLE
    if len(unknown) != 1 or table.names_cause == unknown[0].names_cause:
        return Role.SINGLE
    return Role.AFTER if table.names_cause else Role.BEFORE


def _share(table: Table, other: Table) -> bool:
    return not {row.name for row in table.rows}.isdisjoint(row.name for row in other.rows)


def _differ(table: Table, other: Table) -> bool:
    return table.cpus is not None and other.cpus is not None and table.cpus != other.cpus


def pair(tables: Sequence[Table]) -> Iterator[Claim | Refusal]:
    """Compare each table of new values with its table of old ones."""
    for at, table in enumerate(tables):
        bases = _bases(at, tables) if table.role in {Role.AFTER, Role.VARIANT} else []
        line = table.rows[0].line
        if len(bases) > 1:
            yield Refusal(line, Fault.TWO_BASES, table.heading or "")
        elif bases and _differ(bases[0], table):
            yield Refusal(line, Fault.OTHER_MACHINE, f"{bases[0].cpus}, {table.cpus}")
        elif bases and not _tell_change(bases[0].heading or "", table.heading or ""):
            yield Refusal(line, Fault.OTHER_CONDITIONS, f"{bases[0].heading or ''} {table.heading or ''}")
        elif bases:
            try:
                yield from [replace(claim, table=at) for claim in _join(bases[0], table)]
            except Unreadable as error:
                yield Refusal(line, error.fault, error.detail)


def _tell_change(old: str, new: str) -> bool:
    old, new = old[-_MOST_READ:], new[-_MOST_READ:]
    return not (tells_otherwise(old) or tells_otherwise(new) or differ_in_conditions(old, new))


def _bases(at: int, tables: Sequence[Table]) -> list[Table]:
    """Find the table to compare with: the nearest before this one, or after it if the new values come first.

    Returns two if the message does not tell which of them it is.
    """
    fitting = [k for k, other in enumerate(tables) if other.role.is_base and _share(tables[at], other)]
    first = next(other.role for other in tables if other.role is not Role.SINGLE)
    step = 1 if first is Role.AFTER else -1
    near = sorted((k for k in fitting if (k - at) * step > 0), key=lambda k: abs(k - at))[:2]
    # Two old tables without a new one between them, and then two new ones: which belong together?
    between = tables[min(near) + 1 : max(near)] if near else []
    is_clear = any(other.role is Role.AFTER and _share(tables[at], other) for other in between)
    return [tables[k] for k in (near[:1] if is_clear else near)]


def _join(base: Table, table: Table) -> Iterator[Claim]:
    """Yield a claim for each metric that two rows of one name print.

    Repeated rows are repetitions in no order that means anything, so only their aggregates are compared.
    """
    old_rows = {row.name: row for row in base.rows}
    counts = Counter(row.name for row in table.rows) | Counter(row.name for row in base.rows)
    aggregated = {row.name.rpartition("_")[0] for row in table.rows if row.aggregate}
    for row in table.rows:
        if row.name in old_rows and counts[row.name] > 1 and row.name not in aggregated:
            raise Unreadable(Fault.REPEATED, row.name)
        if row.name in old_rows and counts[row.name] == 1 and row.aggregate not in SCATTERS:
            for claim in _claims(old_rows[row.name], row):
                yield replace(claim, before_label=base.heading or "", after_label=table.heading or "")


def _claims(old_row: Row, row: Row) -> Iterator[Claim]:
    unit = old_row.time_unit
    for metric, old in old_row.times.items():
        if metric in row.times:
            same_unit = 1 if row.time_unit == unit else PER_SECOND[unit] / PER_SECOND[row.time_unit]
            new = row.times[metric] * same_unit
            rounding = old_row.rounding[metric] + row.rounding[metric]
            ratio = quotient(new, old)
            yield Claim(row.line, row.name, metric, old, new, ratio, unit, rounding=rounding)
    for metric, old in old_row.counters.items():
        if metric in row.counters:
            new = row.counters[metric]
            rounding = old_row.rounding[metric] + row.rounding[metric]
            yield Claim(row.line, row.name, metric, old, new, quotient(new, old), rounding=rounding)
