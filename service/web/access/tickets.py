"""CSRF tickets of forms: each shows that the session's page offered one action, and serves once."""

from __future__ import annotations

import binascii
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import NotAllowed
from service.domain.wording.refusals import FORM_USED

if TYPE_CHECKING:
    from service.domain.access.caller import User

_NONCE_BYTES: Final = 16
_PURPOSE: Final = b"benchgate form"  # the session's digest must not sign anything else by the same bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketedForm:
    """A form that a page offers a person; ``missing`` says why they may not send it."""

    person: User
    path: str
    missing: str = ""

    def ticket(self) -> str:
        """Make a ticket of the form."""
        return ticket_for(self.person, f"POST {self.path}")


def ticket_for(person: User, action: str) -> str:
    """Make a ticket for a form; each is different, so that compressed pages reveal nothing about it.

    Args:
        person: whom the page is for.
        action: the method, path and target of the form, as ``check_ticket`` gets them.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return urlsafe_b64encode(nonce + _sign(person, action, nonce)).decode("ascii")


def check_ticket(person: User, action: str, ticket: str) -> bytes:
    """Check the ticket of a form, and return its key: refuse an action if its key is already stored.

    Raises:
        NotAllowed: no page offered this action to this session.
    """
    try:
        decoded = urlsafe_b64decode(ticket)
    except (binascii.Error, ValueError):
        decoded = b""
    nonce, signature = decoded[:_NONCE_BYTES], decoded[_NONCE_BYTES:]
    if not hmac.compare_digest(signature, _sign(person, action, nonce)):
        raise NotAllowed(FORM_USED)
    return nonce


def _sign(person: User, action: str, nonce: bytes) -> bytes:
    key = hmac.digest(person.session, _PURPOSE, "sha256")
    return hmac.digest(key, nonce + action.encode(), "sha256")
