"""Responses of Jira and of proxies, and the bugs and errors that they become."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.adapters.failures.jira import JiraConnection, JiraTracker
from service.adapters.system.json_client import Bearer, Password
from service.domain.values.errors import BenchgateError, Permanent, Refused, Transient
from service.ports.failures.bugs import Bug
from tests.support.failures.jira_model import TOKEN, URL, JiraModel, issue

SAMPLES = Path(__file__).parents[3] / "samples" / "bugs"
LOGIN_PAGE = "<!DOCTYPE html><html><title>Log in</title><script>alert(1)</script></html>"
MISSING = {"errorMessages": ["Issue Does Not Exist"], "errors": {}}


def tracker(response: httpx.Response | Exception, url: str = URL) -> JiraTracker:
    def answer(_: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return response

    connection = JiraConnection(url, Bearer(TOKEN), transport=httpx.MockTransport(answer))
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

    connection = JiraConnection(
        f"{URL}/", Password("ada@example.com", TOKEN), transport=httpx.MockTransport(answer)
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
def test_an_invalid_key_does_not_get_into_the_address(key: object) -> None:
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


def test_an_error_gives_all_reasons_of_jira() -> None:
    response = httpx.Response(400, json={"errorMessages": ["because"], "errors": {"comment": "empty"}})
    assert str(fault(response)) == "the bug tracker answers 400: because; empty"


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


@pytest.mark.parametrize("status", [200, 201, 401, 500])
def test_html_is_neither_a_bug_nor_quoted(status: int) -> None:
    found = fault(httpx.Response(status, headers={"Content-Type": "text/html"}, text=LOGIN_PAGE))
    assert isinstance(found, Transient)
    assert "<" not in str(found)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b'{"a":', b"[" * 100_000])
def test_a_response_other_than_a_json_object_is_transient(body: bytes) -> None:
    assert type(fault(httpx.Response(200, content=body))) is Transient


def test_a_compressed_response_is_not_unpacked() -> None:
    packed = gzip.compress(b" " * (64 << 20))
    found = fault(httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(packed)))
    assert "compressed" in str(found)


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
