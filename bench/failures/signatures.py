"""Measure precision and recall of failure signatures over the pairs of the labelled sets.

The signatures are those of the labelled headlines, and those of the failures that are found in the raw logs.
Below the score of all texts is that of the texts with specific signatures, which alone can be made known, and
that of the texts whose signatures also name their cause: only these waive a failure before a person compares
both texts. A text with only a known end, or with no failure found in its log, has none.

Wrong pairs are listed for the half that may be looked at while writing the normaliser. Those of the blind set
are never listed, so that nobody tunes the normaliser on it.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from bench.failures.labelled import BLIND, Score, Text, read_texts, score
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.naming import names_cause
from service.domain.failures.output.ends import is_specific
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

GOAL: Final = 0.98
_LISTED: Final = 20


def of_headline(text: Text) -> Failure:
    """Return the labelled failure."""
    return Failure(FailureKind[text.kind.upper()], text.subject, text.headline)


def of_log(text: Text) -> Failure | None:
    """Return the first failure of the labelled kind in the raw log, or None."""
    lines = text.raw.encode().splitlines(keepends=True)
    kind = FailureKind[text.kind.upper()]
    return next((failure for failure in failures_in(lines, text.sources) if failure.kind is kind), None)


def score_of(texts: Sequence[Text], failure_of: Callable[[Text], Failure | None]) -> Score:
    """Score the signatures of the failures of texts."""

    def digest(text: Text) -> bytes | None:
        failure = failure_of(text)
        return None if failure is None else signature_of(failure).digest

    return score(texts, digest)


def specific(texts: Sequence[Text], failure_of: Callable[[Text], Failure | None]) -> list[Text]:
    """Return the texts whose signatures can be made known."""
    return [text for text in texts if (failure := failure_of(text)) and is_specific(failure)]


def certain(texts: Sequence[Text], failure_of: Callable[[Text], Failure | None]) -> list[Text]:
    """Return the texts whose known failures waive without a person."""
    return [
        text
        for text in specific(texts, failure_of)
        if (failure := failure_of(text)) and names_cause(signature_of(failure), failure.line)
    ]


@click.command
@click.option("--show-held-out", is_flag=True, help="Also list the wrong pairs of the held-out half.")
def main(*, show_held_out: bool) -> None:
    """Print precision and recall; exit 1 if one of a half is below the goal."""
    texts, blind, is_good = read_texts(), read_texts(BLIND), True
    for name, failure_of in (("headlines", of_headline), ("raw logs", of_log)):
        for is_held_out in (False, True):
            half = _of(name, (text for text in texts if text.is_held_out is is_held_out))
            result = _shown(f"{name}, {'held-out' if is_held_out else 'tuning'} half", half, failure_of)
            is_good &= min(result.precision, result.recall) >= GOAL
            if show_held_out or not is_held_out:
                _list("one label, two signatures", result.missed)
                _list("two labels, one signature", result.merged)
    _shown("raw logs, blind set", list(blind), of_log)  # the authors wrote their headlines, too
    for name, chosen in (("both halves", texts), ("blind set", blind)):
        counts = Counter(text.tool for text in chosen)
        click.echo(f"{name}: {', '.join(f'{tool} {count}' for tool, count in sorted(counts.items()))}")
    if not is_good:
        raise SystemExit(1)


def _of(name: str, texts: Iterable[Text]) -> list[Text]:
    """Return the texts that a measurement uses: any source has a headline."""
    return [text for text in texts if name == "headlines" or text.source == "log"]


def _shown(name: str, chosen: list[Text], failure_of: Callable[[Text], Failure | None]) -> Score:
    """Print and return the score of some texts; print that of those with specific signatures below it."""
    named = specific(chosen, failure_of)
    result = _line(name, chosen, score_of(chosen, failure_of))
    _line(f"{name}, specific signatures only", named, score_of(named, failure_of))
    waiving = certain(chosen, failure_of)
    found = score_of(waiving, failure_of)
    _line(f"{name}, signatures that waive without a person", waiving, found)
    if found.merged:
        click.echo(f"  wrong pairs that waive, by tool: {dict(Counter(one.tool for one, _ in found.merged))}")
    return result


def _line(name: str, chosen: list[Text], result: Score) -> Score:
    """Print a score, and beside it the recall of pairs with unequal headlines."""
    unequal = [pair for pair in _one_label(chosen) if pair[0].headline != pair[1].headline]
    missed = sum(pair[0].headline != pair[1].headline for pair in result.missed)
    share = 1 - missed / len(unequal) if unequal else 1.0
    click.echo(
        f"{name}: {len(chosen)} texts, {len({text.label for text in chosen})} labels, "
        f"precision {result.precision:.4f}, "
        f"recall {result.recall:.4f} (unequal headlines: {share:.4f} of {len(unequal)} pairs)"
    )
    return result


def _one_label(chosen: list[Text]) -> list[tuple[Text, Text]]:
    return [
        (one, other)
        for place, one in enumerate(chosen)
        for other in chosen[place + 1 :]
        if one.label == other.label
    ]


def _list(title: str, pairs: Iterable[tuple[Text, Text]]) -> None:
    for one, other in islice(pairs, _LISTED):
        click.echo(f"  {title}: {one.label} {one.headline[:90]!r} | {other.label} {other.headline[:90]!r}")


if __name__ == "__main__":
    main()
