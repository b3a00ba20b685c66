"""``make bench-why``: explain planted causes of slow-downs, and print how many explanations are right."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import click

from bench.timing import say, say_load
from bench.why.engine import explain, slow_down
from bench.why.planted import build, lay_out, make_repository, read
from bench.why.scoring import Said, score, shares
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from bench.why.planted import Cause

_BY_CHANCE: Final = 0.05


@click.command()
@click.option("--only", multiple=True, help="Explain this cause; may be repeated.")
@click.option("--seen", is_flag=True, help="Leave out the causes that no rule may be tuned on.")
@click.option("--times", is_flag=True, help="Only time the causes.")
@click.option("--repository", type=click.Path(path_type=Path), help="Only make one with the cause of --only.")
def main(*, only: tuple[str, ...], seen: bool, times: bool, repository: Path | None) -> None:
    """Build the library with and without each cause, then time and explain its benchmark."""
    lists = {name: read(name) for name in (("seen",) if seen else ("seen", "unseen"))}
    if repository:
        (chosen,) = (cause for causes in lists.values() for cause in causes if cause.name in only)
        make_repository(repository, chosen)
        return
    summary, seconds = [], []
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-") as scratch:
        work = Path(scratch)
        base = build(lay_out(work / "base"))
        say_load("before")
        say("| cause | list | slow-down | function | kind | score | s |\n|---|---|---|---|---|---|---|")
        for name, causes in lists.items():
            scored = []
            for cause in causes:
                if only and cause.name not in only:
                    continue
                programs = {Side.BASE: base, Side.PATCH: build(lay_out(work / "patch", cause))}
                slower = slow_down(programs, cause.benchmark)
                begun = time.monotonic()
                found = _found(cause, slower)
                said = Said() if times else explain(work / "sides", programs, cause.benchmark, found)
                seconds.append(time.monotonic() - begun)
                scored.append((cause, score(cause, said)))
                cells = (cause.name, name, f"{slower:+.1%}", f"`{said.function[:60]}`", said.kind)
                say(f"| {' | '.join(cells)} | {scored[-1][1]} | {seconds[-1]:.1f} |")
            summary.append(f"{name}: {shares(scored)}")
        say_load("after")
    say("\n".join(["", *summary]))
    say(f"seconds of an explanation: median {median(seconds):.1f}, at most {max(seconds):.1f}")


def _found(cause: Cause, slower: float) -> float:
    """Return the slow-down to explain: one by chance, if the cause makes nothing slower."""
    return slower if cause.first else max(slower, _BY_CHANCE)


if __name__ == "__main__":
    main()
