"""The benchmarks that a launch was asked for: those that ran, and those that did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.gbench.reader import GBenchRun

_NAMED: Final = 3  # missing benchmarks that a message names


def ran_of(run: GBenchRun, benchmarks: Iterable[str]) -> frozenset[str]:
    """Those of the benchmarks that ran. Errors and skips are results.

    A row that the reader could not use may be any of them, and its warning says so.
    """
    if any(warning.row is not None for warning in run.warnings):
        return frozenset(benchmarks)
    found = {name for row in run.rows for name in (row.name, row.run_name)}
    return frozenset(name for name in benchmarks if name in found)


def missing_of(run: GBenchRun, benchmarks: Sequence[str], file: str) -> str:
    """A sentence that names benchmarks that were asked for and did not run; empty if none is missing.

    ``file`` is the name of the file with the results.
    """
    ran = ran_of(run, benchmarks)
    missing = [name for name in benchmarks if name not in ran]
    if not missing:
        return ""
    if run.damage:
        return f"{file}: {run.damage}"
    named = ", ".join(plain(name, 100) for name in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"did not run what it lists: {named}{more}"
