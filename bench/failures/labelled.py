"""Read labelled failure texts, and score the precision and recall of signatures over their pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

SAMPLES: Final = Path(__file__).parents[2] / "tests" / "samples" / "signatures"
BLIND: Final = SAMPLES / "blind"


@dataclass(frozen=True, slots=True)
class Text:
    """One failure as a tool printed it. Texts with one label must get one signature.

    ``tool``: the name of its file, which has the texts of one tool or of similar ones.
    """

    label: str
    is_held_out: bool
    kind: str
    subject: str
    headline: str
    raw: str
    source: str
    sources: str
    tool: str = ""

    @property
    def family(self) -> str:
        """The labels of one family are hard to keep apart."""
        return self.label.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Score:
    """The pairs of texts, counted and listed by the answer of the signatures."""

    together: int
    missed: tuple[tuple[Text, Text], ...]
    merged: tuple[tuple[Text, Text], ...]

    @property
    def precision(self) -> float:
        """Share of pairs with one label among the pairs with one signature; 1 without such pairs."""
        found = self.together + len(self.merged)
        return self.together / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of pairs with one signature among the pairs with one label; 1 without such pairs."""
        wanted = self.together + len(self.missed)
        return self.together / wanted if wanted else 1.0


def read_texts(folder: Path = SAMPLES) -> tuple[Text, ...]:
    """Read the labelled texts of all files of a folder."""
    return tuple(
        _text(row, file.stem)
        for file in sorted(folder.glob("*.yaml"))
        for row in yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    )


def score(texts: Sequence[Text], signature: Callable[[Text], Hashable | None]) -> Score:
    """Compare all pairs of texts; a text without a signature equals no other."""
    signed = [(text, signature(text)) for text in texts]
    together, missed, merged = 0, [], []
    for (one, its), (other, others) in combinations(signed, 2):
        is_one = its is not None and its == others
        if one.label == other.label:
            together += is_one
            if not is_one:
                missed.append((one, other))
        elif is_one:
            merged.append((one, other))
    return Score(together, tuple(missed), tuple(merged))


def _text(row: dict[str, Any], tool: str) -> Text:
    return Text(
        label=row["label"],
        is_held_out=row["held-out"],
        kind=row["kind"],
        subject=row["subject"],
        headline=row["headline"],
        raw=row["raw"],
        source=row["source"],
        sources=row.get("sources", "/src"),
        tool=tool,
    )
