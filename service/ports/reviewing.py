"""What the steps need of the server on which changes are reviewed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from service.domain.gerrit.change import Change, Posted, PostedMessage, Review
    from service.domain.identity import ChangeKey


class ReviewServer(Protocol):
    """Gerrit, or what stands in for it. Raises Transient, Permanent, NotFound."""

    @property
    def instance(self) -> str:
        """The name under which its changes are stored."""

    @property
    def account(self) -> str:
        """The account under which this service posts: only what it posted can be recognised as ours."""

    def now(self) -> datetime:
        """The server's clock, to the second: two clocks are never compared."""

    def change(self, key: ChangeKey) -> Change:
        """The change as it stands now."""

    def changes_since(self, moment: datetime | None) -> Iterable[Change]:
        """Changes updated since then (None: all that are open), in no particular order."""

    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        """All messages on a change, oldest first."""

    def post(self, review: Review) -> Posted:
        """Post on exactly that revision; what the server took of it."""

    def is_member(self, account: str, group: str) -> bool:
        """Whether an account is in a group now; Permanent where we may not know."""
