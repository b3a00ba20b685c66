"""``make bench-debug-info``: what `-g1 -fno-omit-frame-pointer` costs the benchmarks of the library."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from bench.timing import say, say_load
from bench.why.engine import count, slow_down
from bench.why.planted import build, lay_out, read
from service.domain.measuring.callgrind_events import Event
from service.domain.values.identity import Side

_FLAGS: Final = {
    "nothing": "-O2 -g0",
    "-g1": "-O2 -g1",
    "-g1 -fno-omit-frame-pointer": "-O2 -g1 -fno-omit-frame-pointer",
}


def main() -> None:
    """Build the library with each set of flags, and compare each benchmark with that without any."""
    benchmarks = sorted({cause.benchmark for cause in read("seen")})
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-") as scratch:
        work = Path(scratch)
        programs = {
            name: build(lay_out(work / f"tree-{place}"), flags)
            for place, (name, flags) in enumerate(_FLAGS.items())
        }
        base = programs.pop("nothing")
        say_load("before")
        say("| flags | size | instructions: median, most | time: median, most |\n|---|---|---|---|")
        for name, patch in programs.items():
            pair = {Side.BASE: base, Side.PATCH: patch}
            size = patch.stat().st_size / base.stat().st_size
            times = [slow_down(pair, each) for each in benchmarks]
            grown = [_more_instructions(work / "sides", pair, each) for each in benchmarks]
            shares = [f"{median(each):+.1%}, {max(each):+.1%}" for each in (grown, times)]
            say(f"| {' | '.join((name, f'×{size:.1f}', *shares))} |")
        say_load("after")


def _more_instructions(work: Path, programs: dict[Side, Path], benchmark: str) -> float:
    base, patch = (side[0].rates[Event.INSTRUCTIONS] for side in count(work, programs, benchmark))
    return patch / base - 1


if __name__ == "__main__":
    main()
