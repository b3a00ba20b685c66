"""Check that a request comes from this machine's user, who can read a file with a secret."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import NotAllowed
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

# A proxy on this machine makes all requests look local. If it does not name itself, there is the secret.
_OF_PROXIES: Final = ("forwarded", "via", "x-real-ip")
_PREFIX_OF_PROXIES: Final = "x-forwarded-"


@dataclass(frozen=True, slots=True)
class LocalIdentity:
    """The user of this machine.

    Args:
        read_secret: reads the secret of this start from its file; empty if there is none.
    """

    read_secret: Callable[[], str]

    def check(self, request: Request, secret: str) -> None:
        """Check the secret of a link of ``benchgate up``, and that no other machine sent the request.

        Raises:
            NotAllowed: the request came by a proxy or to another host, or the secret is another one.
        """
        names = request.headers.keys()
        is_forwarded = any(name in _OF_PROXIES or name.startswith(_PREFIX_OF_PROXIES) for name in names)
        client = request.client.host if request.client else ""
        if is_forwarded or not is_loopback(client) or not is_loopback(request.url.hostname or ""):
            raise NotAllowed(
                "only a browser on this machine may sign in without an identity provider; set "
                "BENCHGATE_OIDC_ISSUER for the others"
            )
        known = self.read_secret()
        if not known or not hmac.compare_digest(secret.encode(), known.encode()):
            raise NotAllowed(
                "this link has expired; open the one that `benchgate up` or the demo printed last"
            )
