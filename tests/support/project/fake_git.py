"""A git for ``benchgate init`` that knows one commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Completed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink

COMMIT: Final = "79fa7f1c676ff90d516779eb49f29e5f02dd8b23"
REMOTE: Final = "https://example.org/team/data.git"


@dataclass
class FakeGit:
    """A runner of git, which also keeps the notes of an inquiry.

    It prints ``answer`` if it is not asked for the address of a clone.
    """

    exit_code: int = 0
    answer: str = COMMIT
    remote: str = REMOTE
    notes: list[str] = field(default_factory=list)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def in_force(self) -> Mapping[str, str]:
        return {}

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        assert log is not None
        self.calls.append(command.argv)
        answer = self.remote if "remote.origin.url" in command.argv else self.answer
        log.write(f"{answer}\n".encode())
        return Completed(self.exit_code, 0.1)

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)
