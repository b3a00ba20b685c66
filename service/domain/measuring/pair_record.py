"""The raw record of a pair: every launch's output exactly as the program wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from service.domain.comparison.suite import read_launch
from service.domain.errors import BadResults
from service.domain.gbench.reader import read_run
from service.domain.identity import Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class RawLaunch:
    """One launch: the bytes it wrote, and what was seen around it (seconds, load).

    A suite of many benchmarks is launched in groups of them, so that a pair may have several for a side.
    """

    suite: str
    side: Side
    output: bytes
    facts: Mapping[str, Any]


def encode(launches: Sequence[RawLaunch]) -> bytes:
    """One JSON document; bytes that are not UTF-8 survive as lone surrogates."""
    return json.dumps(
        [
            {
                "suite": each.suite,
                "side": str(each.side),
                "facts": dict(each.facts),
                "output": each.output.decode("utf-8", "surrogateescape"),
            }
            for each in launches
        ]
    ).encode()


def decode(record: bytes) -> tuple[RawLaunch, ...]:
    """What :func:`encode` made.

    Raises:
        BadResults: the bytes are no pair record.
    """
    try:
        return tuple(
            RawLaunch(
                suite=each["suite"],
                side=Side(each["side"]),
                output=each["output"].encode("utf-8", "surrogateescape"),
                facts=each["facts"],
            )
            for each in json.loads(record)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadResults(f"not a pair record: {str(error)[:200]}") from None


def read_pair(pair: int, record: bytes, suites: Sequence[Suite]) -> tuple[Launch, ...]:
    """The launches of a pair as samples, one for each suite and side, however many groups they were.

    Suites that the job no longer has are left out.
    """
    by_name = {suite.name: suite for suite in suites}
    found: dict[tuple[str, Side], Launch] = {}
    for raw in decode(record):
        if raw.suite in by_name:
            launch = _read(pair, raw, by_name[raw.suite])
            known = found.get((raw.suite, raw.side))
            found[raw.suite, raw.side] = launch if known is None else _joined(known, launch)
    return tuple(found.values())


def _read(pair: int, raw: RawLaunch, suite: Suite) -> Launch:
    run = read_run(raw.output, source=f"pair {pair}, {raw.side}, suite {raw.suite}")
    launch = read_launch(pair, raw.side, suite, run)
    # As it was judged when it was measured: limits that change later change no verdict.
    seconds = float(raw.facts.get("seconds", 0.0))
    return replace(
        launch,
        is_disturbed=raw.facts.get("disturbed") is True,
        is_kept_in_place=raw.facts.get("kept_in_place") is True,
        seconds=seconds,
    )


def _joined(one: Launch, other: Launch) -> Launch:
    return replace(
        one,
        values={**one.values, **other.values},
        errors={**one.errors, **other.errors},
        warnings=one.warnings + other.warnings,
        is_disturbed=one.is_disturbed or other.is_disturbed,
        seconds=one.seconds + other.seconds,
        real_per_cpu={**one.real_per_cpu, **other.real_per_cpu},
        varying=one.varying | other.varying,
        lost={**one.lost, **other.lost},
    )
