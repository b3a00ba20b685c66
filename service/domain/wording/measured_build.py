"""Sentences of a measured build: its judgement, and the notes that a reader should know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.decision.vote import Outcome
from service.domain.inference.verdict import Verdict
from service.domain.text import plain, signed_percent
from service.domain.wording.judgement import judgement_causes
from service.domain.wording.reasons import BLIND_COUNTS, SAME_PROGRAM, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.comparison.disturbance import DisturbedPairs
    from service.domain.decision.measured_build import Measured, Notes
    from service.domain.inference.policy import Policy
    from service.domain.inference.verdict import Comparison

WITHOUT_HISTORY: Final = (
    "judged without history: how often this machine calls equal programs different is not known"
)
_SHOWN: Final = 3  # warnings of the reader that a message repeats


def measured_causes(measured: Measured, policy: Policy, machine: str) -> tuple[str, ...]:
    """The sentences of a build that was measured; ``machine`` is where."""
    if measured.judgement.outcome is Outcome.NO_PARENT:
        return ("nothing to compare with: the parent has no benchmark that the filters choose",)
    return (*judgement_causes(measured.judgement, policy, machine), *_notes(measured.notes, policy))


def _notes(notes: Notes, policy: Policy) -> Iterator[str]:
    if suites := notes.same_program:
        yield f"suite{'s' if len(suites) > 1 else ''} {plain(', '.join(suites))}: {SAME_PROGRAM}"
    yield from _instructions(notes.counted, is_advisory=notes.is_counting_advisory)
    yield from _disturbed(notes.disturbed)
    if notes.are_programs_kept_in_place:
        yield (
            "the programs are too large to be copied for every pair: "
            "a difference may come from where they lie"
        )
    if notes.pairs_to_prove > policy.max_pairs:
        least = notes.pairs_to_prove
        yield f"max_pairs is {policy.max_pairs}: with so many benchmarks {least} can prove a difference"
    yield from (f"warning: {plain(text)}" for text in notes.warnings[:_SHOWN])
    if (more := len(notes.warnings) - _SHOWN) > 0:
        yield f"{more} more warnings about results"


def _disturbed(pairs: DisturbedPairs) -> Iterator[str]:
    if pairs.left_out:
        yield f"{_pairs(pairs.left_out)} disturbed by other work and measured again"
    if pairs.kept:
        verb = "counts" if pairs.kept == 1 else "count"
        yield f"{_pairs(pairs.kept)} disturbed and {verb}: no more than {pairs.left_out} are measured again"


def _pairs(count: int) -> str:
    return "1 pair was" if count == 1 else f"{count} pairs were"


def _instructions(rows: Sequence[Comparison], *, is_advisory: bool) -> Iterator[str]:
    if not rows:
        return
    by_verdict = {v: [row for row in rows if row.verdict is v] for v in Verdict}
    parts = [
        *_most(sorted(by_verdict[Verdict.SLOWER], key=lambda row: -row.worsening), "more"),
        *_most(sorted(by_verdict[Verdict.FASTER], key=lambda row: row.worsening), "fewer"),
        *([f"{len(same)} as many as before"] if (same := by_verdict[Verdict.SAME]) else []),
        *_not_counted(by_verdict[Verdict.UNDECIDED]),
    ]
    standing = "advisory" if is_advisory else "voting"
    yield f"instructions ({standing}, {len(rows)} in all): {'; '.join(parts)}; {BLIND_COUNTS}"


def _most(chosen: Sequence[Comparison], word: str) -> list[str]:
    if not chosen:
        return []
    first = chosen[0]
    size = "" if first.ratio is None else f" {signed_percent(first.ratio)}"
    return [f"{len(chosen)} {word}, first {plain(first.row.benchmark)}{size}"]


def _not_counted(chosen: Sequence[Comparison]) -> list[str]:
    if not chosen:
        return []
    first = chosen[0]
    return [f"{len(chosen)} not known: {plain(first.row.benchmark)}: {plain(text_of(first.reasons))}"]
