"""Responses of Gerrit and of proxies, and the errors that they become."""

from __future__ import annotations

import httpx
import pytest

from service.adapters.review.gerrit.connection import GerritConnection
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Bearer, Password
from service.domain.values.errors import BenchgateError, NotFound, Transient
from service.domain.wording.health import public_error
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

PLAIN = {"Content-Type": "text/plain;charset=utf-8"}


def asking(response: httpx.Response) -> GerritConnection:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path in {"/r/a/thing", "/r/a/accounts/self"}
        return response

    return GerritConnection(URL, Password("buildbot", SECRET), transport=httpx.MockTransport(answer))


def fault(response: httpx.Response) -> BenchgateError:
    with pytest.raises(BenchgateError) as raised:
        asking(response).get("thing")
    return raised.value


def test_the_guard_is_removed_from_a_response() -> None:
    assert asking(httpx.Response(200, content=b')]}\'\n{"a":1}\n')).get("thing") == {"a": 1}


def test_a_404_by_a_proxy_is_transient() -> None:
    found = fault(httpx.Response(404, headers={"Content-Type": "text/html"}, text="<h1>Not Found</h1>"))
    assert type(found) is Transient
    assert str(found) == "Gerrit answers 404: Not Found (from a proxy, not from Gerrit)"


@pytest.mark.parametrize("words", ["404 page not found\n", "default backend - 404"])
def test_a_plain_text_404_by_a_proxy_is_transient(words: str) -> None:
    assert type(fault(httpx.Response(404, headers=PLAIN, text=words))) is Transient
    assert type(fault(httpx.Response(404, headers=PLAIN, text="Not found: 404"))) is NotFound


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>please wait</html>",
        b'{"a":1}',
        b")]}'\n",
        b')]}\'\n{"a":',
        b")]}'\n\xff\xfe",
        b")]}'\n" + b"[" * 1_000_000,
        b")]}'\n" + b"1" * 10_000,
    ],
)
def test_a_response_from_elsewhere_than_gerrit_is_transient(body: bytes) -> None:
    assert type(fault(httpx.Response(200, content=body))) is Transient


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        (httpx.Response(401, headers=PLAIN, text="secret"), "Refused: Gerrit answers 401: Unauthorized"),
        (httpx.Response(503, text="<h1>secret</h1>"), "Transient: Gerrit answers 503: Service Unavailable"),
        (
            httpx.Response(302, headers={"Location": "https://login"}),
            "Refused: Gerrit answers 302: a redirect, perhaps to a login page",
        ),
        (
            httpx.Response(200, text="<form>secret</form>"),
            "Transient: the response is not from Gerrit; check Gerrit's address, and proxies in between",
        ),
    ],
)
def test_everybody_may_read_the_status_of_an_error(response: httpx.Response, shown: str) -> None:
    error = fault(response)
    assert public_error(f"{type(error).__name__}: {error}") == shown


def test_an_unreachable_gerrit_is_public_without_the_reason() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("secret", request=request)

    connection = GerritConnection(URL, None, transport=httpx.MockTransport(refuse))
    with pytest.raises(Transient) as raised:
        connection.get("thing")
    assert public_error(f"Transient: {raised.value}") == "Transient: Gerrit cannot be reached"


def test_an_error_message_is_one_line_without_control_characters() -> None:
    hostile = "\x1b[2J\u202eevil\r\nsecond line\x00" + "x" * 5000
    text = str(fault(httpx.Response(409, headers=PLAIN, text=hostile)))
    assert text.startswith("Gerrit answers 409: [2Jevil second line")
    assert len(text) <= 230
    assert text.isprintable()


def test_an_html_page_is_not_quoted() -> None:
    assert str(fault(httpx.Response(502, html="<h1>sorry</h1>"))) == "Gerrit answers 502: Bad Gateway"


@pytest.mark.parametrize("is_bearer", [False, True])
def test_either_kind_of_credentials_is_sent(*, is_bearer: bool) -> None:
    model = GerritModel(is_bearer=is_bearer)
    credentials = Bearer(f"{SECRET}-buildbot") if is_bearer else Password("buildbot", SECRET)
    assert GerritReview("gerrit", URL, credentials, transport=model.transport).account == "1000001"


@pytest.mark.parametrize("headers", [{}, {"Date": "today"}])
def test_a_response_without_a_date_is_transient(headers: dict[str, str]) -> None:
    response = httpx.Response(200, headers=headers, content=b")]}'\n{}")
    with pytest.raises(Transient, match="no date"):
        asking(response).now()
