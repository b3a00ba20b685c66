"""Compares recorded result files: file k of base and of patch were run next to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.errors import BadInput, Permanent
from service.domain.gbench import read_run
from service.domain.identity import Side
from service.domain.project_file import Policy, Suite
from service.domain.samples import Listing, compare_all, read_launch
from service.domain.verdict import Comparison, Verdict, looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.gbench import GBenchRun
    from service.domain.samples import Launch


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The bytes of a result file and the name by which errors call it."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileComparison:
    """The comparisons and what the reader had to say about the files."""

    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]


def compare_files(
    base: Sequence[ResultFile],
    patch: Sequence[ResultFile],
    policy: Policy,
    metrics: Sequence[str] = (),
    *,
    is_sequential: bool = False,
) -> FileComparison:
    """A verdict for every benchmark of the files: over all pairs, or stopped at the pair that decides.

    Raises:
        BadInput: unequal numbers of files, or a file of which nothing can be read.
    """
    if len(base) != len(patch):
        raise BadInput(
            f"{len(base)} base and {len(patch)} patch files: file k of both sides makes pair k, "
            "so give equally many"
        )
    suite = Suite(name="", program="", metrics=tuple(metrics))
    runs = {
        side: [read_run(file.data, source=file.name) for file in files]
        for side, files in ((Side.BASE, base), (Side.PATCH, patch))
    }
    launches: list[Launch] = [
        read_launch(pair, side, suite, run) for side in Side for pair, run in enumerate(runs[side])
    ]
    listing = Listing("", _names(runs[Side.BASE]), _names(runs[Side.PATCH]))
    schedule = looks(max(policy.max_pairs, len(base))) if is_sequential else (len(base),)
    rows = compare_all([suite], [listing], launches, policy, schedule)
    if not rows:
        raise Permanent("the files hold no benchmark that could be compared")
    return FileComparison(
        tuple(_with_reason(row, metrics) for row in rows),
        tuple(str(warning) for side in Side for run in runs[side] for warning in run.warnings),
    )


def _names(runs: Sequence[GBenchRun]) -> tuple[str, ...]:
    # A failed row is listed too: it must show up as broken, not as removed.
    return tuple(dict.fromkeys(row.name for run in runs for row in run.rows if row.aggregate_name is None))


def _with_reason(row: Comparison, metrics: Sequence[str]) -> Comparison:
    if row.verdict is Verdict.UNDECIDED and row.pairs == 0 and metrics:
        return replace(row, reason=f"no pair of files has {row.row.metric.name} on both sides")
    return row
