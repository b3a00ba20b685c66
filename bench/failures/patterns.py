"""Time hostile configured patterns: RE2 on a megabyte, and the standard library on a few letters."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

import click

from service.domain.failures.configured import read_patterns
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import lines_in

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE: Final = ("(a+)+$", "(a|aa)+$", "(a*)*b")
LETTERS: Final = 22  # the standard library needs twice the time for each more
_MEGABYTE: Final = 1 << 20
_LOG: Final = 64 << 20  # bytes; the default limit of a log
_LINE: Final = b"[ 12%] Building CXX object src/store/CMakeFiles/store.dir/bucket.cc.o of the target\n"
_MOST: Final = 100  # patterns of a file


def seconds_of(work: Callable[[], object]) -> float:
    """Measure the CPU time of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


@click.command
def main() -> None:
    """Print the seconds per byte of each engine, and the time for a log of 64 MiB."""
    for text in HOSTILE:
        ours = seconds_of(lambda text=text: Pattern(text).search(b"a" * _MEGABYTE + b"!"))  # type: ignore[misc]
        theirs = seconds_of(lambda text=text: re.search(text, "a" * LETTERS + "!"))  # type: ignore[misc]
        ratio = (theirs / LETTERS) / (ours / _MEGABYTE)
        click.echo(
            f"{text:10} RE2: {ours * 1000:6.1f} ms for {_MEGABYTE} letters; "
            f"re: {theirs * 1000:7.1f} ms for {LETTERS} letters; a letter costs {ratio:,.0f} times as much"
        )
    many = "\n".join(f"p{number}: '(?i)error {number}: .*(foo|bar)+$'" for number in range(_MOST))
    patterns = read_patterns(many, "patterns.yaml")
    log = _LINE * (_LOG // len(_LINE))
    chunks = [log[begin : begin + _MEGABYTE] for begin in range(0, len(log), _MEGABYTE)]
    took = seconds_of(lambda: patterns.failures_in(lines_in(chunks)))
    click.echo(
        f"{_MOST} patterns over a log of {_LOG >> 20} MiB in {len(log) // len(_LINE)} lines: {took:.1f} s"
    )


if __name__ == "__main__":
    main()
