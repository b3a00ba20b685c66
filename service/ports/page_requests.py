"""Requests that people make on pages: as they are stored, and as the pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - rows are read by the annotation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A command that a person requests on a page.

    Args:
        patch_set_id: the patch set that the page showed.
        account: the person's account on the review server.
        person: the name that the review server shows for the account.
        signed_in_as: the identity provider's name for the person, who need not be the account's owner: an
            e-mail address links the two.
        command: the command.
        ticket: the digest of the form's ticket; a request with one that was used before changes nothing.
    """

    patch_set_id: int
    account: str
    person: str
    signed_in_as: str
    command: FormCommand
    ticket: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRequest:
    """A command that a person requested on a page. ``answer`` may be empty: its effect is shown anyway.

    ``text`` is the command as people write it in a comment.
    """

    id: int
    person: str
    text: str
    created_at: datetime
    is_pending: bool
    answer: str
