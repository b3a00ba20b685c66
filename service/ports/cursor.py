"""The cursor of a list of changes."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime

from service.domain.values.errors import BadInput


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a page of changes: the next page begins with the change updated before it."""

    updated_at: datetime
    id: int

    def encode(self) -> str:
        """Return an opaque text that fits into a URL."""
        plain = f"{self.updated_at.astimezone(UTC).isoformat()} {self.id}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Return the cursor that :meth:`encode` wrote; raise BadInput for any other text."""
        try:
            plain = base64.urlsafe_b64decode(text[:200] + "=" * (-len(text[:200]) % 4)).decode()
            moment, _, number = plain.rpartition(" ")
            return cls(datetime.fromisoformat(moment).astimezone(UTC), int(number))
        except (ValueError, OverflowError, binascii.Error):
            raise BadInput("the cursor is not one that this service gave out", "cursor") from None
