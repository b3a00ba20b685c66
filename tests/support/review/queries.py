"""Answer the model Gerrit's queries, with its people and error responses."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.review.gerrit_model import ModelChange

PEOPLE: Final = {
    "buildbot": {"_account_id": 1000001, "name": "Build Bot", "email": "buildbot@example.com"},
    "alice": {"_account_id": 1000002, "name": "Alice Author", "email": "alice@example.com"},
    "bob": {"_account_id": 1000003, "name": "Bob Reviewer", "email": "bob@example.com"},
}
_CHANGES: Final = re.compile(
    r'(?:status:open|after:"(?P<after>[-0-9]{10} [:0-9]{8})")(?: \((?P<scope>project:"[^"]+"(?: OR .+)?)\))?'
)
_VISIBLE: Final = re.compile(
    r'(?:\((?P<numbers>change:[0-9]+(?: OR change:[0-9]+)*)\)|project:"(?P<project>[^"]+)" '
    r'branch:"(?P<branch>[^"]+)")(?: visibleto:(?P<viewer>[0-9]+))?'
)
_COMMIT: Final = re.compile("commit:(?P<commit>[0-9a-f]{40})")
_ANY: Final = "status:open OR status:closed"
_EMAIL: Final = re.compile(r'is:active email:"(?P<email>[^"]+)"')


class Refusal(Exception):
    """An error response in plain text instead of JSON."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def person(name: str, *, is_detailed: bool = True) -> dict[str, Any]:
    known = PEOPLE[name]
    tags = {"tags": ["SERVICE_USER"]} if name == "buildbot" else {}
    return known | {"username": name} | tags if is_detailed else {"_account_id": known["_account_id"]}


def accounts_in(query: str) -> list[dict[str, Any]]:
    """The accounts with an address that begins with the one in a query."""
    asked = _EMAIL.fullmatch(query)
    if asked is None:
        raise _unreadable(query)
    wanted = asked["email"].lower()
    return [person(name) for name, known in PEOPLE.items() if str(known["email"]).startswith(wanted)]


def query_from(query: str) -> tuple[Callable[[ModelChange], bool], str | None]:
    """The condition of a query for changes, and the account that must see them, too."""
    if asked := _VISIBLE.fullmatch(query):
        return _named(asked), _viewer(asked["viewer"])
    if query == _ANY:
        return lambda _: True, None
    if asked := _COMMIT.fullmatch(query):
        commit = asked["commit"]
        return lambda change: commit in change.revisions, None
    asked = _CHANGES.fullmatch(query)
    if asked is None:
        raise _unreadable(query)
    projects = re.findall(r'project:"([^"]+)"', asked["scope"] or "")
    is_wanted = _updated_after(asked["after"]) if asked["after"] else _is_open
    return lambda change: is_wanted(change) and (not projects or change.project in projects), None


def _named(asked: re.Match[str]) -> Callable[[ModelChange], bool]:
    numbers = {int(number) for number in re.findall("[0-9]+", asked["numbers"] or "")}
    if numbers:
        return lambda change: change.number in numbers
    return lambda change: (change.project, change.branch) == (asked["project"], asked["branch"])


def _viewer(account: str | None) -> str | None:
    if account is None:
        return None
    for name, known in PEOPLE.items():
        if known["_account_id"] == int(account):
            return name
    raise Refusal(400, f"Account '{account}' not found")


def _unreadable(query: str) -> Refusal:
    return Refusal(400, f"line 1:0 no viable alternative at input '{query}'")


def _updated_after(moment: str) -> Callable[[ModelChange], bool]:
    since = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return lambda change: change.updated >= since


def _is_open(change: ModelChange) -> bool:
    return change.status == "NEW"
