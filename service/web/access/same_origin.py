"""Check that one of Benchgate's pages sent a request, and not another site's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.errors import NotAllowed

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from service.web.access.address import Address


def require_same_origin(headers: Headers, address: Address) -> None:
    """Check the headers that name the sender; browsers set them, and scripts cannot.

    A browser that sends no ``Origin`` must say by ``Sec-Fetch-Site`` that the page is Benchgate's.

    Raises:
        NotAllowed: another site sent the request, or nothing says which one did.
    """
    origin = headers.get("origin")
    is_own = headers.get("sec-fetch-site") == "same-origin" if origin is None else origin == address.origin
    if not is_own:
        raise NotAllowed(f"only pages at {address.origin} may send this; open Benchgate there and try again")
