"""``make bench-claims``: read random commit messages, and print wrong claims and the slowest message."""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import Final

import click

from bench.claims.messages import damaged, with_table, without_claims, without_end
from bench.timing import say
from service.domain.claims.find import find_claims
from service.domain.measuring.formats.row import TIMES

_MOST: Final = 0.05  # seconds of processor time for a message


@click.command()
@click.option("--messages", default=10_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(*, messages: int, seed: int) -> None:
    """Fail if a claim is invented or wrong, or if a message takes longer than 50 ms."""
    counts: Counter[str] = Counter()
    slowest = 0.0
    for number in range(messages):
        random = Random(f"{seed}/{number}")  # noqa: S311 - no secrets
        kind = ("plain", "planted", "damaged", "longest")[number % 4]
        planted = with_table(random)
        made = {"plain": without_claims, "longest": without_end}.get(kind)
        message = made(random) if made else planted.message
        message = damaged(random, message) if kind == "damaged" else message
        begun = time.process_time()
        found = find_claims(message)
        slowest = max(slowest, time.process_time() - begun)
        claims = {(each.benchmark, each.metric): (each.before, each.after) for each in found.claims}
        times = {key: value for key, value in claims.items() if key[1] in TIMES}
        counts[f"{kind} messages"] += 1
        counts[f"{kind} messages with a refused table"] += bool(found.refused)
        counts[f"{kind} messages with claims"] += bool(claims)
        if kind in {"plain", "planted"}:
            wanted = planted.claims if kind == "planted" else {}
            counts[f"{kind} messages with invented or wrong claims"] += not times.items() <= wanted.items()
            counts[f"{kind} messages with missed claims"] += not wanted.items() <= times.items()
    for name, count in sorted(counts.items()):
        say(f"{count:>6} {name}")
    say(f"slowest message: {slowest * 1000:.1f} ms of processor time")
    assert slowest < _MOST
    assert not any(
        count for name, count in counts.items() if name.endswith(("wrong claims", "missed claims"))
    )


if __name__ == "__main__":
    main()
