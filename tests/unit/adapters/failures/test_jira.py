"""Responses of Jira and of proxies, and the bugs and errors that they become."""

from __future__ import annotations

import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from socket import create_server
from threading import Event
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from service.adapters.failures.connection import MAX_BYTES, Account, Connection, Timeouts
from service.adapters.failures.jira import JiraTracker
from service.domain.values.errors import BenchgateError, Forbidden, NotFound, Permanent, Refused, Transient
from service.ports.failures.bugs import Bug
from tests.support.failures.jira_model import TOKEN, URL, JiraModel, issue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

SAMPLES = Path(__file__).parents[3] / "samples" / "bugs"
LOGIN_PAGE = "<!DOCTYPE html><html><title>Log in</title><script>alert(1)</script></html>"
MISSING = {"errorMessages": ["Issue Does Not Exist"], "errors": {}}


def tracker(response: httpx.Response | Exception, url: str = URL) -> JiraTracker:
    def answer(_: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return response

    connection = Connection(url, Account(token=TOKEN), transport=httpx.MockTransport(answer))
    return JiraTracker(url, connection, may_post=True)


def fault(response: httpx.Response | Exception) -> BenchgateError:
    """The error of a comment, which is that of reading a bug too, except for a missing bug."""
    with pytest.raises(BenchgateError) as raised:
        tracker(response).post_count("MB-1", "12 builds")
    assert TOKEN not in str(raised.value)
    return raised.value


def look(document: object, bug: str = "MB-1") -> Bug | None:
    return tracker(httpx.Response(200, content=json.dumps(document).encode())).look(bug)


def altered(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    document = issue("MB-1", "A title", "Open", is_done=False)
    document["fields"].update(fields)
    return document


def test_a_response_of_jira_server_becomes_a_bug() -> None:
    document = json.loads((SAMPLES / "server.json").read_text())
    assert look(document, "MB-37948") == Bug(
        title='[CX] Intermittent failure: ep_testsuite "test_mb20697" times out',
        state="Closed",
        is_closed=True,
        url=f"{URL}/browse/MB-37948",
    )


def test_a_response_of_jira_cloud_becomes_a_bug_in_the_language_of_the_account() -> None:
    response = httpx.Response(200, content=(SAMPLES / "cloud.json").read_bytes())
    assert tracker(response, "https://example.atlassian.net/").look("KV-7") == Bug(
        title="Réplication : échec intermittent",
        state="En cours",
        is_closed=False,
        url="https://example.atlassian.net/browse/KV-7",
    )


def test_only_the_three_fields_are_requested() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(404, json=MISSING)

    connection = Connection(
        f"{URL}/", Account("ada@example.com", TOKEN), transport=httpx.MockTransport(answer)
    )
    assert JiraTracker(f"{URL}/", connection).look("MB-1") is None
    [request] = seen
    assert str(request.url) == f"{URL}/rest/api/2/issue/MB-1?fields=summary,status,resolution"
    pair = base64.b64decode(request.headers["Authorization"].removeprefix("Basic "))
    assert pair == f"ada@example.com:{TOKEN}".encode()


@pytest.mark.parametrize(
    "bug", ["MB-1", f"{URL}/browse/MB-1", f"{URL}/browse/MB-1?focusedId=7#comment-7", f"{URL}/browse/MB-1/"]
)
def test_addresses_of_parts_of_a_page_name_its_bug(bug: str) -> None:
    assert look(altered(), bug) is not None


@pytest.mark.parametrize(
    "bug",
    [
        "mb-1",
        "MB-0",
        "MB-1/../../user",
        "MB-1?fields=x",
        f"{URL}/browse/",
        f"{URL}/browse/../x",
        "MB-1\n",
        "#1",
    ],
)
def test_no_other_text_reaches_the_path_of_a_request(bug: str) -> None:
    assert tracker(AssertionError("a request")).look(bug) is None


def test_the_page_of_a_moved_bug_has_its_new_key() -> None:
    found = look(issue("CORE-9", "A title", "Open", is_done=False))
    assert found is not None
    assert found.url == f"{URL}/browse/CORE-9"


@pytest.mark.parametrize("key", [None, 7, "javascript:alert(1)", "../../evil", "MB-1?x"])
def test_a_key_that_is_none_does_not_get_into_the_address(key: object) -> None:
    found = look(altered() | {"key": key, "self": "https://evil.example.com/"})
    assert found is not None
    assert found.url == f"{URL}/browse/MB-1"


@pytest.mark.parametrize(
    ("category", "resolution", "is_closed"),
    [
        ({"key": "done"}, None, True),
        ({"key": "indeterminate"}, None, False),
        ({"key": "new"}, {"name": "Won't Fix"}, True),
        (None, {"name": "Fixed"}, True),
        (None, None, False),
        ("done", None, False),
    ],
)
def test_a_bug_is_closed_by_the_category_of_its_state_or_by_its_resolution(
    category: object, resolution: object, *, is_closed: bool
) -> None:
    found = look(altered(status={"name": "Whatever", "statusCategory": category}, resolution=resolution))
    assert found is not None
    assert found.is_closed is is_closed


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("a\nb\x00\x1b[31mc", "a b[31mc"),
        ("safe \u202egnp.exe", "safe gnp.exe"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # the page escapes it
        ("\ud800lone", "lone"),
        ("x" * 5000, "x" * 299 + "…"),
        ("", ""),
    ],
)
def test_a_hostile_title_becomes_one_harmless_line(title: str, shown: str) -> None:
    found = look(altered(summary=title, status={"name": title}))
    assert found is not None
    assert found.title == shown
    assert len(found.state) <= 60


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"fields": None},
        {"fields": []},
        altered(summary=None),
        altered(summary=["a"]),
        altered(status="Open"),
        altered(status={"id": "1"}),
    ],
)
def test_a_bug_without_title_or_state_is_an_error(document: object) -> None:
    with pytest.raises(Permanent, match="has no"):
        look(document)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Permanent),
        (401, Refused),
        (403, Forbidden),
        (404, NotFound),
        (405, Permanent),
        (408, Transient),
        (413, Permanent),
        (429, Transient),
        (500, Transient),
        (502, Transient),
        (503, Transient),
    ],
)
def test_the_status_decides_the_kind_of_error(status: int, kind: type[BenchgateError]) -> None:
    found = fault(httpx.Response(status, json={"errorMessages": ["because"], "errors": {"comment": "empty"}}))
    assert type(found) is kind
    assert str(found).startswith(f"the bug tracker answers {status}: because; empty")


def test_a_missing_bug_is_none_and_a_page_of_a_proxy_is_transient() -> None:
    assert tracker(httpx.Response(404, json=MISSING)).look("MB-1") is None
    page = httpx.Response(404, headers={"Content-Type": "text/html"}, text="<h1>Not Found</h1>")
    with pytest.raises(Transient, match="not from the bug tracker"):
        tracker(page).look("MB-1")


def test_a_rejected_token_is_not_a_missing_bug() -> None:
    """Jira Cloud answers so to a wrong token."""
    rejected = httpx.Response(404, headers={"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"}, json=MISSING)
    with pytest.raises(Refused, match="BENCHGATE_BUGS_TOKEN"):
        tracker(rejected).look("MB-1")


def test_a_redirect_is_not_followed() -> None:
    found = fault(httpx.Response(302, headers={"Location": "https://login.example.com/"}))
    assert type(found) is Refused
    assert "login page" in str(found)


@pytest.mark.parametrize("status", [200, 201, 401, 500])
def test_html_is_neither_a_bug_nor_quoted(status: int) -> None:
    found = fault(httpx.Response(status, headers={"Content-Type": "text/html"}, text=LOGIN_PAGE))
    assert isinstance(found, Transient)
    assert "<" not in str(found)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b'{"a":', b"[" * 100_000])
def test_what_is_no_json_object_is_transient(body: bytes) -> None:
    assert type(fault(httpx.Response(200, content=body))) is Transient


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("30", 30.0), ("999999", 3600.0), ("soon", None), ("-1", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None)],
)
def test_the_requested_wait_is_kept(header: str, seconds: float | None) -> None:
    found = fault(httpx.Response(429, headers={"Retry-After": header}, json={}))
    assert isinstance(found, Transient)
    assert found.retry_after == seconds


@pytest.mark.parametrize("status", [200, 500])
def test_no_more_than_the_limit_is_read(status: int) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1 << 16
            yield b"x" * (1 << 16)

    found = fault(httpx.Response(status, content=endless()))
    assert type(found) is Transient
    assert sent <= MAX_BYTES + (1 << 16)


def test_a_compressed_response_is_not_unpacked() -> None:
    packed = gzip.compress(b" " * (64 << 20))
    found = fault(httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(packed)))
    assert "compressed" in str(found)


def test_a_response_that_does_not_end_is_transient() -> None:
    def slow() -> Iterator[bytes]:
        while True:
            yield b" "

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=slow()))
    connection = Connection(URL, Account(), Timeouts(whole=0.0), transport)
    with pytest.raises(Transient, match="did not end in time"):
        connection.get("x", "")


@pytest.mark.parametrize("beginning", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_response_of_a_byte_now_and_then_ends_in_time(beginning: bytes) -> None:
    """Each byte comes within the limit on silence."""
    gone = Event()

    def trickle(server: socket) -> None:
        client, _ = server.accept()
        with client, suppress(OSError):
            client.sendall(beginning)
            for _ in range(500):
                gone.wait(0.01)
                client.sendall(b" ")
            client.sendall(b"}" if beginning.endswith(b"{") else b"\r\n\r\n{}")

    with create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        served = pool.submit(trickle, server)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(Transient, match="did not end in time"):
            Connection(url, Account(), Timeouts(silence=5.0, whole=0.3)).get("x", "")
        gone.set()
        served.result()


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("refused"), httpx.ReadTimeout(""), httpx.ReadError("gone")]
)
def test_a_tracker_that_is_away_is_transient(error: httpx.HTTPError) -> None:
    assert str(fault(error)).startswith("the bug tracker cannot be reached: ")


@pytest.mark.parametrize(
    "url",
    [
        "bugs.example.com",
        "ftp://bugs",
        "https://",
        "https://bot:pw@bugs",
        "https://bugs?x",
        "https://bugs:port",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ValueError, match="address") as caught:
        Connection(url, Account())
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("account", [Account("a:b", TOKEN), Account(token="a\nb"), Account(token="tökén")])
def test_an_account_that_cannot_be_sent_is_refused_without_its_token(account: Account) -> None:
    with pytest.raises(ValueError, match="bug tracker's") as caught:
        Connection(URL, account)
    assert account.token not in str(caught.value)
    assert account.token not in repr(account)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("12 of 340 builds in 30 days", "12 of 340 builds in 30 days"),
        ("https://ci.example.com/failures/3", "https://ci.example.com/failures/3"),
        ("ep-engine", "ep-engine"),
        ("[~admin] {noformat} !http://x/y.png!", r"\[\~admin\] \{noformat\} \!http://x/y.png\!"),
        ("-gone- a_b *c*", r"\-gone\- a\_b \*c\*"),
        (r"\[~admin]", r"&#92;\[\~admin\]"),
        ("h1. big\n# one", "\u200bh1. big\n\u200b# one"),
        ("a\x1b[31m\u202eb\r\nc", r"a\[31mb" + "\nc"),
    ],
)
def test_a_comment_has_no_markup(text: str, sent: str) -> None:
    model = JiraModel({"MB-1": {}})
    model.tracker().post_count("MB-1", text)
    assert model.comments == [("MB-1", sent)]


def test_a_comment_is_cut() -> None:
    model = JiraModel({"MB-1": {}})
    model.tracker().post_count("MB-1", "x\n" * 1_000_000)
    assert len(model.comments[0][1]) <= 4000


@pytest.mark.parametrize(
    "body",
    [
        "Benchgate: 12 failed builds\nhttps://ci.example.com/failures/3",
        "Benchgate: 12 failed builds\n\n[https://ci.example.com/failures/3|https://ci.example.com/failures/3]",
        "*Benchgate*: 12 failed builds\r\n",
    ],
)
def test_a_comment_is_recognised_by_its_first_line_as_jira_shows_it(body: str) -> None:
    model = JiraModel({"MB-1": {}}, [("MB-1", body)])
    model.tracker().post_count("MB-1", "Benchgate: 12 failed builds\nhttps://ci.example.com/failures/3")
    assert model.comments == [("MB-1", body)]


def test_a_bug_that_shows_no_comments_gets_none() -> None:
    with pytest.raises(Permanent, match="has no comments"):
        tracker(httpx.Response(200, json={"total": 0})).post_count("MB-1", "12 failed builds")
