"""A bug tracker in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.values.errors import NotFound, Permanent

if TYPE_CHECKING:
    from service.ports.failures.bugs import Bug


@dataclass
class FakeBugTracker:
    """The bugs by key, and the comments that were added."""

    url: str = "https://bugs.example.com"
    may_post: bool = True
    bugs: dict[str, Bug] = field(default_factory=dict)
    comments: list[tuple[str, str]] = field(default_factory=list)

    def look(self, bug: str) -> Bug | None:
        return self.bugs.get(self._key_of(bug))

    def post_count(self, bug: str, text: str) -> None:
        if not self.may_post:
            raise Permanent("comments on bugs are not allowed")
        key = self._key_of(bug)
        if key not in self.bugs:
            raise NotFound(f"there is no bug {bug}")
        first = text.partition("\n")[0]
        if not any(bug == key and old.partition("\n")[0] == first for bug, old in self.comments):
            self.comments.append((key, text))

    def _key_of(self, bug: str) -> str:
        return bug.removeprefix(f"{self.url}/browse/")
