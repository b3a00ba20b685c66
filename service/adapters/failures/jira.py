"""Jira as the bug tracker, by version 2 of its REST API, which Jira Server, Data Center and Cloud have."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import httpx
from typing_extensions import override

from service.adapters.system.json_client import JsonClient, Timeouts, fault
from service.domain.values.errors import NotFound, Permanent, Refused, Transient
from service.domain.values.text import plain
from service.ports.failures.bugs import Bug, BugTracker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.adapters.system.json_client import Bearer, Password
    from service.domain.values.errors import BenchgateError

_LONGEST_REASON: Final = 300  # characters of an error that are shown
# Jira Cloud answers 404 to a wrong token, as if nobody had signed in, and says so only in this header.
_REJECTED: Final = ("X-Seraph-LoginReason", "AUTHENTICAT")
_TOKEN: Final = "check BENCHGATE_BUGS_USER and BENCHGATE_BUGS_TOKEN"
_KEY: Final = re.compile(r"[A-Z][A-Z0-9_]{1,19}-[1-9][0-9]{0,11}")
_AFTER_KEY: Final = re.compile(r"[/?#].*")  # of a link to a comment, for example
_FIELDS: Final = "fields=summary,status,resolution"
_LONGEST_TITLE: Final = 300  # characters; Jira itself allows 255
_LONGEST_STATE: Final = 60  # characters, as in Jira
_LONGEST_COMMENT: Final = 4000  # characters; Jira's own limit is 32,767
_COMMENTS: Final = "orderBy=-created&maxResults=20"  # the newest; each has 32,767 characters at most
_DONE: Final = "done"  # the key of the category of states that end a bug; its name is translated
# Jira's marks of macros, links, pictures, mentions, tables and formats.
_MARKS: Final = re.compile(r"[{}\[\]!|*_^~+]|(?<!\w)-|-(?!\w)|\?(?=\?)")
_BLOCK: Final = re.compile(r"#+ |h[1-6]\. |bq\. ")  # at the beginning of a line


class JiraConnection(JsonClient):
    """Jira's REST API. Each request has its own connection: there are a few in an hour."""

    server = "the bug tracker"
    max_bytes = 1 << 20  # a bug with three fields has about 2 kB
    # An unpacked response could be a thousand times longer than the bytes that were sent.
    headers = {"Accept-Encoding": "identity"}  # noqa: RUF012
    limits = httpx.Limits(max_keepalive_connections=0)

    def __init__(
        self,
        url: str,
        credentials: Password | Bearer | None,
        timeouts: Timeouts = Timeouts(silence=10.0, whole=30.0),  # noqa: B008 - it is frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, credentials, timeouts, transport)

    @override
    def _document(self, data: bytes) -> Any:
        document = _json(data)
        if document is None:
            raise Transient("the response is not JSON; check BENCHGATE_BUGS_URL, and proxies in between")
        return document

    @override
    def _fault(self, response: httpx.Response, data: bytes) -> BenchgateError:
        document = _json(data)
        found = fault(response, self.server, _reason(document), is_own=bool(document))
        name, rejected = _REJECTED
        if response.status_code == 401 or (  # noqa: PLR2004 - HTTP's own number
            response.is_client_error and rejected in response.headers.get(name, "")
        ):
            return Refused(f"{found}; {_TOKEN}")
        return found


class JiraTracker(BugTracker):
    """A Jira.

    Args:
        url: its address, including its path if it has one.
        connection: sends requests to it.
        may_post: the settings allow comments.
    """

    def __init__(self, url: str, connection: JiraConnection, *, may_post: bool = False) -> None:
        self._root = url.rstrip("/")
        self._connection = connection
        self._may_post = may_post

    @override
    def look(self, bug: str) -> Bug | None:
        key = self._key_of(bug)
        if key is None:
            return None
        try:
            issue = self._connection.get(f"rest/api/2/issue/{key}", _FIELDS)
        except NotFound:
            return None
        return self._bug(key, issue)

    @override
    def post_count(self, bug: str, text: str) -> None:
        if not self._may_post:
            raise Permanent("comments on bugs are not allowed; set BENCHGATE_BUGS_POST=true to allow them")
        key = self._key_of(bug)
        if key is None:
            raise NotFound(f"{plain(bug, 60)} is not a bug of {self._root}")
        path = f"rest/api/2/issue/{key}/comment"
        if not _has_comment(self._connection.get(path, _COMMENTS), text):
            self._connection.post(path, {"body": _escaped(text)})

    def _key_of(self, bug: str) -> str | None:
        """Return the key of a bug by its key or address; None if it belongs to another tracker."""
        page = f"{self._root}/browse/"
        key = _AFTER_KEY.sub("", bug.removeprefix(page)) if bug.startswith(page) else bug
        return key if _KEY.fullmatch(key) else None

    def _bug(self, key: str, issue: Any) -> Bug:  # noqa: ANN401 - any JSON
        fields = _object(issue, "fields")
        status = _object(fields, "status")
        # Old servers have no categories; in some projects of Cloud, no bug gets a resolution.
        category = status.get("statusCategory")
        is_done = isinstance(category, dict) and category.get("key") == _DONE
        current = issue.get("key")  # another one if the bug was moved to another project
        shown = current if isinstance(current, str) and _KEY.fullmatch(current) else key
        return Bug(
            title=plain(_text(fields, "summary"), _LONGEST_TITLE),
            state=plain(_text(status, "name"), _LONGEST_STATE),
            is_closed=is_done or fields.get("resolution") is not None,
            url=f"{self._root}/browse/{shown}",
        )


def _json(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Parse an object; return None for anything else."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _reason(document: Any) -> str:  # noqa: ANN401 - any JSON
    """Return the messages of an error; a page of HTML has none and is not quoted."""
    if document is None:
        return ""
    given, by_field = document.get("errorMessages"), document.get("errors")
    texts = [
        *(given if isinstance(given, list) else ()),
        *(by_field.values() if isinstance(by_field, dict) else ()),
    ]
    return plain("; ".join(each for each in texts if isinstance(each, str)), _LONGEST_REASON)


def _object(document: Any, name: str) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON
    value = document.get(name) if isinstance(document, dict) else None
    if not isinstance(value, dict):
        raise Permanent(f"Jira's description of the bug has no {name}")
    return value


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise Permanent(f"Jira's description of the bug has no {name}")
    return value


def _has_comment(document: Any, text: str) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a comment begins with the text's first line; Jira Cloud changes escapes and links."""
    comments = document.get("comments") if isinstance(document, dict) else None
    if not isinstance(comments, list):
        raise Permanent("Jira's description of the bug has no comments")
    wanted = _letters(text.partition("\n")[0])
    bodies = (each.get("body") for each in comments if isinstance(each, dict))
    return any(_letters(body).startswith(wanted) for body in bodies if isinstance(body, str))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _escaped(text: str) -> str:
    """Escape Jira's markup, so that a name from a patch set makes no link, picture or mention."""
    lines = (plain(line, _LONGEST_COMMENT) for line in text[:_LONGEST_COMMENT].splitlines())
    return "\n".join(map(_escaped_line, lines))


def _escaped_line(line: str) -> str:
    # A backslash cannot be escaped by another one, which would be a line break.
    marked = _MARKS.sub(r"\\\g<0>", line.replace("\\", "&#92;"))
    return f"\u200b{marked}" if _BLOCK.match(marked) else marked
