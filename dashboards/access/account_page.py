"""The page of a person's account."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dashboards.rendering import Pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request
    from fastapi.responses import HTMLResponse

    from service.steps.runs.check_health import HealthCheck


def account_renderer(
    health: HealthCheck, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[Request, object], HTMLResponse]:
    """Return the renderer of the account page, which takes the page's view; ``now`` is the clock."""
    pages = Pages(health)
    return lambda request, view: pages.render(request, "account.html", view=view, now=now())
