"""Parse a search for changes: words, and operators as in Gerrit's own search."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.review.change import ChangeStatus
from service.domain.values.errors import BadInput
from service.domain.values.search import EVERYTHING, Words, cleaned, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class Operator(StrEnum):
    """Conditions on a change."""

    OWNER = "owner"  # a part of the name
    PROJECT = "project"
    BRANCH = "branch"
    VOTE = "vote"  # of Benchgate, on the newest patch set: -1, 0 (none) or 1
    STATUS = "status"
    WAITS = "waits"  # a build of its newest patch set waits for a machine
    MINE = "mine"  # a name of the searching person is the owner


@dataclass(frozen=True, slots=True)
class Term:
    """An operator with its values, in lower case: a change must match one of them."""

    operator: Operator
    values: tuple[str, ...] = ()
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class ChangeSearch:
    """A parsed search: all words and terms must match; an empty one matches everything."""

    words: Words = EVERYTHING
    terms: tuple[Term, ...] = ()

    @property
    def is_by_vote(self) -> bool:
        """Return whether it looks at votes, which it does in the newest :data:`MOST_VOTES` changes only."""
        return any(each.operator is Operator.VOTE for each in self.terms)


EVERY_CHANGE: Final = ChangeSearch()
"""Matches everything."""
MOST_VOTES: Final = 10_000
"""Changes, the last updated ones, whose votes are searched: each takes a few looks into indexes."""
MINE: Final = "is:mine"
_MOST_TERMS: Final = 8
_OF_TEXT: Final = (Operator.OWNER, Operator.PROJECT, Operator.BRANCH)
_VALUES: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "vote:+1": Term(Operator.VOTE, ("1",)),
        "vote:1": Term(Operator.VOTE, ("1",)),  # in an address, + is a blank
        "vote:-1": Term(Operator.VOTE, ("-1",)),
        "vote:none": Term(Operator.VOTE, ("0",)),
        "is:open": Term(Operator.STATUS, (ChangeStatus.NEW,)),
        "is:merged": Term(Operator.STATUS, (ChangeStatus.MERGED,)),
        "is:abandoned": Term(Operator.STATUS, (ChangeStatus.ABANDONED,)),
        "is:waiting": Term(Operator.WAITS),
        MINE: Term(Operator.MINE),
    }
)
_WRITTEN: Final = ", ".join((*(f"{each}:" for each in _OF_TEXT), *_VALUES))
_NAMES: Final = "|".join(dict.fromkeys(each.partition(":")[0] for each in _WRITTEN.split(", ")))
# A name before a colon is an operator if a value follows; "branch: fix" and "is::x" are words.
_PART: Final = re.compile(
    rf"""(?<!\S)(?P<sign>-?)(?:(?P<name>{_NAMES}):(?![:/\s]))?
    (?:"(?P<quoted>(?:[^"\\]|\\.)*)"(?!\S) | (?P<bare>\S+))""",
    re.IGNORECASE | re.VERBOSE,
)
_NEEDS_QUOTES: Final = re.compile(r"""[\s"\\]|^[:/]""")


def parse_change_search(text: str, names: tuple[str, ...] = ()) -> ChangeSearch:
    """Parse a search: words and ``-words``, and operators, also with a minus before them.

    Args:
        text: ``owner:"Ann Author" vote:-1 hash "two words"``.
        names: the searching person's, for ``is:mine``; none: nobody signed in.

    Raises:
        BadInput: an operator has no such value, or nobody signed in whose changes ``is:mine`` could be.
    """
    words: list[str] = []
    terms: list[Term] = []
    for part in _PART.finditer(cleaned(text)):
        quoted = part["quoted"]
        value = part["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if part["name"]:
            terms.append(_term(part["name"].lower(), value, names, is_wanted=not part["sign"]))
        elif value:
            words.append(f"{part['sign']}{value}")
    if len(terms) > _MOST_TERMS:
        raise BadInput(f"at most {_MOST_TERMS} operators can be combined", "search")
    return ChangeSearch(words_of(words), tuple(terms))


def written(name: str, value: str) -> str:
    """Write an operator with a value as people write it."""
    if not _NEEDS_QUOTES.search(value):
        return f"{name}:{value}"
    escaped = re.sub(r"""["\\]""", r"\\\g<0>", value)
    return f'{name}:"{escaped}"'


def _term(name: str, value: str, names: tuple[str, ...], *, is_wanted: bool) -> Term:
    text, folded = f"{name}:{value}", value.lower()
    if name in _OF_TEXT and value:
        return Term(Operator(name), (folded,), is_wanted)
    found = _VALUES.get(f"{name}:{folded}")
    if found is None:
        raise BadInput(f"there is no such operator; there are {_WRITTEN}", text)
    if found.operator is Operator.MINE:
        if not names:
            raise BadInput("sign in to use it", MINE)
        found = replace(found, values=tuple(each.lower() for each in names))
    return replace(found, is_wanted=is_wanted)
