"""A build at somebody's desk: no server, no lease; pairs in memory, binaries in a cache directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from service.domain.building.binary_key import BinaryKey
    from service.domain.building.spec import BuildSpec
    from service.domain.measuring.pair_record import PairRecord


class LocalBuild:
    """The Claimed port for one process: what it reports is kept in its attributes.

    Args:
        spec: what to do.
        seed: of every random choice.
        cache: directory of the binaries of earlier calls.
    """

    attempt = 3  # the last one: a passing fault is told at once, the person will try again

    def __init__(self, spec: BuildSpec, seed: str, cache: Path) -> None:
        self._spec = spec
        self._cache = cache
        self.seed = seed
        self.phase = ""
        self.listing: Sequence[Mapping[str, Any]] = ()
        self._pairs: list[PairRecord] = []
        self.log = b""

    @property
    def name(self) -> str:
        """The job's name: builds at a desk have no number."""
        return self._spec.job.name

    @property
    def spec(self) -> Mapping[str, Any]:
        """What to do."""
        return self._spec.to_mapping()

    def watch(self) -> None:
        """Nobody takes a desk's build away; Ctrl-C interrupts by itself."""

    def enter(self, phase: str) -> None:
        """Note the phase."""
        self.phase = phase

    def find(self, key: BinaryKey) -> str | None:
        """A binary of an earlier call."""
        entry = self._cache / key.digest
        return entry.read_text(encoding="ascii") if entry.is_file() else None

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Remember a binary."""
        self._cache.mkdir(parents=True, exist_ok=True)
        (self._cache / key.digest).write_text(artifact, encoding="ascii")

    def fix_listing(self, listing: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Keep what will be measured."""
        self.listing = listing
        return listing

    def pairs(self) -> Sequence[PairRecord]:
        """The pairs so far."""
        return tuple(self._pairs)

    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Keep a pair."""
        self._pairs.append(pair)

    def complete(self, execution: Mapping[str, Any], log: bytes) -> None:  # noqa: ARG002
        """Keep the log."""
        self.log = log

    def release(self, delay: float = 0.0) -> None:
        """Nothing to hand back to."""

    def close(self) -> None:
        """Nothing to stop."""
