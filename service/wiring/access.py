"""Composition root of sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.access.oidc import OidcProvider
from service.domain.access.caller import Role
from service.steps.access.refused_sign_ins import RefusedSignIns
from service.steps.access.sign_in import ProviderSignIn

if TYPE_CHECKING:
    from service.adapters.system.circuit_breaker import BoundedCalls
    from service.config import ControlSettings
    from service.wiring.control import Control


def build_provider_sign_in(
    settings: ControlSettings, plane: Control, callback: str, calls: BoundedCalls
) -> ProviderSignIn | None:
    """Build the sign-in at the identity provider; return None if the settings name none.

    The provider sends people back to ``callback``; ``calls`` is the circuit breaker for requests to it.
    """
    if not settings.oidc_issuer:
        return None
    secret = settings.oidc_client_secret.get_secret_value()
    return ProviderSignIn(
        provider=OidcProvider(settings.oidc_issuer, settings.oidc_client_id, secret, calls.run),
        sessions=plane.sessions,
        role_groups={Role(name): groups for name, groups in settings.role_groups.items()},
        callback=callback,
        record_refusal=RefusedSignIns(plane.store).record,
    )
