"""Forged ID tokens are refused; one that the provider signed passes. The provider is asked over HTTP."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any, Final

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from service.domain.values.errors import NotAllowed
from tests.support.access.scripted_provider import CLIENT, KEY, KEY_ID, SECRET, scripted_provider, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.access.scripted_provider import ScriptedProvider

OTHER_KEY: Final = RSAKey.generate_key(2048, {"kid": KEY_ID})

pytestmark = pytest.mark.integration


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with scripted_provider() as running:
        yield running


def encoded(text: Mapping[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(text).encode()).rstrip(b"=").decode()


def test_a_token_of_the_provider_passes(provider: ScriptedProvider) -> None:
    claims = provider.sign_in(lambda nonce: signed(provider.claims(nonce, {})))
    assert (claims.subject, claims.email) == ("al", "al@example.com")


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": "another-client", "azp": CLIENT},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"aud": None},
        {"nonce": "of-another-attempt"},
        {"nonce": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iat": None},
        {"nbf": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
        {"sub": "a\nb"},
    ],
    ids=str,
)
def test_claims_that_do_not_fit_are_refused(provider: ScriptedProvider, changed: Mapping[str, Any]) -> None:
    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(lambda nonce: signed(provider.claims(nonce, changed)))


def test_a_token_of_another_key_is_refused(provider: ScriptedProvider) -> None:
    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(lambda nonce: signed(provider.claims(nonce, {}), OTHER_KEY))


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u"])
def test_a_token_cannot_bring_its_own_key(provider: ScriptedProvider, name: str) -> None:
    keys = f"{provider.issuer}/forged-keys"
    provider.answers["/forged-keys"] = {"keys": [OTHER_KEY.as_dict(private=False)]}
    brought: Any = OTHER_KEY.as_dict(private=False) if name == "jwk" else keys

    def forge(nonce: str) -> str:
        header = {"alg": "RS256", "kid": KEY_ID, name: brought}
        return jwt.encode(header, provider.claims(nonce, {}), OTHER_KEY)

    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(forge)
    assert "/forged-keys" not in provider.asked


@pytest.mark.parametrize(
    "secret",
    [SECRET, KEY.as_pem(private=False).decode(), KEY.as_dict()["n"]],
    ids=["of the client", "public key as PEM", "modulus of the public key"],
)
def test_a_token_signed_by_a_shared_secret_is_refused(provider: ScriptedProvider, secret: str) -> None:
    """The second and third are public: a check that takes them for a secret accepts every forger."""

    def forge(nonce: str) -> str:
        text = f"{encoded({'alg': 'HS256', 'kid': KEY_ID})}.{encoded(provider.claims(nonce, {}))}"
        mac = hmac.digest(secret.encode(), text.encode(), "sha256")
        return f"{text}.{urlsafe_b64encode(mac).rstrip(b'=').decode()}"

    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(forge)


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", ""])
def test_an_unsigned_token_is_refused(provider: ScriptedProvider, algorithm: str) -> None:
    def forge(nonce: str) -> str:
        return f"{encoded({'alg': algorithm})}.{encoded(provider.claims(nonce, {}))}."

    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(forge)


def test_a_token_changed_after_signing_is_refused(provider: ScriptedProvider) -> None:
    def forge(nonce: str) -> str:
        head, _, signature = signed(provider.claims(nonce, {})).split(".")
        return f"{head}.{encoded(provider.claims(nonce, {'groups': ['ops']}))}.{signature}"

    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(forge)


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "....", "é"])
def test_text_other_than_a_token_is_refused(provider: ScriptedProvider, text: str) -> None:
    with pytest.raises(NotAllowed, match="answer is not valid"):
        provider.sign_in(lambda _: text)


def test_an_answer_without_an_id_token_is_refused(provider: ScriptedProvider) -> None:
    with pytest.raises(NotAllowed, match="no ID token"):
        provider.sign_in(lambda _: None)


def test_user_info_of_another_person_is_refused(provider: ScriptedProvider) -> None:
    provider.answers["/userinfo"] = {"sub": "op", "groups": ["ops"]}
    with pytest.raises(NotAllowed, match="ID token and user info name different people"):
        provider.sign_in(lambda nonce: signed(provider.claims(nonce, {"groups": None})))
