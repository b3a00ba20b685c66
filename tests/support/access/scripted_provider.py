"""An identity provider on loopback; a test chooses its answers."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from joserfc import jwt
from joserfc.jwk import RSAKey

from service.adapters.access.oidc import OidcProvider
from tests.support.access.provider import make_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from service.ports.access import Claims

CALLBACK: Final = "https://bench.example.com/sign-in/callback"
CLIENT: Final = "benchgate"
SECRET: Final = "the-secret-of-the-client-is-long-enough"
KEY_ID: Final = "own"
KEY: Final = RSAKey.generate_key(2048, {"kid": KEY_ID})


class ScriptedProvider:
    """The answers by path; ``asked`` are the paths of all requests."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.asked: list[str] = []
        self.answers: dict[str, Mapping[str, Any]] = {
            "/.well-known/openid-configuration": {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "userinfo_endpoint": f"{issuer}/userinfo",
                "jwks_uri": f"{issuer}/keys",
                # Benchgate must not accept the last two, even if a provider offers them.
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            },
            "/keys": {"keys": [KEY.as_dict(private=False)]},
        }

    def claims(self, nonce: str, changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claims of a valid ID token, except those that are changed; None leaves one out."""
        now = int(time.time())
        own = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "al",
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "email": "al@example.com",
            "email_verified": True,
            "groups": [],
        }
        return {name: value for name, value in {**own, **changed}.items() if value is not None}

    def sign_in(self, id_token: Callable[[str], str | None]) -> Claims:
        """Sign in with the ID token that is made for a nonce; None: the provider sends none."""
        identity = OidcProvider(self.issuer, CLIENT, SECRET, make_call)
        attempt = identity.begin(CALLBACK)
        token = {"access_token": "a", "token_type": "Bearer", "expires_in": 300}
        text = id_token(attempt.nonce)
        self.answers["/token"] = token if text is None else {**token, "id_token": text}
        return identity.claims(attempt, CALLBACK, "c")


def signed(claims: Mapping[str, Any], key: RSAKey = KEY) -> str:
    """Sign claims as the provider does."""
    return jwt.encode({"alg": "RS256", "kid": KEY_ID}, dict(claims), key)


@contextmanager
def scripted_provider() -> Iterator[ScriptedProvider]:
    """Serve a provider until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            body = json.dumps(provider.answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = ScriptedProvider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
