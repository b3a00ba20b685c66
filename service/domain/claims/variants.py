"""Tell which variant of a commit message its patch set is: the one that the subject names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.claims.values import Claim

_LONGEST: Final = 100  # characters of a subject or label; a longer one names nothing
_WORD: Final = re.compile(r"[^\W_]+")
_ACRONYM: Final = re.compile(r"\b[A-Z]{3,6}\b")
# Such a subject may name what the change is not.
_NEGATING: Final = re.compile(
    r"n't\b|\b(?:no|not|never|without|instead|rather|than|from|vs|versus"
    r"|(?:remov|drop|delet|replac|disabl|stop|avoid|revert|undo)\w*)\b",
    re.IGNORECASE,
)
_TELLING_NOTHING: Final = (
    "after an and are as at by change each for in is it my new now of on our patch per results that the this"
    " to use using we which with"
)


def mark_variants(subject: str, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Mark the claims of tables that show another variant than the patch set.

    Of several tables with new values of a benchmark, the one with a label that stands wholly in the subject
    shows the patch set. If none or several do, no claim is marked.
    """
    labels = {each.table: each.after_label for each in claims if each.table is not None}
    names = {table: {each.benchmark for each in claims if each.table == table} for table in labels}
    rivals = {
        table: {other for other in names if other != table and not names[other].isdisjoint(names[table])}
        for table in names
    }
    chosen = {table for table in names if rivals[table] and _is_named(labels[table], subject)}
    others = {rival for table in chosen for rival in rivals[table]}
    if not others or chosen & others:
        return tuple(claims)
    return tuple(replace(each, is_other_variant=each.table in others) for each in claims)


def _is_named(label: str, subject: str) -> bool:
    """Return whether a subject has the words of a label, and its numbers if the subject has any."""
    if max(len(label), len(subject)) > _LONGEST or _NEGATING.search(subject):
        return False
    wanted, said = _words(label, subject), _words(subject, label)
    if not any(map(str.isdigit, said)):
        wanted = {each for each in wanted if not each.isdigit()}
    return wanted <= said and not all(map(str.isdigit, wanted))


def _words(text: str, other: str) -> set[str]:
    """Return the words that tell; an acronym of the other text replaces the words that it abbreviates."""
    words = _WORD.findall(text)
    for short in set(_ACRONYM.findall(other)):
        at = "".join(word[0].upper()[0] for word in words).find(short)
        if at >= 0:
            words[at : at + len(short)] = [short]
    told = {each.casefold() for each in words if len(each) > 1 or each.isdigit()}
    return told.difference(_TELLING_NOTHING.split())
