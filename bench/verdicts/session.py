"""Store recorded A/A sessions: the values of many launches of one unchanged program, pair by pair."""

from __future__ import annotations

import io
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

RECORDED: Final = Path(__file__).parent / "sessions"
SUFFIX: Final = ".npz.xz"
_RESOLUTION: Final = 1e-4  # of the fastest repetition: a hundredth of the smallest effect looked for
_LARGEST: Final = np.iinfo(np.uint16).max


@dataclass(frozen=True, slots=True)
class Session:
    """One session. Arrays have base as side 0; a launch is one process of one side.

    Args:
        name: of its file.
        facts: when, where and how it was recorded.
        benchmarks: names, in the order of the arrays' axis.
        times: seconds per iteration by the benchmark's own clock: [pair, side, benchmark, repetition].
        spent: wall seconds of all repetitions of a benchmark in a launch: [pair, side, benchmark].
        seconds: wall seconds of a launch: [pair, side].
        steal: share of its CPUs' time that the hypervisor took during a benchmark's launch:
            [pair, side, benchmark].
        foreign: in the same form, the share that other programs took.
        elsewhere: in the same form, the busy share of the machine's other CPUs, perhaps threads of one core.
        long: the same program in one long launch a side, as one measures without pairs:
            [side, benchmark, repetition].
        long_seconds: wall seconds of the long launches: [side].
    """

    name: str
    facts: Mapping[str, Any]
    benchmarks: tuple[str, ...]
    times: NDArray[np.float64]
    spent: NDArray[np.float64]
    seconds: NDArray[np.float64]
    steal: NDArray[np.float64]
    foreign: NDArray[np.float64]
    elsewhere: NDArray[np.float64]
    long: NDArray[np.float64]
    long_seconds: NDArray[np.float64]

    @property
    def pairs(self) -> int:
        """The number of recorded pairs."""
        return len(self.seconds)

    @property
    def first(self) -> tuple[Side, ...]:
        """The side that was launched first, by pair."""
        return tuple(Side(each) for each in self.facts["first"])


def save(session: Session, directory: Path) -> Path:
    """Write a session; small, since a repository keeps it for ever."""
    directory.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, NDArray[Any]] = {
        "facts": np.frombuffer(
            json.dumps({**session.facts, "benchmarks": list(session.benchmarks)}).encode(), dtype=np.uint8
        ),
        "seconds": session.seconds.astype(np.float32),
        "spent": session.spent.astype(np.float32),
        "steal": session.steal.astype(np.float32),
        "foreign": session.foreign.astype(np.float32),
        "elsewhere": session.elsewhere.astype(np.float32),
        "long_seconds": session.long_seconds.astype(np.float32),
    }
    for name, values in (("times", session.times), ("long", session.long)):
        arrays[f"{name}_least"] = least = values.min(
            axis=tuple(i for i in range(values.ndim) if i != values.ndim - 2)
        )
        over = np.rint((values / least[:, None] - 1) / _RESOLUTION)
        arrays[name] = np.minimum(over, _LARGEST).astype(np.uint16)
    plain = io.BytesIO()
    np.savez(plain, **arrays)  # type: ignore[arg-type]  # the stub takes the names for options
    path = directory / f"{session.name}{SUFFIX}"
    path.write_bytes(lzma.compress(plain.getvalue(), preset=9))
    return path


def load_session(path: Path) -> Session:
    """The session of a file that :func:`save` wrote."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    facts = json.loads(found["facts"].tobytes())
    whole = {
        name: found[f"{name}_least"][:, None] * (1 + _RESOLUTION * found[name].astype(float))
        for name in ("times", "long")
    }
    plain = {
        name: found[name].astype(float)
        for name in ("seconds", "spent", "steal", "foreign", "elsewhere", "long_seconds")
    }
    benchmarks = tuple(facts.pop("benchmarks"))
    return Session(path.name.removesuffix(SUFFIX), facts, benchmarks, **whole, **plain)


def load_sessions(directory: Path = RECORDED) -> tuple[Session, ...]:
    """All sessions of a directory, in the order of their names, which is that of time."""
    return tuple(load_session(path) for path in sorted(directory.glob(f"*{SUFFIX}")))
