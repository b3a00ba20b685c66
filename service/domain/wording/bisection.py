"""Say what a bisection measures and what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.trunk.bisection import Answer
from service.domain.values.text import change, counted, duration, interval, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.trunk.bisection import Bisection, Measured, Suspect

_SHORT: Final = 10  # characters of a commit ID


def named(commit: Suspect) -> str:
    """Name a commit by its short ID and subject."""
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
    if not found.suspects:
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
    yield from (f"merged by {named(each)}" for each in reversed(found.merges))
    yield (
        f"{counted(len(found.measured), 'comparison')} of {counted(found.commits, 'commit')}, "
        f"{duration(found.seconds)} of machine time"
    )


def _culprit(found: Bisection) -> Iterator[str]:
    (commit,) = found.suspects
    word = "culprit" if found.is_found else "suspect"
    yield f"{word}: {named(commit)}, by {plain(commit.author)} on {plain(commit.authored_on)}"
    if commit.is_merge:
        if found.may_hide:
            yield "it is a merge; a merged parent cannot be compared with GOOD, so it may hide the culprit"
        else:
            yield "it is a merge, and none of its parents is slower"
    yield "confirmed: it is slower than its parent" if found.is_confirmed else _unconfirmed(found)


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


def not_one_benchmark(name: str) -> str:
    """Say that a name chooses several benchmarks."""
    return f"--benchmark {plain(name)} is the whole name of no benchmark, and part of several"


NOT_ON_LINE: Final = "GOOD is not before BAD on its first-parent line"


def not_one_job(names: str) -> str:
    """Say that a job must be chosen."""
    return f"several jobs measure both sides, choose one with --job: {names}"
