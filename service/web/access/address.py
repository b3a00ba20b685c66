"""Benchgate's address for browsers, and the cookies that it sets there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from service.domain.values.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Mapping

# Browsers accept this prefix only with Secure, Path=/ and no Domain: no other host can plant such a cookie.
_HOST_PREFIX: Final = "__Host-"
_SESSION: Final = "benchgate"
_ATTEMPT: Final = "benchgate-sign-in"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the pages; from the settings, because a request may carry any ``Host``.

    Args:
        base_url: without a path.
    """

    base_url: str

    @property
    def origin(self) -> str:
        """Origin as browsers write it: ``https://host[:port]``, without the default port."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        default = {"http": 80, "https": 443}.get(parts.scheme)
        port = "" if parts.port in {None, default} else f":{parts.port}"
        return f"{parts.scheme}://{host}{port}"

    @property
    def is_secure(self) -> bool:
        """Browsers send nothing to this address unencrypted."""
        return self.origin.startswith("https://")

    @property
    def session_cookie(self) -> str:
        """Name of the cookie with a session's secret."""
        return self._name(_SESSION)

    @property
    def attempt_cookie(self) -> str:
        """Name of the cookie with an attempt to sign in."""
        return self._name(_ATTEMPT)

    def cookie(self, name: str, value: str, seconds: int | None = None) -> str:
        """Format the header that sets a cookie.

        Scripts cannot read it, and other sites cannot send it, except by a link to a page: the provider's
        answer is such a link, so ``Strict`` would lose it.

        Args:
            name: from this class.
            value: printable, without a semicolon.
            seconds: its lifetime; 0 removes it; None: until the browser is closed.
        """
        age = "" if seconds is None else f"; Max-Age={seconds}"
        secure = "; Secure" if self.is_secure else ""
        return f"{name}={value}; Path=/; HttpOnly; SameSite=Lax{age}{secure}"

    def require_same_origin(self, headers: Mapping[str, str]) -> None:
        """Check by headers that scripts cannot set that a page of this address sent a request.

        A browser that sends no ``Origin`` must say by ``Sec-Fetch-Site`` that the page is Benchgate's.

        Raises:
            NotAllowed: another site sent the request, or nothing says which one did.
        """
        origin = headers.get("origin")
        is_own = headers.get("sec-fetch-site") == "same-origin" if origin is None else origin == self.origin
        if not is_own:
            raise NotAllowed(f"only pages at {self.origin} may send this; open Benchgate there and try again")

    def _name(self, name: str) -> str:
        if self.is_secure:
            return f"{_HOST_PREFIX}{name}"
        # Browsers send a cookie to all ports of a host, where another Benchgate would remove it as unknown.
        return f"{name}-{urlsplit(self.base_url).port or 80}"
