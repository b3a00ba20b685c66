"""The link to a person's account, which the header of every page has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccountLink:
    """A link to the account page for a person who signed in, to the page for signing in for the others.

    Args:
        path: its address, which leads back to the page with the link.
        is_sign_in: it is the page for signing in.
    """

    path: str
    is_sign_in: bool

    @property
    def name(self) -> str:
        """The text of the link."""
        return "Sign in" if self.is_sign_in else "Account"
