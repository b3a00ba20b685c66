from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.access.caller import Anonymous, Role, TokenHolder, User
from service.domain.access.needs import Need, refusal
from service.domain.access.scopes import TokenScope, parse_scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.access.caller import Caller


def person(role: Role) -> User:
    return User(subject="s", name="N", email="n@example.com", role=role, session=b"")


def holder(*scopes: str) -> TokenHolder:
    return TokenHolder(token_id=1, name="ci", scopes=frozenset(map(parse_scope, scopes)))


CALLERS: Mapping[str, Caller] = {
    "anonymous": Anonymous(),
    "reader": person(Role.READER),
    "reviewer": person(Role.REVIEWER),
    "operator": person(Role.OPERATOR),
    "read token": holder("read"),
    "report token": holder("report:p/j"),
    "operate token": holder("operate"),
    "machine token": holder("machine:perf-01"),
    "token without scopes": TokenHolder(token_id=1, name="ci", scopes=frozenset[TokenScope]()),
}
PEOPLE = {"reader", "reviewer", "operator"}
ALLOWED = {
    Need.NOTHING: set(CALLERS),
    Need.READ: PEOPLE | {"read token", "operate token"},
    Need.SESSION: PEOPLE,
    Need.ACT: {"reviewer", "operator"},
    Need.REPORT: {"report token"},
    Need.STORE: {"machine token"},
    Need.OPERATE: {"operator", "operate token"},
}


@pytest.mark.parametrize("need", Need)
@pytest.mark.parametrize("name", CALLERS)
def test_each_need_admits_exactly_these_callers(need: Need, name: str) -> None:
    assert (refusal(CALLERS[name], need, is_public=False) is None) is (name in ALLOWED[need])


@pytest.mark.parametrize("name", CALLERS)
def test_everybody_reads_a_public_service(name: str) -> None:
    assert refusal(CALLERS[name], Need.READ, is_public=True) is None


@pytest.mark.parametrize("need", sorted(set(Need) - {Need.NOTHING, Need.READ}))
def test_a_public_service_opens_nothing_but_reading(need: Need) -> None:
    assert refusal(Anonymous(), need, is_public=True) is not None


@pytest.mark.parametrize(
    ("name", "need", "missing"),
    [
        ("reader", Need.ACT, "this needs the role reviewer; yours is reader"),
        ("read token", Need.OPERATE, "this needs a token with the scope operate"),
        ("report token", Need.READ, "this needs a token with the scope operate or read"),
        ("operate token", Need.ACT, "an API token cannot do this; a person must sign in"),
        ("operator", Need.REPORT, "this needs an API token with the scope report:PROJECT/JOB"),
        ("anonymous", Need.OPERATE, "this needs the role operator; sign in"),
        ("anonymous", Need.READ, "sign in to see this"),
    ],
)
def test_a_refusal_names_the_missing_right(name: str, need: Need, missing: str) -> None:
    assert str(refusal(CALLERS[name], need, is_public=False)) == missing


def test_only_somebody_without_credentials_is_sent_to_sign_in() -> None:
    anonymous = refusal(Anonymous(), Need.ACT, is_public=True)
    reader = refusal(person(Role.READER), Need.ACT, is_public=True)

    assert anonymous is not None
    assert anonymous.may_sign_in
    assert reader is not None
    assert not reader.may_sign_in
