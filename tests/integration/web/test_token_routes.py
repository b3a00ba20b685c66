"""``/api/v1/tokens``: people create, list and revoke API tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from service.domain.access.caller import Role
from service.domain.access.scopes import parse_scope
from service.domain.access.tokens import token_text
from service.ports.access import NewToken
from service.web.access.authenticate import known_caller
from service.web.access.tokens import create_token_routes
from service.web.api import create_api
from service.web.application import assemble
from tests.support.access.callers import Callers
from tests.support.memory.tokens import MemoryTokens
from tests.support.reading.fake_reading import FakeReading
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from fastapi import FastAPI

TOKENS = "/api/v1/tokens"
CHANGES = "/api/v1/changes"
READ = {"name": "dashboard", "scopes": ["read"]}


@dataclass
class Site:
    """An application that needs a sign-in to read, with tokens and sessions in memory."""

    tokens: MemoryTokens = field(default_factory=MemoryTokens)
    callers: Callers = field(default_factory=Callers)

    def __post_init__(self) -> None:
        access = self.callers.access(is_public=False, find_token=self.tokens.find)
        routers = [create_token_routes(self.tokens, known_caller), create_api(lambda _: FakeReading())]
        self.app: FastAPI = assemble(routers, access=access, version="0.1.0")

    def person(self, role: Role = Role.READER, subject: str = "al") -> Mapping[str, str]:
        return self.callers.as_person(role, subject)

    def create(self, wanted: object, role: Role = Role.READER, subject: str = "al") -> httpx.Response:
        return call(self.app, "POST", TOKENS, json=wanted, headers=self.person(role, subject))

    def add(self, scope: str) -> tuple[int, str]:
        """Create a token by a command."""
        scopes = frozenset({parse_scope(scope)})
        token, text = self.tokens.add(
            NewToken(name="ci", scopes=scopes, lifetime=timedelta(days=30), created_by="root")
        )
        return token.id, text

    def read(self, text: str, path: str = CHANGES) -> httpx.Response:
        return call(self.app, "GET", path, headers={"Authorization": f"Bearer {text}"})


@pytest.fixture
def site() -> Site:
    return Site()


class TestCreating:
    def test_a_token_is_shown_once_and_reads(self, site: Site) -> None:
        made = site.create(READ)

        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        text = made.json()["token"]
        assert site.read(text).status_code == 200
        listed = call(site.app, "GET", TOKENS, headers=site.person())
        assert text not in listed.text
        assert listed.headers["cache-control"] == "no-store"
        assert [each["name"] for each in listed.json()["items"]] == ["dashboard"]

    def test_a_token_sees_what_its_creator_sees(self, site: Site) -> None:
        holder = site.tokens.find(site.create(READ).json()["token"])
        assert holder is not None
        assert holder.email == "al@example.com"

    @pytest.mark.parametrize("scope", ["operate", "report:kv/linux"])
    def test_only_an_operator_makes_a_token_that_reports_or_operates(self, site: Site, scope: str) -> None:
        wanted = READ | {"scopes": ["read", scope]}
        for role in (Role.READER, Role.REVIEWER):
            refused = site.create(wanted, role)
            assert refused.status_code == 403
            assert f"a token with the scope {scope} needs the role operator" in refused.json()["detail"]
        assert site.tokens.list() == []

        assert site.create(wanted, Role.OPERATOR).status_code == 201

    @pytest.mark.parametrize(
        ("wanted", "status", "problem"),
        [
            (READ | {"days": 91}, 422, "body.days: Input should be less than or equal to 90"),
            (READ | {"days": 0}, 422, "body.days: Input should be greater than or equal to 1"),
            (READ | {"days": "30"}, 422, "body.days: Input should be a valid integer"),
            (READ | {"name": ""}, 422, "body.name: String should have at least 1 character"),
            (READ | {"name": "x" * 101}, 422, "body.name: String should have at most 100 characters"),
            (READ | {"name": "a\nb"}, 400, "name: 'a b' is no name; allowed are 1 to 100 characters"),
            (READ | {"scopes": []}, 422, "body.scopes: List should have at least 1 item"),
            (READ | {"scopes": ["read"] * 21}, 422, "body.scopes: List should have at most 20 items"),
            (READ | {"scopes": ["write"]}, 400, "a scope is read, operate or report:PROJECT/JOB"),
            (READ | {"email": "boss@example.com"}, 422, "body.email: Extra inputs are not permitted"),
            ({"name": "x"}, 422, "body.scopes: Field required"),
            ([], 422, "body: Input should be a valid dictionary"),
        ],
    )
    def test_a_wrong_value_is_named(self, site: Site, wanted: Any, status: int, problem: str) -> None:  # noqa: ANN401 - any JSON
        answer = site.create(wanted, Role.OPERATOR)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert problem in "\n".join([answer.json()["detail"], *answer.json()["errors"]])
        assert site.tokens.list() == []


class TestRevoking:
    def test_a_token_in_use_is_refused_at_its_next_request(self, site: Site) -> None:
        made = site.create(READ).json()
        assert site.read(made["token"]).status_code == 200

        ended = call(site.app, "DELETE", f"{TOKENS}/{made['id']}", headers=site.person())

        assert (ended.status_code, ended.content) == (204, b"")
        assert site.read(made["token"]).status_code == 401
        again = call(site.app, "DELETE", f"{TOKENS}/{made['id']}", headers=site.person())
        assert again.status_code == 204

    def test_the_token_of_another_person_is_like_one_that_does_not_exist(self, site: Site) -> None:
        made = site.create(READ).json()
        foreign, unknown = (
            call(site.app, "DELETE", f"{TOKENS}/{number}", headers=site.person(Role.REVIEWER, "bo"))
            for number in (made["id"], 99)
        )

        assert foreign.status_code == unknown.status_code == 404
        assert foreign.json()["detail"].replace("1", "99") == unknown.json()["detail"]
        assert call(site.app, "GET", TOKENS, headers=site.person(subject="bo")).json() == {"items": []}
        assert site.read(made["token"]).status_code == 200

    def test_an_operator_ends_any_token(self, site: Site) -> None:
        site.create(READ)
        number, _ = site.add("operate")
        operator = site.person(Role.OPERATOR, "olga")

        assert len(call(site.app, "GET", TOKENS, headers=operator).json()["items"]) == 2
        assert call(site.app, "DELETE", f"{TOKENS}/{number}", headers=operator).status_code == 204
        assert call(site.app, "DELETE", f"{TOKENS}/1", headers=operator).status_code == 204
        assert all(token.revoked_at for token in site.tokens.list())


class TestAttacks:
    @pytest.mark.parametrize("scope", ["read", "operate", "report:kv/linux"])
    def test_a_stolen_token_makes_lists_and_ends_no_token(self, site: Site, scope: str) -> None:
        number, text = site.add(scope)
        headers = {"Authorization": f"Bearer {text}"}
        for method, path, body in (
            ("POST", TOKENS, READ),
            ("GET", TOKENS, None),
            ("DELETE", f"{TOKENS}/{number}", None),
        ):
            answer = call(site.app, method, path, json=body, headers=headers)
            assert answer.status_code == 403
            assert answer.json()["detail"] == "an API token cannot do this; a person must sign in"
        assert [token.revoked_at for token in site.tokens.list()] == [None]

    def test_an_unknown_expired_or_revoked_token_gets_the_same_answer(self, site: Site) -> None:
        revoked, first = site.add("read")
        _, second = site.add("read")
        site.tokens.revoke(revoked, "root")
        site.tokens.memory.clock += timedelta(days=30).total_seconds()  # to the moment of its end

        answers = [site.read(text) for text in (token_text(bytes(32)), first, second, "bgt_x", "x")]

        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.json()["detail"] for answer in answers}) == 1
        for answer in answers:
            del answer.headers["x-request-id"]
        assert len({tuple(answer.headers.items()) for answer in answers}) == 1

    def test_a_token_in_the_address_or_in_the_body_is_ignored(self, site: Site) -> None:
        _, text = site.add("read")
        for query in (f"token={text}", f"access_token={text}", f"Authorization=Bearer%20{text}"):
            assert call(site.app, "GET", f"{CHANGES}?{query}").status_code == 401
        body = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = call(site.app, "POST", TOKENS, content=f"access_token={text}", headers=body)
        assert answer.status_code == 401
        assert site.tokens.list()[0].used_at is None

    @pytest.mark.parametrize("form", ["bearer {}", "BEARER {}", "Bearer   {}"])
    def test_the_scheme_has_no_case(self, site: Site, form: str) -> None:
        _, text = site.add("read")
        headers = {"Authorization": form.format(text)}
        assert call(site.app, "GET", CHANGES, headers=headers).status_code == 200

    @pytest.mark.parametrize("form", ["{}", "Token {}", "Basic {}", "Bearer {0} {0}", "Bearer {0},{0}"])
    def test_another_form_of_the_header_is_no_token(self, site: Site, form: str) -> None:
        _, text = site.add("read")
        headers = {"Authorization": form.format(text)}
        assert call(site.app, "GET", CHANGES, headers=headers).status_code == 401

    def test_the_text_of_a_token_is_in_no_log_and_no_problem(self, site: Site) -> None:
        with structlog.testing.capture_logs() as logs:
            made = site.create(READ).json()
            text = made["token"]
            site.read(text)
            wrong = site.read(text, f"{CHANGES}/none")
            missing = call(site.app, "GET", f"{CHANGES}?token={text}")
            call(site.app, "DELETE", f"{TOKENS}/{made['id']}", headers=site.person())
            refused = site.read(text)
        assert text not in str(logs)
        for answer in (wrong, missing, refused):
            assert text not in answer.text + str(answer.headers)
            assert answer.status_code in {401, 404, 422}

    def test_a_failure_of_the_store_logs_no_text(
        self, site: Site, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(text: str) -> None:
            raise RuntimeError("the store failed")

        _, text = site.add("read")
        access = site.callers.access(is_public=False, find_token=fail)
        app = assemble([create_api(lambda _: FakeReading())], access=access, version="0.1.0")
        with structlog.testing.capture_logs() as logs:
            answer = call(app, "GET", CHANGES, headers={"Authorization": f"Bearer {text}"})
        assert answer.status_code == 500
        assert [entry["event"] for entry in logs] == ["request.failed"]
        assert text not in answer.text + str(logs)

    def test_a_page_of_another_site_makes_no_token(self, site: Site) -> None:
        cookie = {"Cookie": site.person(Role.OPERATOR)["Cookie"], "Origin": "https://evil.example"}
        for method, path in (("POST", TOKENS), ("DELETE", f"{TOKENS}/1")):
            assert call(site.app, method, path, json=READ, headers=cookie).status_code == 403
        assert site.tokens.list() == []
