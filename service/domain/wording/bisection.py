"""Say what a bisection measures and what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.trunk.bisection import Answer
from service.domain.values.text import change, counted, duration, interval, listed, plain
from service.domain.wording.explanations import explanations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.trunk.bisection import Bisection, Measured, Suspect

UNCOMMITTED: Final = "your uncommitted changes"
_SHORT: Final = 10  # characters of a commit ID
_NAMED: Final = 10  # benchmarks that a name chooses


def named(commit: Suspect) -> str:
    """Name a commit by its short ID and subject."""
    if commit.is_uncommitted:
        return UNCOMMITTED
    return f"{commit.revision[:_SHORT]} {plain(commit.subject)}"


def measured_line(found: Measured, candidate: str, base: str) -> str:
    """Describe one comparison of a candidate with a base, both as they are named."""
    row = found.comparison
    line = f"{candidate}: {found.answer}"
    if row is not None and row.ratio is not None and row.interval is not None:
        numbers = f"{change(row.ratio)} {interval(*row.interval, row.ratio)}"
        return f"{line}, {numbers} against {base}, {counted(row.pairs, 'pair')}"
    return f"{line}: {found.causes[0]}" if found.causes else line


def conclusion(found: Bisection) -> Iterator[str]:
    """Say which commit made the benchmark slower, or why none is named, and what the search took."""
    if not found.measured:
        return
    if found.is_interrupted:
        yield from _left(found.suspects)
    elif not found.suspects:
        yield _not_reproduced(found.measured[0])
    elif len(found.suspects) == 1:
        yield from _culprit(found)
    else:
        yield (
            f"one of {counted(len(found.suspects), 'commit')} made it slower; those before the last one "
            "cannot be built, or are undecided:"
        )
        yield from (f"  {named(each)}" for each in found.suspects)
        if not found.is_confirmed:
            yield _unconfirmed(found)
    if found.is_confirmed:
        yield from explanations(found.measured[-1].why)
    yield from (f"merged by {named(each)}" for each in reversed(found.merges))
    yield (
        f"{counted(len(found.measured), 'comparison')} of {counted(found.commits, 'commit')}, "
        f"{duration(found.seconds)} of machine time"
    )


def _left(suspects: Sequence[Suspect]) -> Iterator[str]:
    """Say which commits are left of a search that a person ended."""
    if not suspects:
        return
    last = suspects[-1]
    if len(suspects) == 1:
        yield f"most likely {named(last)}, which is not confirmed"
    else:
        commits = counted(len(suspects), "commit")
        yield f"one of {commits} made it slower, from {named(suspects[0])} to {named(last)}"


def _culprit(found: Bisection) -> Iterator[str]:
    (commit,) = found.suspects
    word = "culprit" if found.is_found else "suspect"
    by = "" if commit.is_uncommitted else f", by {plain(commit.author)} on {plain(commit.authored_on)}"
    yield f"{word}: {named(commit)}{by}"
    if commit.is_merge:
        if found.may_hide:
            yield "it is a merge; a merged parent cannot be compared with GOOD, so it may hide the culprit"
        else:
            yield "it is a merge, and none of its parents is slower"
    if not found.is_confirmed:
        yield _unconfirmed(found)
    elif commit.is_uncommitted:
        yield "confirmed: with them, it is slower than HEAD"
    else:
        yield "confirmed: it is slower than its parent"


def _unconfirmed(found: Bisection) -> str:
    if not found.suspects[0].parents:
        return "not confirmed: it has no parent to compare it with"
    return (
        "not confirmed: compared directly with the commit before, the answer is "
        f"{found.measured[-1].answer}; raise `--minutes`, or repeat it with another `--seed`"
    )


def _not_reproduced(first: Measured) -> str:
    if first.answer is Answer.NOT_SLOWER:
        return "BAD is not slower than GOOD on this machine, so there is nothing to find"
    if first.answer is Answer.UNDECIDED:
        return "it is undecided whether BAD is slower than GOOD: raise `--minutes`"
    return "GOOD and BAD cannot be compared"


def not_one_benchmark(name: str, chosen: Sequence[str]) -> str:
    """Say that a name chooses several benchmarks."""
    several = listed([plain(each) for each in chosen], _NAMED)
    return f"--benchmark {plain(name)} is the whole name of no benchmark, and part of several: {several}"


NOT_ON_LINE: Final = "GOOD is not before BAD on its first-parent line"


def not_one_job(names: str) -> str:
    """Say that a job must be chosen."""
    return f"several jobs measure both sides, choose one with --job: {names}"
