"""Tickets of forms."""

from __future__ import annotations

from typing import Final

import pytest

from service.domain.access.caller import Role, User
from service.domain.values.errors import NotAllowed
from service.web.access.tickets import check_ticket, ticket_for

ACTION: Final = "POST /changes/7/3/override"


def person(session: bytes) -> User:
    return User(subject="al", name="Al", email="", role=Role.REVIEWER, session=session)


ALICE: Final = person(b"a" * 32)


def test_a_ticket_passes_for_its_session_and_action() -> None:
    ticket = ticket_for(ALICE, ACTION)
    key = check_ticket(ALICE, ACTION, ticket)
    assert check_ticket(ALICE, ACTION, ticket) == key, "by which the action is refused a second time"


def test_each_ticket_has_another_text_and_another_key() -> None:
    tickets = [ticket_for(ALICE, ACTION) for _ in range(10)]
    assert len(set(tickets)) == 10
    assert len({check_ticket(ALICE, ACTION, ticket) for ticket in tickets}) == 10


def test_two_tickets_of_one_session_share_no_run_of_characters() -> None:
    """A secret that every page repeats could be guessed from the sizes of compressed pages."""
    first, second = ticket_for(ALICE, ACTION), ticket_for(ALICE, ACTION)
    assert not any(first[start : start + 6] in second for start in range(len(first) - 5))


@pytest.mark.parametrize("other", [person(b"b" * 32), person(b"")])
def test_a_ticket_of_another_session_is_refused(other: User) -> None:
    with pytest.raises(NotAllowed, match="reload the page"):
        check_ticket(ALICE, ACTION, ticket_for(other, ACTION))


@pytest.mark.parametrize(
    "action", ["POST /changes/7/4/override", "POST /changes/7/3/recheck", "", ACTION + " "]
)
def test_a_ticket_of_another_action_is_refused(action: str) -> None:
    with pytest.raises(NotAllowed):
        check_ticket(ALICE, ACTION, ticket_for(ALICE, action))


@pytest.mark.parametrize("ticket", ["", "x", "é", "=", "A" * 64, "A" * 21 + "=", "\x00"])
def test_a_forged_ticket_is_refused(ticket: str) -> None:
    with pytest.raises(NotAllowed):
        check_ticket(ALICE, ACTION, ticket)


def test_a_ticket_with_one_changed_character_is_refused() -> None:
    ticket = ticket_for(ALICE, ACTION)
    for place in range(len(ticket)):
        changed = ticket[:place] + ("A" if ticket[place] != "A" else "B") + ticket[place + 1 :]
        with pytest.raises(NotAllowed):
            check_ticket(ALICE, ACTION, changed)
