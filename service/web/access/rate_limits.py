"""Limit the rate of requests to sign in and to change something."""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from service.domain.access.caller import TokenHolder, User
from service.domain.values.errors import TooMany

if TYPE_CHECKING:
    from limits import RateLimitItem

    from service.domain.access.caller import Caller

# A sign-in takes two requests. Behind some proxies all people have one address, so a team must pass. There is
# no limit for all addresses together: an attacker with many could use it up, and so keep everybody out.
_SIGN_IN: Final = parse("60/minute")
_CHANGES: Final = parse("60/minute")  # nobody clicks more often; a program may report a build a second
_NETWORK_BITS: Final = 64  # the smallest network that a provider gives to one customer


class RateLimits:
    """Limits of one process, in its memory; several web processes allow that many times as much."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def sign_in(self, address: str) -> None:
        """Count a request to sign in.

        Args:
            address: of the client.

        Raises:
            TooMany: the address sent too many.
        """
        self._hit(_SIGN_IN, "sign-in", network_of(address))

    def change(self, caller: Caller) -> None:
        """Count a request that changes something.

        Raises:
            TooMany: the person or the token sent too many.
        """
        match caller:
            case User():
                self._hit(_CHANGES, "person", caller.subject)
            case TokenHolder():
                self._hit(_CHANGES, "token", str(caller.token_id))

    def _hit(self, limit: RateLimitItem, kind: str, who: str) -> None:
        if not self._limiter.hit(limit, kind, who):
            reset = self._limiter.get_window_stats(limit, kind, who).reset_time
            raise TooMany(
                f"more than {limit.amount} requests in a minute",
                max(1.0, reset - time.time()),
            )


def network_of(address: str) -> str:
    """Return the network of a client: its address; for IPv6, the network that one customer gets."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _NETWORK_BITS), strict=False))
    return str(parsed)
