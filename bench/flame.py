"""``make bench-flame``: the weight of a page with 10,000 random stacks, and the time to draw it.

The time stands beside that of reading the same stacks, which the page needs anyway.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Final

import click

from bench.reader import seconds_of
from bench.timing import met, say
from dashboards.verdict.flame_graph import flame_graph
from service.domain.verdict.explanation.explanation import MOST_STACKS, Explanation, Part, Stack, pack, unpack
from tests.support.reading.explained import random_stacks
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, call

ROUNDS: Final = 5
MOST_BYTES: Final = 500_000  # of the page, uncompressed
GOAL: Final = 3.0  # times the reading
_JOB: Final = ("kv-engine-cv-perf", 5904)


@click.command()
def main() -> None:
    """Draw random stacks, and print the figures."""
    stacks = tuple(random_stacks(MOST_STACKS))
    part = Part("kv::Store::get", 0.1, 0.09, 0.11)
    packed = pack([Explanation("executor", "BM_Hash", sampled=0.1, parts=(part,), stacks=stacks)])
    taken = [(seconds_of(partial(unpack, packed)), seconds_of(partial(draw, stacks))) for _ in range(ROUNDS)]
    reading, drawing = (median(side) for side in zip(*taken, strict=True))
    ratio = drawing / reading
    say(f"{len(stacks):,} stacks, {len(packed) / 1e3:.0f} kB packed, median of {ROUNDS}:")
    figures = f"{drawing * 1e3:.0f} ms, reading the stacks {reading * 1e3:.0f} ms, ratio {ratio:.2f}"
    say(f"  drawing {figures}, goal <= {GOAL:g}: {met(ratio <= GOAL)}")
    size = page_size(packed)
    say(f"  page {size / 1e3:.0f} kB, goal < {MOST_BYTES / 1e3:.0f} kB: {met(size < MOST_BYTES)}")


def draw(stacks: tuple[Stack, ...]) -> None:
    """Make the drawing of a page."""
    graph = flame_graph(stacks)
    if graph:
        graph.svg()


def page_size(packed: bytes) -> int:
    """Return the bytes of the page, as a browser has them after decompression."""
    reading = sample_project()
    reading.explained[reading.build(*_JOB).build.id] = packed
    job, number = _JOB
    return len(call(build_app(reading), "GET", f"/job/{job}/{number}/why/1").content)


if __name__ == "__main__":
    main()
