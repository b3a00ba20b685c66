"""Sign in by OpenID Connect: Authlib's protocol, and the checks that it leaves to us."""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from typing_extensions import override

from service.domain.values.errors import NotAllowed, Refused, Transient
from service.domain.values.text import plain
from service.ports.access import Claims, IdentityProvider, SignInAttempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_DISCOVERY: Final = "/.well-known/openid-configuration"
# By public keys; never `none` or a shared one.
_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
_EMAIL: Final = frozenset({"email", "email_verified"})
_REFRESH_SECONDS: Final = 3600.0  # Authlib keeps metadata and keys for ever, and providers rotate them
_SILENCE_SECONDS: Final = 10.0
_LONGEST_SUBJECT: Final = 255  # by OpenID Connect
_SERVER_FAULT: Final = 500
ResultT = TypeVar("ResultT")


class MakeCall(Protocol):
    """A function that makes a call to the provider, which may hang."""

    def __call__(self, call: Callable[[], ResultT]) -> ResultT:
        """Return the result of the call; raises Transient if it is not made, or takes too long."""


class OidcProvider(IdentityProvider):
    """The provider of one issuer. Only its constructor loads Authlib, which takes an eighth of a second.

    Args:
        issuer: its URL, as the provider writes it.
        client_id: Benchgate's registration there.
        client_secret: of this client.
        run: makes each call to the provider.
        seconds: how long the provider may be silent during a call.
    """

    def __init__(
        self,
        issuer: str,
        client_id: str,
        client_secret: str,
        run: MakeCall,
        seconds: float = _SILENCE_SECONDS,
    ) -> None:
        self._run = run
        self._seconds = seconds
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._app_class = _load()
        self._app: Any = None
        self._made_at = 0.0

    @override
    def begin(self, callback: str) -> SignInAttempt:
        with self._translated():
            app = self._app if self._is_current() else self._ask(self._current)
            known = app.server_metadata.get("scopes_supported") or ()
            # Some providers give the groups only for this scope; others refuse a scope that they do not know.
            scope = " ".join(("openid", "email", "profile", *({"groups"} & set(known))))
            begun = app.create_authorization_url(callback, scope=scope)
        return SignInAttempt(
            url=begun["url"], state=begun["state"], nonce=begun["nonce"], verifier=begun["code_verifier"]
        )

    @override
    def code_of(self, attempt: SignInAttempt, query: Mapping[str, str]) -> str:
        if not attempt.is_answered_by(query) or not (attempt.nonce and attempt.verifier):
            raise NotAllowed("the answer belongs to another sign-in")
        if "error" in query:
            raise NotAllowed(f"the identity provider refused to sign you in: {plain(query['error'], 100)}")
        if query.get("iss", self._issuer) != self._issuer or not query.get("code"):
            raise NotAllowed("the identity provider did not send this answer")
        return query["code"]

    @override
    def claims(self, attempt: SignInAttempt, callback: str, code: str) -> Claims:
        with self._translated():
            return self._ask(lambda: self._claims(attempt, callback, code))

    def _ask(self, call: Callable[[], ResultT]) -> ResultT:
        """Make a call; raises Transient in it if the provider does not answer, and not for what it answers.

        An answer that is an error must not keep others from signing in: anybody can provoke one.
        """

        def reach() -> ResultT:
            try:
                return call()
            except (_http().TransportError, _http().InvalidURL) as error:
                reason = plain(str(error), 200)
                raise Transient(f"the identity provider does not answer: {reason}") from error

        return self._run(reach)

    def _claims(self, attempt: SignInAttempt, callback: str, code: str) -> Claims:
        app = self._current()
        token = app.fetch_access_token(code=code, redirect_uri=callback, code_verifier=attempt.verifier)
        options = {
            "iss": {"essential": True, "value": self._issuer},
            "aud": {"essential": True, "value": self._client_id},
            "nonce": {"essential": True, "value": attempt.nonce},
        }
        claims = app.parse_id_token(token, nonce=attempt.nonce, claims_options=options)
        if claims is None:
            raise _invalid("it contains no ID token")
        subject = claims["sub"]
        if not (isinstance(subject, str) and 0 < len(subject) <= _LONGEST_SUBJECT and subject.isprintable()):
            raise _invalid("the ID token names no usable subject")
        if not _EMAIL | {"groups"} <= claims.keys() and app.server_metadata.get("userinfo_endpoint"):
            more = app.userinfo(token=token)
            if more.get("sub") != subject:
                raise _invalid("ID token and user info name different people")
            # Both from one document: otherwise an address would be verified that the provider did not mean.
            email = claims if claims.keys() >= _EMAIL else more
            claims = {**more, **claims, **{name: email.get(name) for name in _EMAIL}}
        return _claims_from(subject, claims)

    def _current(self) -> Any:  # noqa: ANN401 - Authlib has no types
        """Return the client with the provider's metadata, which are read again after a while."""
        if not self._is_current():
            app = self._app_class(
                None,
                "benchgate",
                client_id=self._client_id,
                client_secret=self._client_secret,
                server_metadata_url=f"{self._issuer.rstrip('/')}{_DISCOVERY}",
                client_kwargs={
                    "scope": "openid",
                    "code_challenge_method": "S256",
                    "timeout": self._seconds,
                    "follow_redirects": False,
                },
            )
            self._check_metadata(app.load_server_metadata())
            self._app, self._made_at = app, time.monotonic()
        return self._app

    def _is_current(self) -> bool:
        return self._app is not None and time.monotonic() - self._made_at <= _REFRESH_SECONDS

    def _check_metadata(self, metadata: dict[str, Any]) -> None:
        if metadata.get("issuer") != self._issuer:
            name = plain(str(metadata.get("issuer")), 200)
            raise Refused(f"the identity provider calls itself {name}; set BENCHGATE_OIDC_ISSUER to that")
        offered = metadata.get("id_token_signing_alg_values_supported") or ("RS256",)
        allowed = [name for name in offered if name in _ALGORITHMS]
        if not allowed:
            raise Refused(f"the identity provider signs by none of {', '.join(_ALGORITHMS)}")
        metadata["id_token_signing_alg_values_supported"] = allowed

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from authlib.integrations.base_client import OAuthError  # noqa: PLC0415 - loaded by the constructor
        from joserfc.errors import JoseError  # noqa: PLC0415 - ditto

        try:
            yield
        except OAuthError as error:
            if error.error in {"invalid_client", "unauthorized_client"}:
                raise Refused(
                    "the identity provider does not accept Benchgate's client; check "
                    "BENCHGATE_OIDC_CLIENT_ID and BENCHGATE_OIDC_CLIENT_SECRET"
                ) from error
            raise NotAllowed(f"the identity provider refused: {plain(str(error), 200)}") from error
        except _http().HTTPStatusError as error:
            if error.response.status_code >= _SERVER_FAULT:
                raise Transient("the identity provider failed") from error
            raise NotAllowed(f"the identity provider refused: {error.response.status_code}") from error
        except (JoseError, LookupError, ValueError, TypeError, AttributeError, RuntimeError) as error:
            raise _invalid(f"{type(error).__name__} {error}") from error


def _invalid(reason: str) -> NotAllowed:
    return NotAllowed(f"the identity provider's answer is not valid: {plain(reason, 200)}")


def _claims_from(subject: str, claims: Mapping[str, Any]) -> Claims:
    email, groups = claims.get("email"), claims.get("groups")
    # Some providers write "true" as a text; a text is also "false".
    # What is no address might be the name of the user of this machine, who has an account of their own.
    is_verified = claims.get("email_verified") is True and isinstance(email, str) and "@" in email
    name = claims.get("name") or claims.get("preferred_username") or subject
    return Claims(
        subject=subject,
        name=plain(str(name), 100),
        email=str(email) if is_verified else "",
        groups=frozenset(each for each in groups if isinstance(each, str))
        if isinstance(groups, list)
        else frozenset(),
    )


def _http() -> Any:  # noqa: ANN401 - a module
    """Return the library whose errors Authlib's client raises: httpx2 where another package installed it."""
    from authlib.integrations.httpx_client import oauth2_client  # noqa: PLC0415 - only with a provider

    return oauth2_client.httpx2


def _load() -> type[Any]:
    from authlib.deprecate import AuthlibDeprecationWarning  # noqa: PLC0415 - only with a provider

    with warnings.catch_warnings():
        # Authlib recommends httpx2. The rest of Benchgate uses httpx, which Authlib 1 supports. Every start
        # would print the warning.
        warnings.simplefilter("ignore", AuthlibDeprecationWarning)
        from authlib.integrations.base_client import (  # noqa: PLC0415 - ditto
            BaseApp,
            OAuth2Mixin,
            OpenIDMixin,
        )
        from authlib.integrations.httpx_client import OAuth2Client  # noqa: PLC0415 - ditto

    class App(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
        """Authlib's client without a web framework."""

        client_cls = OAuth2Client

        def _on_update_token(self, *_: object, **__: object) -> None:
            """Keep no token: Benchgate asks the provider only during a sign-in."""

    return App
