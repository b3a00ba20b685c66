"""Read the fields of known failures' forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.known import MOST_DAYS
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from service.web.access.forms import Form

_DIGITS: Final = 3


def days_in(form: Form) -> int | None:
    """Read the days until a known failure expires; None without them. Raises BadInput for another text."""
    days = form.get("days", "").strip()
    if not days:
        return None
    if days.isascii() and days.isdigit() and len(days) <= _DIGITS and 1 <= int(days) <= MOST_DAYS:
        return int(days)
    raise BadInput(f"must be a number of days, 1 to {MOST_DAYS}", "days")
