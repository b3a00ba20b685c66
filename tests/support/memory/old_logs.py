"""Old logs and failures in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.ports.runs.upkeep import OldLogs

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY: Final = 86_400.0
HOUR: Final = 3600.0


@dataclass
class MemoryOldLogs(OldLogs):
    """Logs by their builds, each with its artifacts and its end; ``named`` is named by other things.

    ``failures`` are the ends of builds with failures, and ``matched`` those that known failures matched.
    """

    now: float = 0.0
    logs: dict[str, tuple[tuple[str, ...], float | None]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    unneeded: dict[str, float] = field(default_factory=dict)
    failures: dict[str, float] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)

    @override
    def drop_old_logs(self, most: int) -> int:
        old = [
            build
            for build, (_, ended) in self.logs.items()
            if ended is not None and self.now - ended > (400 if build in self.failed else 90) * DAY
        ][:most]
        for build in old:
            artifacts, _ = self.logs.pop(build)
            self.unneeded |= dict.fromkeys(artifacts, self.now)
        return len(old)

    @override
    def unneeded_artifacts(self, most: int) -> Sequence[str]:
        due = [artifact for artifact, since in self.unneeded.items() if self.now - since > HOUR][:most]
        named = self.named.union(*(artifacts for artifacts, _ in self.logs.values()))
        for artifact in named.intersection(due):
            del self.unneeded[artifact]
        return [artifact for artifact in due if artifact not in named]

    @override
    def drop_artifacts(self, artifacts: Sequence[str]) -> None:
        for artifact in artifacts:
            self.unneeded.pop(artifact, None)

    @override
    def drop_old_failures(self, most: int) -> int:
        old = [
            build
            for build, ended in self.failures.items()
            if self.now - ended > 400 * DAY and build not in self.matched
        ][:most]
        for build in old:
            del self.failures[build]
        return len(old)
