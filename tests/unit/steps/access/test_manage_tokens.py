from __future__ import annotations

from datetime import timedelta

import pytest

from service.domain.access.caller import Role, User
from service.domain.values.errors import BadInput, NotAllowed, NotFound
from service.steps.access.manage_tokens import (
    TokenRequest,
    create_token,
    create_token_by_command,
    revoke_token,
    revoke_token_by_command,
    tokens_for,
)
from tests.support.memory.tokens import MemoryTokens

READ = TokenRequest("dashboard", ["read"])


def person(subject: str, role: Role = Role.READER, email: str = "") -> User:
    return User(subject=subject, name="Somebody", email=email, role=role, session=b"")


ALICE = person("alice", email="alice@example.com")
BOB = person("bob")
OLGA = person("olga", Role.OPERATOR)


@pytest.fixture
def tokens() -> MemoryTokens:
    return MemoryTokens()


def test_a_token_belongs_to_its_creator_and_sees_what_their_account_sees(tokens: MemoryTokens) -> None:
    token, text = create_token(tokens, READ, ALICE)

    holder = tokens.find(text)
    assert holder is not None
    assert (token.subject, token.created_by, holder.email) == (
        "alice",
        "alice@example.com",
        "alice@example.com",
    )


def test_a_name_that_anybody_may_choose_never_names_the_creator(tokens: MemoryTokens) -> None:
    assert create_token(tokens, READ, BOB)[0].created_by == "bob"


def test_a_token_of_a_command_has_no_account(tokens: MemoryTokens) -> None:
    token, text = create_token_by_command(tokens, TokenRequest("ci", ["operate"], 90), "root on ci-1")

    holder = tokens.find(text)
    assert holder is not None
    assert (token.subject, token.created_by, holder.email) == ("", "root on ci-1", "")
    assert token.expires_at - token.created_at == timedelta(days=90)


def test_a_token_lasts_30_days_unless_another_time_is_given(tokens: MemoryTokens) -> None:
    token, _ = create_token(tokens, READ, ALICE)
    assert token.expires_at - token.created_at == timedelta(days=30)


@pytest.mark.parametrize("scope", ["report:kv/linux", "operate"])
def test_only_an_operator_creates_a_token_that_reports_or_operates(tokens: MemoryTokens, scope: str) -> None:
    wanted = TokenRequest("ci", ["read", scope])
    for creator in (ALICE, person("rita", Role.REVIEWER)):
        with pytest.raises(NotAllowed, match="needs the role operator"):
            create_token(tokens, wanted, creator)
    assert tokens.list() == []

    assert create_token(tokens, wanted, OLGA)[0].id == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (TokenRequest("", ["read"]), "name: "),
        (TokenRequest("x", []), "scope: a token has 1 to 20 scopes, not 0"),
        (TokenRequest("x", ["read"] * 21), "scope: a token has 1 to 20 scopes, not 21"),
        (
            TokenRequest("x", ["write"]),
            "scope: a scope is read, operate, report:PROJECT/JOB or machine:NAME, not 'write'",
        ),
        (TokenRequest("x", ["read"], 91), "days: 91 is out of range; allowed is 1 to 90"),
    ],
)
def test_a_token_that_cannot_be_made_is_refused_with_the_allowed_values(
    tokens: MemoryTokens, wanted: TokenRequest, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        create_token(tokens, wanted, OLGA)
    with pytest.raises(BadInput):
        create_token_by_command(tokens, wanted, "root")
    assert str(refused.value).startswith(message)


def test_a_person_sees_and_revokes_only_their_own_tokens(tokens: MemoryTokens) -> None:
    mine, text = create_token(tokens, READ, ALICE)
    others = [create_token(tokens, READ, BOB)[0], create_token_by_command(tokens, READ, "alice")[0]]

    assert [token.id for token in tokens_for(tokens, ALICE)] == [mine.id]
    refusals = []
    for token_id in (*(token.id for token in others), 99):
        with pytest.raises(NotFound) as refused:
            revoke_token(tokens, token_id, ALICE)
        refusals.append(str(refused.value).replace(str(token_id), "N"))
    assert len(set(refusals)) == 1, "a token of another person is like one that does not exist"

    assert revoke_token(tokens, mine.id, ALICE)
    assert not revoke_token(tokens, mine.id, ALICE)
    assert tokens.find(text) is None


def test_an_operator_sees_and_revokes_all_tokens(tokens: MemoryTokens) -> None:
    for _ in range(2):
        create_token(tokens, READ, ALICE)
    create_token_by_command(tokens, READ, "root")

    assert [token.id for token in tokens_for(tokens, OLGA)] == [3, 2, 1]
    assert all(revoke_token(tokens, token.id, OLGA) for token in tokens.list())


def test_a_person_without_a_subject_owns_no_token_of_a_command(tokens: MemoryTokens) -> None:
    create_token_by_command(tokens, READ, "root")
    assert tokens_for(tokens, person("")) == []


def test_a_command_revokes_any_token_once(tokens: MemoryTokens) -> None:
    create_token(tokens, READ, ALICE)

    assert revoke_token_by_command(tokens, 1, "root")
    assert not revoke_token_by_command(tokens, 1, "root")
    with pytest.raises(NotFound, match="there is no token 2"):
        revoke_token_by_command(tokens, 2, "root")
