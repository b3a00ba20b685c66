"""Each route of the application for each kind of caller: admitted, sent to sign in, or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.caller import Role, TokenHolder
from service.domain.access.needs import Need
from service.domain.access.scopes import parse_scope
from service.web.access.route_rights import RIGHTS
from tests.support.access.callers import Callers
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, call, routes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

TOKENS: Final = {f"bgt_{name}": name for name in ("read", "report:kv/cv-perf", "operate", "machine:perf-01")}
HOLDERS: Final = {
    text: TokenHolder(token_id=number, name=text, scopes=frozenset({parse_scope(scope)}))
    for number, (text, scope) in enumerate(TOKENS.items())
}
# The status of a refusal; "+" is admitted. An expired session is anonymous, a bad token never is.
EXPECTED: Final = """
caller            nothing  read if public  read  session  act  report  store  operate
anonymous         +        +               401   401      401  401     401    401
expired session   +        +               401   401      401  401     401    401
reader            +        +               +     +        403  403     403    403
reviewer          +        +               +     +        +    403     403    403
operator          +        +               +     +        +    403     403    +
read token        +        +               +     403      403  403     403    403
report token      +        +               403   403      403  +       403    403
operate token     +        +               +     403      403  403     403    +
machine token     +        +               403   403      403  403     +      403
expired token     +        401             401   401      401  401     401    401
revoked token     +        401             401   401      401  401     401    401
"""
# Values for the parameters of paths; an admitted caller may get 404 or 422 for them.
_VALUES: Final = {
    "number": "1",
    "patch_set": "1",
    "change": "1",
    "token_id": "1",
    "known_id": "1",
    "run_id": "1",
    "series_id": "1",
    "job": "perf",
    "kind": "builds",
    "key": "0" * 64,
}


def headers_of(callers: Callers, caller: str) -> Mapping[str, str]:
    match caller.split():
        case ["anonymous"]:
            return {}
        case ["expired", "session"]:
            return {"Cookie": "__Host-benchgate=ended", "Origin": "https://bench.example.com"}
        case [name, "token"]:
            held = {scope.partition(":")[0]: text for text, scope in TOKENS.items()}
            return {"Authorization": f"Bearer {held.get(name, f'bgt_{name}')}"}
    return callers.as_person(Role(caller))


def path_of(template: str) -> str:
    for name, value in _VALUES.items():
        template = template.replace(f"{{{name}}}", value)
    return template.replace("{secret}", "first-secret-of-the-hook").replace("{", "").replace("}", "")


def expected() -> Mapping[str, Mapping[str, str]]:
    (_, *columns), *rows = [re.split(r"  +", line) for line in EXPECTED.strip().splitlines()]
    return {caller: dict(zip(columns, cells, strict=True)) for caller, *cells in rows}


@dataclass(frozen=True)
class Site:
    """An application, and the callers that it knows."""

    is_public: bool
    callers: Callers
    app: FastAPI


@pytest.fixture(scope="module", params=[True, False], ids=["public", "signed-in"])
def site(request: pytest.FixtureRequest) -> Site:
    callers = Callers(tokens=dict(HOLDERS))
    app = build_app(sample_project(), access=callers.access(is_public=request.param))
    return Site(request.param, callers, app)


@pytest.mark.parametrize("caller", list(expected()))
def test_each_route_answers_each_caller_as_its_right_says(caller: str, site: Site) -> None:
    wrong = []
    for method, template in routes_of(site.app.routes):
        need = RIGHTS[method, template]
        column = "read if public" if need is Need.READ and site.is_public else need.value
        answer = call(site.app, method, path_of(template), headers=headers_of(site.callers, caller))
        status = str(answer.status_code) if answer.status_code in {401, 403, 429} else "+"
        if status != expected()[caller][column]:
            wrong.append((method, template, status))
    assert not wrong


def test_every_need_has_an_answer_for_every_caller() -> None:
    assert all(set(answers) == {"read if public", *Need} for answers in expected().values())


def test_a_refusal_says_what_is_missing() -> None:
    callers = Callers(tokens=dict(HOLDERS))
    app = build_app(sample_project(), access=callers.access(is_public=False))

    anonymous = call(app, "GET", "/api/v1/changes")
    reader = call(app, "GET", "/audit", headers=callers.as_person(Role.READER))
    token = call(app, "GET", "/api/v1/changes", headers={"Authorization": "Bearer bgt_report:kv/cv-perf"})

    assert anonymous.json()["detail"] == "sign in to see this"
    assert anonymous.headers["www-authenticate"].startswith("Bearer")
    assert reader.json()["detail"] == "this needs the role operator; yours is reader"
    assert token.json()["detail"] == "this needs a token with the scope operate or read"
