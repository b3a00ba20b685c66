"""Compare recorded result files: file k of base and of patch were run next to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.columns import Columns
from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.launch import read_launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Suite
from service.domain.values.errors import BadInput
from service.domain.values.identity import Side
from service.domain.values.text import listed
from service.domain.verdict.comparison.recorded_files import (
    are_in_blocks,
    as_recorded,
    compare_lone_pair,
    withheld,
)
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.interim_looks import looks
from service.domain.verdict.inference.missing_pairs import with_missing_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import Comparison

    _Runs = Mapping[Side, Sequence[GBenchRun]]

_MOST_NAMED: Final = 20  # metrics in an error


@dataclass(frozen=True, slots=True)
class ResultFile:
    """Bytes of a result file, and its name in errors."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileComparison:
    """The comparisons, and the warnings about the files."""

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
    """Judge every benchmark of the files: over all pairs, or up to the pair that decides.

    Each benchmark is compared by its own clock, or by the metrics asked for. One launch a side, and sides
    that were launched one after the other, decide nothing but counters that repeat exactly.

    Raises:
        BadInput: unequal numbers of files, an unreadable file, nothing in common, or a metric that no file
            has.
    """
    if len(base) != len(patch):
        raise BadInput(
            f"{len(base)} base and {len(patch)} patch files: file k of both sides makes pair k, "
            "so give equally many"
        )
    pairs, said = _distinct(base, patch)
    runs: _Runs = {
        side: [read_run(file.data, source=file.name) for file in files]
        for side, files in zip(Side, zip(*pairs, strict=True), strict=True)
    }
    names = {side: _names(runs[side]) for side in Side}
    _check_names(names, runs)
    schedule = looks(max(policy.max_pairs, len(pairs))) if is_sequential else (len(pairs),)
    found: dict[str, list[Comparison]] = {}
    if len(pairs) == 1 and not metrics:
        found, runs = _compare_columns(runs)
    for each in _compare_launches(runs, policy, metrics, schedule):
        found.setdefault(each.row.benchmark, []).append(each)
    in_order = dict.fromkeys(chain(names[Side.PATCH], names[Side.BASE]))
    return FileComparison(
        tuple(chain.from_iterable(found[name] for name in in_order)),
        (*said, *(text for side in Side for run in runs[side] for text in _warnings(run))),
    )


def _compare_columns(runs: _Runs) -> tuple[dict[str, list[Comparison]], _Runs]:
    """Compare a lone pair's benchmarks that need no launches; also return the runs without them."""
    base, patch = (runs[side][0].content for side in Side)
    if not (isinstance(base, Columns) and isinstance(patch, Columns)):
        return {}, runs
    found = compare_lone_pair(base, patch)
    contents = {Side.BASE: base.without(found), Side.PATCH: patch.without(found)}
    return found, {side: [replace(runs[side][0], content=contents[side])] for side in Side}


def _compare_launches(
    runs: _Runs, policy: Policy, metrics: Sequence[str], schedule: Sequence[int]
) -> Iterator[Comparison]:
    suite = Suite(name="", program="", metrics=tuple(metrics))
    launches = [
        read_launch(pair, side, suite, run, joins=False)
        for side in Side
        for pair, run in enumerate(runs[side])
    ]
    known = {key for launch in launches for values in launch.values.values() for key in values}
    if known and (missing := [metric for metric in metrics if metric not in known]):
        raise BadInput(
            f"no benchmark reports {missing[0]!r}; they report {listed(sorted(known), _MOST_NAMED)}"
        )
    listing = Listing("", _names(runs[Side.BASE]), _names(runs[Side.PATCH]))
    failing = {name for launch in launches if launch.side is Side.PATCH for name in launch.errors}
    in_blocks = are_in_blocks(runs[Side.BASE], runs[Side.PATCH])
    for each in compare_suites([suite], [listing], launches, policy, schedule, joins=False):
        recorded = as_recorded(with_missing_pairs(each), failing)
        yield withheld(recorded, launches=len(runs[Side.BASE]), in_blocks=in_blocks)


def _distinct(
    base: Sequence[ResultFile], patch: Sequence[ResultFile]
) -> tuple[list[tuple[ResultFile, ResultFile]], list[str]]:
    """Leave out the pairs that repeat a launch, and list the warnings about them.

    A file given twice on a side is one launch, not two: counted twice, it would look like a change that
    repeats. The same file on both sides can only be the same.
    """
    pairs: list[tuple[ResultFile, ResultFile]] = []
    said: list[str] = []
    seen: set[tuple[Side, str]] = set()
    for one, other in zip(base, patch, strict=True):
        keys = [(Side.BASE, one.name), (Side.PATCH, other.name)]
        twice = [f"{name} is given twice as {side}" for side, name in keys if (side, name) in seen]
        if one.name == other.name:
            said.append(f"{one.name} is given as base and as patch")
        elif twice:
            said.append(f"{' and '.join(twice)}; a launch counts once, so this pair is left out")
            continue
        pairs.append((one, other))
        seen.update(keys)
    return pairs, list(dict.fromkeys(said))


def _names(runs: Sequence[GBenchRun]) -> tuple[str, ...]:
    # A failed row is listed too, as is one that cannot be used: they must not show up as removed.
    measured = [run.benchmarks for run in runs]
    return tuple(dict.fromkeys(chain(*measured, *(run.lost for run in runs))))


def _check_names(names: Mapping[Side, Sequence[str]], runs: _Runs) -> None:
    for side in Side:
        if not names[side]:
            said = "".join(f"; {run.warnings[0]}" for run in runs[side] if run.warnings)
            raise BadInput(f"the {side} files hold no benchmark that could be compared{said}")
    if set(names[Side.BASE]).isdisjoint(names[Side.PATCH]):
        raise BadInput(
            f"base and patch have no benchmark in common; base has {_first(names[Side.BASE])}, "
            f"patch has {_first(names[Side.PATCH])}"
        )


def _first(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _warnings(run: GBenchRun) -> Iterator[str]:
    yield from map(str, run.warnings)
    if run.warnings_left_out:
        yield f"{run.warnings[-1].source}: {run.warnings_left_out} more warnings about its rows"
