"""Print the listings of `benchgate gate --list`, as text for people or as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from service.domain.values.identity import Side
from service.domain.values.text import duration, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.steps.runs.list_benchmarks import ListedJob, ListedSuite

_SHORT: Final = 10.0  # seconds, below which tenths matter
NOTHING_COMMON: Final = "the two sides have no benchmark in common, so no launch was timed"


def print_listing(job: ListedJob) -> None:
    """Print a job's suites as a table to stdout, what the machine time allows, and each benchmark."""
    click.echo(job.job)
    head = ("suite", "benchmarks", "base launch", "patch launch", f"pairs in {duration(job.machine_time)}")
    rows = [head, *map(_cells, job.suites)]
    if len(job.suites) > 1:
        rows.append(_all_of(job))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = (f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True))
        click.echo(f"  {name:<{widths[0]}}  {'  '.join(cells)}".rstrip())
    click.echo(f"  {NOTHING_COMMON if job.pairs is None else job.outlook}")
    for cause in job.causes:
        click.echo(f"  {plain(cause, 500)}")
    for each in job.suites:
        if names := [*_names(each)]:
            click.echo("\n".join([f"benchmarks of {plain(each.listing.suite)}:", *names]))


def _cells(suite: ListedSuite) -> tuple[str, ...]:
    listing = suite.listing
    chosen = len(_benchmarks(suite))
    of = f" of {chosen + len(listing.not_chosen)}" if listing.not_chosen else ""
    launches = (_seconds(suite.seconds.get(side)) for side in (Side.BASE, Side.PATCH))
    return (plain(listing.suite), f"{chosen}{of}", *launches, "" if suite.pairs is None else str(suite.pairs))


def _all_of(job: ListedJob) -> tuple[str, ...]:
    names = sum(len(_benchmarks(each)) for each in job.suites)
    launches = (
        _seconds(sum(each.seconds.get(side, 0.0) for each in job.suites)) for side in (Side.BASE, Side.PATCH)
    )
    return ("all", str(names), *launches, "" if job.pairs is None else str(job.pairs))


def _benchmarks(suite: ListedSuite) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*suite.listing.patch, *suite.listing.base)))


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds < _SHORT else duration(seconds)


def _names(suite: ListedSuite) -> Iterator[str]:
    listing = suite.listing
    in_base, in_patch = set(listing.base), set(listing.patch)
    for name in _benchmarks(suite):
        note = " (new)" if name not in in_base else "" if name in in_patch else " (removed)"
        yield f"  {plain(name, 1024)}{note}"


def listing_to_mapping(job: ListedJob) -> dict[str, Any]:
    """Convert a listing to plain values for JSON."""
    return {
        "job": job.job,
        "machine_time": job.machine_time,
        "pair_seconds": job.pair_seconds or None,
        "pairs": job.pairs,
        "pairs_needed": job.needed,
        "suites": [_suite_to_mapping(each) for each in job.suites],
        "causes": list(job.causes),
        "seconds": dict(job.seconds),
    }


def _suite_to_mapping(suite: ListedSuite) -> Mapping[str, Any]:
    listing = suite.listing
    return {
        "suite": listing.suite,
        "base": list(listing.base),
        "patch": list(listing.patch),
        "not_chosen": list(listing.not_chosen),
        "launch_seconds": {str(side): suite.seconds.get(side) for side in Side},
        "pairs": suite.pairs,
    }
