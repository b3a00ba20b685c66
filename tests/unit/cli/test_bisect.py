"""``benchgate bisect`` prints how to go on."""

from __future__ import annotations

import click
import pytest

from service.cli.local.bisect import command, going_on
from service.domain.trunk.bisection import Bisection, Suspect


@pytest.mark.parametrize(
    ("parents", "expected"), [((), ""), (("b" * 40,), f"benchgate bisect {'b' * 10} {'c' * 10}")]
)
def test_a_search_goes_on_from_the_commit_before_the_first_suspect_if_there_is_one(
    parents: tuple[str, ...], expected: str
) -> None:
    first = Suspect("a" * 40, parents, "2026-01-02", "Ada", "first")
    last = Suspect("c" * 40, ("a" * 40,), "2026-01-02", "Ada", "last")
    ctx = click.Context(command)
    ctx.params = dict.fromkeys((each.name or "" for each in command.params), None)
    assert going_on(ctx, Bisection((), (first, last), is_interrupted=True)) == expected
