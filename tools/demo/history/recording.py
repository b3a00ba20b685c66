"""Read and write the file of the recorded history: what one machine measured of each commit."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECORDED: Final = Path(__file__).with_name("recorded.jsonl.xz")


@dataclass(frozen=True, slots=True)
class RecordedPair:
    """A pair as the machine stored it: its record, and the facts of its launches."""

    variant: int
    pair: int
    raw: str
    launches: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RecordedBuild:
    """All that a machine reported of one build. ``change`` is the number of the history's commit."""

    change: int
    job: str
    listing: Sequence[Mapping[str, Any]]
    pairs: Sequence[RecordedPair]
    execution: Mapping[str, Any]
    log: str


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded builds, with the environment of the machine that measured them."""

    fingerprint: str
    facts: Mapping[str, Any]
    builds: Sequence[RecordedBuild]


def build_from(found: Mapping[str, Any]) -> RecordedBuild:
    """Read a build from plain values."""
    pairs = tuple(RecordedPair(**pair) for pair in found["pairs"])
    return RecordedBuild(**{**found, "pairs": pairs})


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording: a line for the machine, then one for each build."""
    head = {"fingerprint": recording.fingerprint, "facts": recording.facts}
    lines = [json.dumps(head), *(json.dumps(asdict(build)) for build in recording.builds)]
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=lzma.PRESET_EXTREME | 9))


def read_recording(path: Path = RECORDED) -> Recording:
    """Read the file that :func:`write_recording` wrote."""
    head, *builds = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    return Recording(head["fingerprint"], head["facts"], tuple(map(build_from, builds)))
