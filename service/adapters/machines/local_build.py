"""Build on the developer's own machine: no lease, pairs in memory, binaries in a cache directory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from service.domain.runs.states import MAX_ATTEMPTS
from service.ports.machines import Claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.spec import BinaryKey, BuildSpec
    from service.domain.measuring.listing import Listing
    from service.domain.measuring.pair_record import PairRecord
    from service.ports.machines import BuildOutput


class LocalBuild(Claimed):
    """A claimed build for one process; its attributes keep what is reported.

    ``seed`` is that of every random choice; ``cache`` keeps the binaries of earlier calls.
    """

    def __init__(self, spec: BuildSpec, seed: str, cache: Path) -> None:
        self._spec = spec
        self._seed = seed
        self._cache = cache
        self._pairs: list[PairRecord] = []
        self.phase = ""
        self.listings: Sequence[Listing] = ()
        self._output: BuildOutput | None = None
        self.log = b""

    @property
    @override
    def name(self) -> str:
        # Without a number: local builds have none.
        return self._spec.job.name

    @property
    @override
    def spec(self) -> Mapping[str, Any]:
        return self._spec.to_mapping()

    @override
    def asked_by(self) -> Mapping[str, Any]:
        return {}

    @property
    @override
    def seed(self) -> str:
        return self._seed

    @property
    @override
    def attempt(self) -> int:
        # The last one: a passing fault is reported at once, and the person tries again.
        return MAX_ATTEMPTS

    @override
    def watch(self) -> None:
        """Never raise: no other worker takes a local build, and Ctrl-C interrupts by itself."""

    @override
    def enter(self, phase: str) -> None:
        self.phase = phase

    @override
    def tell(self, progress: str) -> None:
        """Do nothing: the terminal shows the progress."""

    @override
    def find(self, key: BinaryKey) -> str | None:
        entry = self._cache / key.digest
        return entry.read_text(encoding="ascii") if entry.is_file() else None

    @override
    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        (self._cache / key.digest).write_text(artifact, encoding="ascii")

    @override
    def fix_listings(self, listings: Sequence[Listing]) -> Sequence[Listing]:
        self.listings = self.listings or listings
        return self.listings

    @override
    def pairs(self) -> Sequence[PairRecord]:
        return sorted(self._pairs, key=lambda record: (record.variant, record.pair))

    @override
    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, Any]]) -> None:
        self._pairs.append(pair)

    @override
    @contextmanager
    def publish(self, log: BuildOutput, watch: Callable[[], None]) -> Iterator[None]:
        self._output = log
        yield

    @override
    def complete(self, execution: Mapping[str, Any]) -> None:
        self.log = b"" if self._output is None else self._output.kept()

    @override
    def report(self, execution: Mapping[str, Any], watch: Callable[[], None]) -> None:
        self.complete(execution)

    @override
    def explain(self, packed: bytes) -> None:
        """Do nothing: the report of a local gate has its explanations."""

    @override
    def release(self, delay: float = 0.0) -> None:
        """Do nothing: there is no queue to hand the build back to."""

    @override
    def close(self) -> None:
        """Do nothing: there is no lease to end."""
