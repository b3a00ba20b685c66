"""Queries about what accounts may see on Gerrit: Gerrit applies its own rules, and Benchgate has none.

Gerrit's own check of access needs a global capability, and does not know private changes. The operator
``visibleto`` needs no capability, and one query answers for a whole page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from service.adapters.review.gerrit.fields import object_from, person_from, text_in
from service.adapters.review.gerrit.reading import account_from, change_number, listed
from service.domain.review.change import Account
from service.domain.values.errors import Permanent, Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.adapters.review.gerrit.connection import GerritConnection

BATCH: Final = 100  # changes in one query: far below Gerrit's limit on the terms of a query
UNQUOTABLE: Final = re.compile(r'["\\\x00-\x1f\x7f]')  # only newer servers support an escape inside quotes
_PATTERN: Final = "^"  # begins a regular expression


def account_of(connection: GerritConnection, email: str) -> Account | None:
    """Return the only active account with this preferred address.

    Gerrit also finds longer addresses that begin with it, so that the addresses are compared here.
    """
    if UNQUOTABLE.search(email) or "@" not in email:
        return None
    query = urlencode((("q", f'is:active email:"{email}"'), ("n", 10), ("o", "DETAILS")), quote_via=quote)
    found = [object_from(each) for each in listed(connection.get("accounts/", query))]
    exact = [each for each in found if _folded(text_in(each, "email")) == _folded(email)]
    if len(exact) != 1 or exact[0].get("inactive") is True:
        return None
    return Account(account_from(exact[0]), person_from(exact[0]).shown)


def visible_changes(
    connection: GerritConnection, account: str | None, numbers: Collection[int]
) -> frozenset[int]:
    """Return which changes Gerrit shows to an account; None: to the connection's own reader."""
    wanted = sorted(set(numbers))
    seen: set[int | None] = set()
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        query = f"({' OR '.join(f'change:{number}' for number in batch)})"
        seen.update(change_number(document) for document in _found(connection, account, query, BATCH))
    return frozenset(number for number in wanted if number in seen)


def can_read(connection: GerritConnection, account: str | None, project: str, branch: str) -> bool:
    """Return whether Gerrit shows a change on a branch; no other request answers this without rights."""
    if any(not name or name.startswith(_PATTERN) or UNQUOTABLE.search(name) for name in (project, branch)):
        return False
    return bool(_found(connection, account, f'project:"{project}" branch:"{branch}"', 1))


def _folded(email: str) -> str:
    # Outside ASCII, different letters have the same lower case.
    return email.lower() if email.isascii() else email


def _found(connection: GerritConnection, account: str | None, query: str, limit: int) -> list[Any]:
    if account is not None:
        if not account.isdecimal():
            return []
        query = f"{query} visibleto:{account}"
    parameters = urlencode((("q", query), ("n", limit)), quote_via=quote)
    try:
        return listed(connection.get("changes/", parameters))
    except Refused:
        if account is not None:
            raise
        return []  # this server shows nothing without sign-in
    except Permanent:
        if account is None:
            raise
        return []  # the account was deleted
