"""Take a person's address only from the document that verifies it, ID token or user info."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from service.domain.access.caller import LOCAL_EMAIL
from tests.support.access.scripted_provider import scripted_provider, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.access.scripted_provider import ScriptedProvider

OWN: Final = "own@example.com"
VICTIM: Final = "victim@example.com"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    with scripted_provider() as running:
        yield running


def email_of(provider: ScriptedProvider, id_token: Mapping[str, Any], user_info: Mapping[str, Any]) -> str:
    provider.answers["/userinfo"] = {"sub": "al", **user_info}
    changed = {"email": None, "email_verified": None, **id_token}
    return provider.sign_in(lambda nonce: signed(provider.claims(nonce, changed))).email


@pytest.mark.parametrize(
    ("id_token", "user_info", "email"),
    [
        ({"email": OWN, "email_verified": True}, {}, OWN),
        ({}, {"email": OWN, "email_verified": True}, OWN),
        ({"email": OWN}, {"email": OWN, "email_verified": True}, OWN),
        ({"email": VICTIM}, {"email": OWN, "email_verified": True}, OWN),
        ({"email_verified": True}, {"email": VICTIM}, ""),
        ({"email_verified": True}, {"email": VICTIM, "email_verified": False}, ""),
        ({"email": VICTIM}, {"email_verified": True}, ""),
        ({"email": VICTIM, "email_verified": False}, {"email": OWN, "email_verified": True}, ""),
        ({"email": OWN, "email_verified": True}, {"email": VICTIM, "email_verified": True}, OWN),
        ({"email": VICTIM, "email_verified": "true"}, {}, ""),
        ({"email": LOCAL_EMAIL, "email_verified": True}, {}, ""),
        ({}, {"email": LOCAL_EMAIL, "email_verified": True}, ""),
        ({"email": [VICTIM], "email_verified": True}, {}, ""),
        ({}, {}, ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("groups", [None, ["ops"]], ids=["groups in the user info", "groups in the ID token"])
def test_an_address_counts_only_if_its_own_document_verifies_it(
    provider: ScriptedProvider,
    id_token: Mapping[str, Any],
    user_info: Mapping[str, Any],
    email: str,
    groups: list[str] | None,
) -> None:
    assert email_of(provider, {**id_token, "groups": groups}, {**user_info, "groups": ["ops"]}) == email


def test_the_user_info_is_asked_only_for_what_the_id_token_lacks(provider: ScriptedProvider) -> None:
    whole = {"email": OWN, "email_verified": False, "groups": []}
    for missing in ("email", "email_verified", "groups"):
        provider.asked.clear()
        email_of(provider, {**whole, missing: None}, {})
        assert "/userinfo" in provider.asked
    provider.asked.clear()
    email_of(provider, whole, {})
    assert "/userinfo" not in provider.asked
