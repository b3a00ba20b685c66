"""Search names by words that must occur and words that must not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_WORDS: Final = 8  # each word is checked in every name
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Words:
    """A parsed search, in lower case; an empty one matches everything."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Return whether the text contains all wanted words and no excluded word, ignoring case."""
        folded = text.lower()
        return all(word in folded for word in self.wanted) and not any(
            word in folded for word in self.unwanted
        )


EVERYTHING: Final = Words()
"""Matches everything."""


def parse_words(text: str) -> Words:
    """Parse ``words -not``: blanks separate words, and a leading minus excludes a word."""
    return words_of(cleaned(text).split())


def cleaned(text: str) -> str:
    """Return the beginning of a search without what no stored name contains: NUL and lone surrogates."""
    return text[:_LONGEST].replace("\0", "").encode(errors="ignore").decode()


def words_of(written: Sequence[str]) -> Words:
    """Return the first words of a search, each as it is written, perhaps with a leading minus."""
    words = [word.lower() for word in written[:_MOST_WORDS]]
    return Words(
        wanted=tuple(word for word in words if not word.startswith("-")),
        unwanted=tuple(word[1:] for word in words if word.startswith("-") and len(word) > 1),
    )
