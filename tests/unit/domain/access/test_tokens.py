from __future__ import annotations

import hashlib

import pytest

from service.domain.access.caller import Role
from service.domain.access.scopes import parse_scope
from service.domain.access.tokens import checked_name, digest_of, lifetime_of, scopes_refusal, token_text
from service.domain.values.errors import BadInput


def test_a_token_has_a_prefix_and_43_letters_of_its_256_random_bits() -> None:
    assert token_text(bytes(32)) == "bgt_" + "A" * 43
    assert token_text(b"\xff" * 32) == "bgt_" + "_" * 42 + "8"


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_token_of_fewer_or_more_random_bytes_is_not_made(length: int) -> None:
    with pytest.raises(ValueError, match="a token has 32 random bytes"):
        token_text(bytes(length))


def test_the_digest_is_that_of_the_whole_text() -> None:
    text = token_text(bytes(range(32)))
    assert digest_of(text) == hashlib.sha256(text.encode()).digest()


@pytest.mark.parametrize(
    "text",
    ["", "bgt_", "A" * 47, "bgt_" + "A" * 42, "bgt_" + "A" * 44, "bgt_" + "A" * 42 + "=", "bgt_" + "ä" * 43,
     "BGT_" + "A" * 43, " bgt_" + "A" * 43, "bgt_" + "A" * 43 + "\n", "bgt_" + "\ud800" * 43],
)  # fmt: skip
def test_any_other_text_has_no_digest(text: str) -> None:
    assert digest_of(text) is None


@pytest.mark.parametrize(("scope", "most"), [("operate", 90), ("machine:perf-01", 400)])
def test_a_lifetime_is_1_to_90_days_or_400_for_a_machine(scope: str, most: int) -> None:
    scopes = {parse_scope(scope)}
    assert [lifetime_of(days, scopes).days for days in (1, most)] == [1, most]
    for days in (0, -1, most + 1, 10**30):
        with pytest.raises(BadInput, match=rf"days: {days} is out of range; allowed is 1 to {most}"):
            lifetime_of(days, scopes)


@pytest.mark.parametrize("other", ["read", "machine:perf-02"])
def test_the_token_of_a_machine_has_no_other_scope(other: str) -> None:
    with pytest.raises(BadInput, match="the token of a machine has no other scope"):
        lifetime_of(30, {parse_scope("machine:perf-01"), parse_scope(other)})


def test_a_name_is_one_line_of_at_most_100_characters() -> None:
    assert checked_name("  nightly builds ") == "nightly builds"
    assert checked_name("é" * 100)
    for name in ("", " ", "x" * 101, "a\nb", "a\x00", "a\u202eb", "\ud800"):
        with pytest.raises(BadInput, match=r"name: .* is no name; allowed are 1 to 100 characters"):
            checked_name(name)


@pytest.mark.parametrize(
    ("scope", "role", "refused"),
    [
        ("read", Role.READER, ""),
        ("read", Role.OPERATOR, ""),
        ("report:kv/linux", Role.READER, "a token with the scope report:kv/linux needs the role operator"),
        ("report:kv/linux", Role.REVIEWER, "needs the role operator; yours is reviewer"),
        ("report:kv/linux", Role.OPERATOR, ""),
        ("operate", Role.READER, "needs the role operator; yours is reader"),
        ("operate", Role.REVIEWER, "needs the role operator; yours is reviewer"),
        ("operate", Role.OPERATOR, ""),
        ("machine:perf-01", Role.REVIEWER, "needs the role operator; yours is reviewer"),
    ],
)
def test_a_role_gives_a_token_no_right_that_only_another_role_has(
    scope: str, role: Role, refused: str
) -> None:
    scopes = {parse_scope("read"), parse_scope(scope)}
    assert refused in str(scopes_refusal(role, scopes) or "")
    assert (scopes_refusal(role, scopes) is None) == (refused == "")
