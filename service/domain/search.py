"""What a search asks for: words that must occur and words that must not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOST_WORDS: Final = 8  # each is one more look at every name
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Words:
    """A parsed search, in lower case; an empty one matches everything."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether all wanted words and no unwanted one occur in the text, whatever their case."""
        folded = text.lower()
        return all(word in folded for word in self.wanted) and not any(
            word in folded for word in self.unwanted
        )


def parse_words(text: str) -> Words:
    """Read ``words -not``: words are separated by blanks, a leading minus excludes."""
    # PostgreSQL refuses NUL and lone surrogates; no stored name holds them.
    clean = text[:_LONGEST].replace("\0", "").encode(errors="ignore").decode().lower()
    words = clean.split()[:_MOST_WORDS]
    return Words(
        wanted=tuple(word for word in words if not word.startswith("-")),
        unwanted=tuple(word[1:] for word in words if word.startswith("-") and len(word) > 1),
    )
