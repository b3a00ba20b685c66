"""Parse a search for changes: words, and operators as in Gerrit's own search."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.review.change import ChangeStatus
from service.domain.values.errors import BadInput
from service.domain.values.search import EVERYTHING, Words, parse_words

if TYPE_CHECKING:
    from collections.abc import Mapping


class Operator(StrEnum):
    """Conditions on a change; people write the first four."""

    OWNER = "owner"  # a part of the name
    PROJECT = "project"
    BRANCH = "branch"
    VOTE = "vote"  # of Benchgate, on the newest patch set: -1, 0 (none) or 1
    STATUS = "status"
    WAITS = "waits"  # a build of its newest patch set waits for a machine
    MINE = "mine"  # one of these names, each on a line, is the owner


@dataclass(frozen=True, slots=True)
class Term:
    """An operator with its value, in lower case if the operator ignores case."""

    operator: Operator
    value: str = ""
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class ChangeSearch:
    """A parsed search: all words and terms must match; an empty one matches everything."""

    words: Words = EVERYTHING
    terms: tuple[Term, ...] = ()


EVERY_CHANGE: Final = ChangeSearch()
"""Matches everything."""
MINE: Final = "is:mine"
WRITTEN: Final = (
    "owner:, project:, branch:, vote:+1, vote:-1, vote:none, is:mine, is:open, is:merged, is:waiting"
)
_MOST_TERMS: Final = 8
# A word with a colon is an operator unless it looks like C++ or an address: std::string, https://example.com.
_TERM: Final = re.compile(r"(?<!\S)(-?)([a-z]+):(?![:/\s])(\"[^\"]*\"|\S+)", re.IGNORECASE)
_VALUES: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "vote:+1": Term(Operator.VOTE, "1"),
        "vote:1": Term(Operator.VOTE, "1"),
        "vote:-1": Term(Operator.VOTE, "-1"),
        "vote:none": Term(Operator.VOTE, "0"),
        "vote:0": Term(Operator.VOTE, "0"),
        "is:open": Term(Operator.STATUS, ChangeStatus.NEW),
        "is:merged": Term(Operator.STATUS, ChangeStatus.MERGED),
        "is:abandoned": Term(Operator.STATUS, ChangeStatus.ABANDONED),
        "is:waiting": Term(Operator.WAITS),
    }
)
_OF_TEXT: Final = frozenset({Operator.OWNER, Operator.PROJECT, Operator.BRANCH})


def parse_change_search(text: str, names: tuple[str, ...] = ()) -> ChangeSearch:
    """Parse a search: words and ``-words``, and operators, also with a minus before them.

    Args:
        text: ``owner:"Ann Author" vote:-1 hash``.
        names: the searching person's, for ``is:mine``; none: nobody signed in.

    Raises:
        BadInput: there is no such operator, or nobody signed in whose changes ``is:mine`` could be.
    """
    # PostgreSQL refuses NUL and lone surrogates, as for words.
    clean = text[:200].replace("\0", "").encode(errors="ignore").decode()
    found = _TERM.findall(clean)
    if len(found) > _MOST_TERMS:
        raise BadInput(f"at most {_MOST_TERMS} operators can be combined", "search")
    terms = tuple(_term(sign, name.lower(), value.strip('"'), names) for sign, name, value in found)
    return ChangeSearch(parse_words(_TERM.sub(" ", clean)), terms)


def written(name: str, value: str) -> str:
    """Write an operator with a value as people write it."""
    text = value.replace('"', "")
    return f'{name}:"{text}"' if " " in text or not text else f"{name}:{text}"


def _term(sign: str, name: str, value: str, names: tuple[str, ...]) -> Term:
    written, is_wanted = f"{name}:{value}", not sign
    if name in _OF_TEXT:
        return Term(Operator(name), value.lower(), is_wanted)
    if written.lower() == MINE:
        if not names:
            raise BadInput("sign in to use it", MINE)
        return Term(Operator.MINE, "\n".join(each.lower() for each in names), is_wanted)
    found = _VALUES.get(written.lower())
    if found is None:
        raise BadInput(f"there is no such operator; there are {WRITTEN}", written)
    return replace(found, is_wanted=is_wanted)
