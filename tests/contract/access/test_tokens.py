"""Hold API tokens to one contract, in memory and in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.tokens import PostgresTokens
from service.domain.access.audit import check_chain
from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import parse_scope, stored_scope
from service.domain.access.tokens import token_text
from service.domain.values.errors import NotAllowed, NotFound
from service.ports.access import NewToken
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.tokens import MemoryTokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.ports.access import AuditLog, Tokens
    from tests.support.postgres import Server

SCOPES: Final = frozenset({parse_scope("read"), parse_scope("report:platform/kv/linux")})
CI: Final = NewToken(
    name="nightly",
    scopes=SCOPES,
    lifetime=timedelta(days=30),
    created_by="alice@example.com",
    subject="s-1",
    email="alice@example.com",
)


@dataclass(frozen=True)
class Site:
    """Tokens, and time that a test lets pass."""

    tokens: Tokens
    log: AuditLog
    wait: Callable[[timedelta], None]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "memory":
        memory = MemoryTokens()

        def wait(time: timedelta) -> None:
            memory.memory.clock += time.total_seconds()

        yield Site(memory, MemoryAuditLog(memory.memory), wait)
        return
    server: Server = request.getfixturevalue("server")
    with server.database() as database:

        def age(time: timedelta) -> None:
            database.change(
                "UPDATE token SET created_at = created_at - cast(:time AS interval),"
                " revoked_at = revoked_at - cast(:time AS interval),"
                " expires_at = expires_at - cast(:time AS interval),"
                " used_at = used_at - cast(:time AS interval)",
                time=time,
            )

        yield Site(PostgresTokens(database.owner), PostgresAuditLog(database.owner), age)


@pytest.fixture
def tokens(site: Site) -> Tokens:
    return site.tokens


class TestTokens:
    def test_the_text_of_a_token_finds_its_holder(self, tokens: Tokens) -> None:
        token, text = tokens.add(CI)
        tokens.add(CI)

        assert tokens.find(text) == TokenHolder(
            token_id=token.id, name="nightly", scopes=SCOPES, subject="s-1", email="alice@example.com"
        )

    @pytest.mark.parametrize(
        "text",
        ["", "bgt_", "Bearer x", token_text(bytes(32)), "\x00", "\ud800", "bgt_" + "ä" * 43, "x" * 100_000],
    )
    def test_any_other_text_finds_none(self, tokens: Tokens, text: str) -> None:
        tokens.add(CI)
        assert tokens.find(text) is None

    def test_a_scope_of_a_later_version_hides_no_token(self, tokens: Tokens) -> None:
        scopes = SCOPES | {stored_scope("fleet:perf")}
        _, text = tokens.add(replace(CI, scopes=scopes))
        found = tokens.find(text)
        assert found is not None
        assert found.scopes == scopes
        assert [each.scopes for each in tokens.list()] == [scopes]

    def test_a_ticket_creates_one_token(self, tokens: Tokens) -> None:
        of_form = replace(CI, ticket=b"1")
        tokens.add(of_form)
        with pytest.raises(NotAllowed, match="this form was sent already"):
            tokens.add(replace(of_form, subject="s-2"))
        tokens.add(replace(of_form, ticket=b"2"))
        assert len(tokens.list()) == 2

    def test_one_other_letter_or_a_blank_finds_none(self, tokens: Tokens) -> None:
        _, text = tokens.add(CI)
        # The last letter has two unused bits: another spelling of the same bytes is another text.
        for other in (text[:-1], text + "A", text + "\n", " " + text, text.swapcase(), text[:-1] + "_"):
            assert tokens.find(other) is None

    def test_a_token_is_refused_from_the_moment_of_its_end(self, site: Site) -> None:
        _, text = site.tokens.add(CI)
        site.wait(CI.lifetime - timedelta(seconds=20))
        assert site.tokens.find(text) is not None
        site.wait(timedelta(seconds=20))
        assert site.tokens.find(text) is None

    def test_a_revoked_token_is_refused_at_once_and_the_others_stay(self, tokens: Tokens) -> None:
        token, text = tokens.add(CI)
        _, other = tokens.add(CI)
        assert tokens.find(text) is not None

        assert tokens.revoke(token.id, "bob")

        assert tokens.find(text) is None
        assert tokens.find(other) is not None
        assert [token.revoked_at is None for token in tokens.list()] == [True, False]

    def test_only_a_valid_token_can_be_revoked(self, site: Site) -> None:
        revoked, _ = site.tokens.add(CI)
        site.tokens.revoke(revoked.id, "bob")
        expired, _ = site.tokens.add(CI)
        site.wait(CI.lifetime)

        for token_id in (revoked.id, expired.id):
            assert not site.tokens.revoke(token_id, "bob")
        for token_id in (expired.id + 1, 0, -1):
            with pytest.raises(NotFound):
                site.tokens.revoke(token_id, "bob")
        assert site.tokens.list()[0].revoked_at is None

    def test_tokens_are_listed_the_newest_first_without_their_text(self, tokens: Tokens) -> None:
        first, text = tokens.add(CI)
        second, _ = tokens.add(
            NewToken(name="b", scopes=SCOPES, lifetime=timedelta(days=1), created_by="bob")
        )

        listed = tokens.list()

        assert listed == [second, first]
        assert [(each.name, each.created_by, each.subject) for each in listed] == [
            ("b", "bob", ""),
            ("nightly", "alice@example.com", "s-1"),
        ]
        assert [each.expires_at - each.created_at for each in listed] == [timedelta(days=1), CI.lifetime]
        assert {each.scopes for each in listed} == {SCOPES}
        assert {(each.used_at, each.revoked_at) for each in listed} == {(None, None)}
        assert text not in repr(listed)

    def test_a_token_of_another_owner_is_like_none(self, tokens: Tokens) -> None:
        mine, _ = tokens.add(CI)
        others = [tokens.add(replace(CI, subject=subject))[0] for subject in ("s-2", "")]

        assert tokens.list("s-1") == [mine]
        assert tokens.list("") == []
        for token in others:
            for owner in ("s-1", ""):
                with pytest.raises(NotFound):
                    tokens.revoke(token.id, "bob", owner)
        assert tokens.revoke(mine.id, "bob", "s-1")
        assert [token.revoked_at for token in tokens.list() if token.id != mine.id] == [None, None]

    def test_a_token_that_ended_leaves_the_list_after_30_days(self, site: Site) -> None:
        revoked, _ = site.tokens.add(CI)
        expired, _ = site.tokens.add(CI)
        site.tokens.revoke(revoked.id, "bob")
        site.wait(CI.lifetime)
        valid, _ = site.tokens.add(replace(CI, lifetime=timedelta(days=90)))
        assert [token.id for token in site.tokens.list()] == [valid.id, expired.id]
        site.wait(timedelta(days=30))
        assert [token.id for token in site.tokens.list()] == [valid.id]
        with pytest.raises(NotFound):
            site.tokens.revoke(expired.id + 2, "bob")
        assert not site.tokens.revoke(expired.id, "bob"), "it is there still"

    @pytest.mark.parametrize(
        ("owner", "ended"), [("s-1", [1, 2]), (None, [1, 2, 4, 5]), ("s-9", []), ("", [])]
    )
    def test_all_valid_tokens_of_an_owner_end_at_once_each_with_an_entry(
        self, site: Site, owner: str | None, ended: list[int]
    ) -> None:
        made = [site.tokens.add(replace(CI, subject=subject)) for subject in ("s-1", "s-1", "s-1", "s-2", "")]
        site.tokens.revoke(3, "ann")

        assert site.tokens.revoke_all("bob", owner) == len(ended)

        valid = [token.id for token, text in made if site.tokens.find(text) is not None]
        assert valid == [each for each in (1, 2, 4, 5) if each not in ended]
        log = [(each.kind, each.actor, each.subject) for each in site.log.entries(6, 10)]
        assert log == [("token revoked", "bob", f"token {each}") for each in ended]
        assert site.tokens.revoke_all("bob", owner) == 0

    def test_the_last_use_is_noted_at_most_once_a_minute(self, site: Site) -> None:
        _, text = site.tokens.add(CI)
        assert site.tokens.list()[0].used_at is None
        site.tokens.find(text)
        first = site.tokens.list()[0].used_at
        assert first is not None
        site.tokens.find(text)
        assert site.tokens.list()[0].used_at == first

        site.wait(timedelta(minutes=1))
        earlier = site.tokens.list()[0].used_at
        site.tokens.find(text)

        latest = site.tokens.list()[0].used_at
        assert earlier is not None
        assert latest is not None
        assert latest - earlier >= timedelta(minutes=1)

    def test_an_unknown_expired_or_revoked_token_has_no_use(self, site: Site) -> None:
        _, late = site.tokens.add(CI)
        site.wait(CI.lifetime)
        revoked, text = site.tokens.add(CI)
        site.tokens.revoke(revoked.id, "bob")

        assert [site.tokens.find(each) for each in (text, late, token_text(bytes(32)))] == [None] * 3
        assert [each.used_at for each in site.tokens.list()] == [None, None]

    def test_creating_and_revoking_are_in_the_audit_log_without_the_text(self, site: Site) -> None:
        token, text = site.tokens.add(CI)
        site.tokens.find(text)
        site.tokens.revoke(token.id, "bob on perf-01")
        site.tokens.revoke(token.id, "bob on perf-01")

        created, revoked = site.log.entries(0, 10)
        assert (created.kind, created.actor, created.subject) == ("token created", "s-1", "token 1")
        assert (revoked.kind, revoked.actor, revoked.subject) == (
            "token revoked",
            "bob on perf-01",
            "token 1",
        )
        assert created.details == revoked.details
        assert created.details == {
            "name": "nightly",
            "scopes": "read, report:platform/kv/linux",
            "created by": "alice@example.com",
            "expires at": f"{token.expires_at:%Y-%m-%dT%H:%M:%SZ}",
        }
        assert text not in repr((created, revoked))
        assert check_chain([created, revoked]).fault is None

    def test_a_command_is_no_person_in_the_log_whatever_its_environment_says(self, site: Site) -> None:
        site.tokens.add(replace(CI, subject="", email="", created_by="alice@example.com"))
        assert [each.actor for each in site.log.entries(0, 10)] == ["command by alice@example.com"]
