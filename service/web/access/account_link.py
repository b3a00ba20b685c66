"""Link to the caller's account, or to the page for signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from service.domain.access.caller import AccountLink
from service.web.access.attempt_cookie import return_path
from service.web.access.authenticate import has_session

if TYPE_CHECKING:
    from fastapi import Request

    from service.web.access.authenticate import Access

SIGN_IN: Final = "/sign-in"


def account_link(request: Request) -> AccountLink | None:
    """Return the link for the sender of a request; None if nobody can sign in here."""
    access: Access = request.app.state.access
    if not access.has_way_in:
        return None
    if has_session(request):
        return AccountLink("/account", is_sign_in=False)
    return AccountLink(sign_in_path(request), is_sign_in=True)


def sign_in_path(request: Request) -> str:
    """Return the address of the page for signing in; it leads back to the requested page."""
    path = request.url.path
    if request.method != "GET" or path.startswith(SIGN_IN):
        return SIGN_IN
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{SIGN_IN}?return={quote(return_path(path + query), safe='')}"
