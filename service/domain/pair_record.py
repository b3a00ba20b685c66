"""The raw record of a pair: every launch's output exactly as the program wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.domain.errors import BadResults
from service.domain.gbench import read_run
from service.domain.identity import Side
from service.domain.samples import Launch, read_launch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project_file import Suite


@dataclass(frozen=True, slots=True)
class RawLaunch:
    """One launch: the bytes it wrote, and what was seen around it (seconds, exit code, load)."""

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
    """The launches of a pair as samples; suites that the job no longer has are left out."""
    by_name = {suite.name: suite for suite in suites}
    return tuple(
        read_launch(
            pair,
            raw.side,
            by_name[raw.suite],
            read_run(raw.output, source=f"pair {pair}, {raw.side}, suite {raw.suite}"),
        )
        for raw in decode(record)
        if raw.suite in by_name
    )
