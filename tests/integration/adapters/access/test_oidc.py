"""Sign-in at a real identity provider over HTTP."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from service.adapters.access.oidc import OidcProvider
from service.adapters.review.console.review import ConsoleReview
from service.domain.access.caller import LOCAL_EMAIL
from service.domain.values.errors import NotAllowed, Refused, Transient
from tests.support.access.provider import CLIENT_ID, CLIENT_SECRET, make_call, running_provider

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from service.ports.access import Claims, SignInAttempt
    from tests.support.access.provider import Provider

CALLBACK: Final = "https://bench.example.com/sign-in/callback"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        running.add_person(
            "al", name="Alice", email="alice@example.com", email_verified=True, groups=["perf", "ops"]
        )
        yield running


@pytest.fixture(scope="module")
def identity(provider: Provider) -> OidcProvider:
    return OidcProvider(provider.issuer, CLIENT_ID, CLIENT_SECRET, make_call)


@pytest.fixture
def attempt(identity: OidcProvider) -> SignInAttempt:
    return identity.begin(CALLBACK)


def sign_in(provider: Provider, identity: OidcProvider, subject: str) -> Claims:
    attempt = identity.begin(CALLBACK)
    return finish(identity, attempt, provider.approve(attempt.url, subject))


def finish(identity: OidcProvider, attempt: SignInAttempt, query: Mapping[str, str]) -> Claims:
    return identity.claims(attempt, CALLBACK, identity.code_of(attempt, query))


def test_a_person_signs_in(provider: Provider, identity: OidcProvider) -> None:
    claims = sign_in(provider, identity, "al")
    assert (claims.subject, claims.name, claims.email) == ("al", "Alice", "alice@example.com")
    assert claims.groups == {"perf", "ops"}


def test_the_request_binds_the_code_to_this_browser(attempt: SignInAttempt) -> None:
    query = httpx.URL(attempt.url).params
    assert (query["response_type"], query["client_id"]) == ("code", CLIENT_ID)
    assert query["redirect_uri"] == CALLBACK
    assert query["code_challenge_method"] == "S256"
    assert len(query["code_challenge"]) == 43
    assert (query["state"], query["nonce"]) == (attempt.state, attempt.nonce)
    assert attempt.verifier not in attempt.url
    assert len(attempt.verifier) >= 43


def test_each_attempt_has_values_of_its_own(identity: OidcProvider, attempt: SignInAttempt) -> None:
    other = identity.begin(CALLBACK)
    for name in ("state", "nonce", "verifier"):
        assert getattr(other, name) != getattr(attempt, name)


@pytest.mark.parametrize("verified", [False, "true", "false", 1, None])
def test_an_unverified_email_is_dropped(provider: Provider, identity: OidcProvider, verified: object) -> None:
    provider.add_person("mallory", email="alice@example.com", email_verified=verified)
    assert sign_in(provider, identity, "mallory").email == ""


def test_nobody_signs_in_with_the_account_of_the_user_of_this_machine(
    provider: Provider, identity: OidcProvider, tmp_path: Path
) -> None:
    server = ConsoleReview(tmp_path / "review.sqlite3", "console")
    assert server.account_of(LOCAL_EMAIL) is not None
    provider.add_person("mallory", email=LOCAL_EMAIL, email_verified=True)
    assert server.account_of(sign_in(provider, identity, "mallory").email) is None


def test_a_person_without_claims_has_a_name(provider: Provider, identity: OidcProvider) -> None:
    claims = sign_in(provider, identity, "new@example.com")
    assert (claims.name, claims.email, claims.groups) == ("new@example.com", "", frozenset())


@pytest.mark.parametrize("groups", ["ops", {"ops": True}, [["ops"], 7], None])
def test_groups_other_than_a_list_of_texts_give_nothing(
    provider: Provider, identity: OidcProvider, groups: object
) -> None:
    provider.add_person("odd", groups=groups)
    assert sign_in(provider, identity, "odd").groups == frozenset()


def test_a_name_cannot_break_a_page_or_a_log(provider: Provider, identity: OidcProvider) -> None:
    provider.add_person("long", name="x\x1b[31m\n" * 500)
    name = sign_in(provider, identity, "long").name
    assert len(name) <= 100
    assert name.isprintable()


def test_a_forged_state_is_refused(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt
) -> None:
    query = provider.approve(attempt.url, "al")
    for forged in ("", "x", attempt.state[:-1], f"{attempt.state}x"):
        with pytest.raises(NotAllowed, match="another sign-in"):
            finish(identity, attempt, {**query, "state": forged})


def test_an_answer_to_another_attempt_is_refused(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt
) -> None:
    other = identity.begin(CALLBACK)
    with pytest.raises(NotAllowed, match="another sign-in"):
        finish(identity, attempt, provider.approve(other.url, "al"))


def test_a_code_of_another_attempt_is_refused_by_its_nonce(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt
) -> None:
    stolen = provider.approve(identity.begin(CALLBACK).url, "al")["code"]
    with pytest.raises(NotAllowed, match="nonce"):
        finish(identity, attempt, {"state": attempt.state, "code": stolen})


def test_an_answer_works_once(provider: Provider, identity: OidcProvider, attempt: SignInAttempt) -> None:
    query = provider.approve(attempt.url, "al")
    finish(identity, attempt, query)
    with pytest.raises(NotAllowed, match="the identity provider refused"):
        finish(identity, attempt, query)


@pytest.mark.parametrize("missing", ["state", "nonce", "verifier"])
def test_an_attempt_without_its_values_is_refused(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt, missing: str
) -> None:
    query = dict(provider.approve(attempt.url, "al"))
    emptied = replace(attempt, **{missing: ""})
    with pytest.raises(NotAllowed):
        finish(identity, emptied, {**query, "state": emptied.state})


@pytest.mark.parametrize("change", [{"iss": "https://evil.example"}, {"code": ""}])
def test_an_answer_of_another_provider_or_without_a_code_is_refused(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt, change: Mapping[str, str]
) -> None:
    with pytest.raises(NotAllowed, match="the identity provider did not send this answer"):
        finish(identity, attempt, {**provider.approve(attempt.url, "al"), **change})


def test_a_person_who_is_denied_reads_why(
    provider: Provider, identity: OidcProvider, attempt: SignInAttempt
) -> None:
    with pytest.raises(NotAllowed, match="the identity provider refused to sign you in: access_denied"):
        # This provider leaves the state out of a denial, which the standard asks for.
        finish(identity, attempt, {**provider.deny(attempt.url), "state": attempt.state})


def test_a_provider_that_does_not_answer_is_a_passing_fault() -> None:
    with pytest.raises(Transient, match="the identity provider does not answer") as raised:
        OidcProvider("http://127.0.0.1:1", CLIENT_ID, CLIENT_SECRET, make_call).begin(CALLBACK)
    assert not isinstance(raised.value, Refused)


def test_an_issuer_of_another_name_is_refused_with_the_setting(provider: Provider) -> None:
    with pytest.raises(Refused, match="set BENCHGATE_OIDC_ISSUER to that"):
        OidcProvider(f"{provider.issuer}/", CLIENT_ID, CLIENT_SECRET, make_call).begin(CALLBACK)


def test_loading_the_adapter_loads_no_protocol_and_using_it_prints_no_warning() -> None:
    program = (
        "import sys\n"
        "from service.adapters.access.oidc import OidcProvider\n"
        "assert not any(name.startswith('authlib') for name in sys.modules)\n"
        "OidcProvider('http://localhost:1', 'a', 'b', lambda call: call())\n"
        "assert 'authlib.integrations.httpx_client' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
