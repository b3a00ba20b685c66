"""An identity provider in a process of its own, and the browser of a person who signs in there."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx

from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CLIENT_ID: Final = "benchgate"
CLIENT_SECRET: Final = "the-secret-of-the-client"
ResultT = TypeVar("ResultT")


def make_call(call: Callable[[], ResultT]) -> ResultT:
    """Make a call to a provider without bounds."""
    return call()


@dataclass(frozen=True)
class Provider:
    """A running provider; it admits everybody, and a subject that it does not know has no verified e-mail."""

    issuer: str

    def add_person(self, subject: str, **claims: Any) -> None:  # noqa: ANN401 - whatever a provider may claim
        """Make the provider claim these about a person."""
        httpx.put(f"{self.issuer}/users/{subject}", json=claims).raise_for_status()

    def approve(self, url: str, subject: str) -> Mapping[str, str]:
        """Sign in on the provider's page at a URL; return the query of the address that it sends back to."""
        answer = httpx.post(url, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return dict(httpx.URL(answer.headers["location"]).params)

    def deny(self, url: str) -> Mapping[str, str]:
        """Press "Deny" on the provider's page."""
        answer = httpx.post(url, data={"sub": "x", "action": "deny"})
        return dict(httpx.URL(answer.headers["location"]).params)


@contextmanager
def running_provider() -> Iterator[Provider]:
    """Start a provider on loopback, and stop it at the end.

    In another process, because its libraries warn and print.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    # Its issuer is the host that the request names.
    provider = Provider(f"http://localhost:{port}")
    argv = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: _answers(provider)), "the provider did not start"
        yield provider
    finally:
        process.terminate()
        process.wait(20)


def _answers(provider: Provider) -> bool:
    try:
        answer = httpx.get(f"{provider.issuer}/.well-known/openid-configuration")
    except httpx.TransportError:
        return False
    return bool(json.loads(answer.text)["issuer"] == provider.issuer)
