"""A small Gerrit behind its REST API: the rules and the JSON of a real one, in memory.

Its responses have the shape of those that were recorded from a Gerrit 3.13; a test compares the two.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import httpx

from tests.support.review.queries import PEOPLE, Refusal, accounts_in, person, query_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL: Final = "https://gerrit.example.com/r"
SECRET: Final = "correct-horse-battery"
START: Final = datetime(2026, 11, 21, 0, 14, 16, tzinfo=UTC)
PARENT: Final = "a" * 40
LABELS: Final = {"Code-Review": (-2, 2), "Verified": (-1, 1)}


@dataclass
class ModelChange:
    """A change with its patch sets, in Gerrit's JSON if that does not depend on the request."""

    number: int
    project: str
    branch: str
    owner: str
    created: datetime
    updated: datetime
    status: str = "NEW"
    flags: dict[str, bool] = field(default_factory=dict)
    watchers: set[str] = field(default_factory=set)  # its reviewers, and who gets copies
    revisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    votes: dict[tuple[int, str, str], int] = field(default_factory=dict)  # patch set, label, user
    messages: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def current(self) -> tuple[str, dict[str, Any]]:
        return max(self.revisions.items(), key=lambda item: item[1]["_number"])


class GerritModel:
    """A Gerrit: methods are people's actions, and ``transport`` answers REST requests."""

    def __init__(self, *, is_bearer: bool = False) -> None:
        self.now = START
        self.changes: dict[int, ModelChange] = {}
        self.groups: dict[str, set[str]] = {}
        self.capabilities: dict[str, object] = {}  # of every account
        self.forbidden: set[tuple[str, str]] = set()  # user and label
        self.readers: dict[str, set[str]] = {}  # of a closed project; no entry: anybody
        self.files: dict[str, set[str]] = {}  # that a revision changes; no entry: any file
        self.unindexed: set[int] = set()  # changes that the search does not find
        self.page_limit = 500
        self.requests: list[httpx.Request] = []
        self.faults: list[httpx.Response | Exception] = []  # sent instead of the next responses
        self.lost_answers = 0  # of posts that are nevertheless applied
        self.transport = httpx.MockTransport(self._answer)
        self._is_bearer = is_bearer

    @contextmanager
    def serving(self, renamed: Callable[[str], str] = str) -> Iterator[str]:
        """Answer requests on a free port of loopback, and yield the address.

        ``renamed`` is applied to queries for accounts, and to their answers.
        """

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                named = renamed if "/accounts/?" in self.path else str
                address = f"http://gerrit{named(self.path)}"
                request = httpx.Request(self.command, address, headers=dict(self.headers), content=body)
                answer = transport.handle_request(request)
                text = named(answer.text).encode()
                self.send_response_only(answer.status_code)
                for name, value in (dict(answer.headers) | {"content-length": str(len(text))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET  # noqa: N815 - the names that the base class calls

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        transport = self.transport
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}{httpx.URL(URL).path}"
            finally:
                server.shutdown()
                thread.join(20)

    # --- actions of people ---

    def upload(
        self, number: int, revision: str, *, by: str = "alice", parent: str = PARENT, **more: str
    ) -> None:
        """Push a patch set; ``more``: project, branch, message, kind."""
        self._tick()
        branch = more.get("branch", "master")
        change = ModelChange(number, more.get("project", "kv_engine"), branch, by, self.now, self.now)
        change = self.changes.setdefault(number, change)
        patch_set = len(change.revisions) + 1
        message = more.get("message", f"Speed up the hash table\n\nChange-Id: {_change_id(number)}\n")
        author = {"name": PEOPLE[by]["name"], "email": PEOPLE[by]["email"], "date": _date(self.now), "tz": 0}
        change.revisions[revision] = {
            "kind": more.get("kind", "REWORK"),
            "_number": patch_set,
            "created": _date(self.now),
            "uploader": by,
            "ref": f"refs/changes/{number % 100:02}/{number}/{patch_set}",
            "fetch": {},
            "commit": {
                "parents": [{"commit": parent, "subject": "Initial commit"}],
                "author": author,
                "committer": author,
                "subject": message.partition("\n")[0],
                "message": message,
            },
            "branch": f"refs/heads/{change.branch}",
        }
        self._write(change, by, f"Uploaded patch set {patch_set}.", "autogenerated:gerrit:newPatchSet")

    def abandon(self, number: int, by: str = "alice") -> None:
        self._close(number, by, "ABANDONED", "Abandoned")

    def restore(self, number: int, by: str = "alice") -> None:
        self._close(number, by, "NEW", "Restored")

    def merge(self, number: int, merged_as: str | None = None, by: str = "bob") -> None:
        """Submit the change; if the submit makes a new commit, it becomes a patch set."""
        if merged_as is not None and merged_as not in self.changes[number].revisions:
            self.upload(number, merged_as, by=by)
        self._close(number, by, "MERGED", "Change has been successfully merged")

    def delete(self, number: int) -> None:
        del self.changes[number]

    def say(self, number: int, by: str, text: str, *, as_comment: bool = False) -> str:
        """Reply on the current patch set (``as_comment``: like Gerrit's pages), and return the message ID."""
        self._tick()
        comments = {"/PATCHSET_LEVEL": [{"message": text}]} if as_comment else {}
        change, asked = self.changes[number], {"message": "" if as_comment else text, "comments": comments}
        self._review(change, change.current[0], by, asked)
        return str(change.messages[-1]["id"])

    def comment(self, number: int, by: str, comments: dict[str, list[str]], text: str = "") -> str:
        """Reply on the current patch set with comments on files, and return the message ID."""
        self._tick()
        given = {path: [{"line": 1, "message": each} for each in texts] for path, texts in comments.items()}
        change = self.changes[number]
        self._review(change, change.current[0], by, {"message": text, "comments": given})
        return str(change.messages[-1]["id"])

    def vote(self, number: int, by: str, label: str, value: int) -> None:
        """Vote on the current patch set."""
        self._tick()
        self._review(self.changes[number], self.changes[number].current[0], by, {"labels": {label: value}})

    def remove_vote(self, number: int, voter: str, label: str, by: str) -> None:
        """Remove somebody's vote."""
        self._tick()
        change, voters = self.changes[number], [person(voter)]
        value = change.votes.pop((change.current[1]["_number"], label, voter))
        text = f"Removed {label}{value:+} by <GERRIT_ACCOUNT_{voters[0]['_account_id']}>\n"
        self._write(change, by, text, "autogenerated:gerrit:deleteVote", accounts_in_message=voters)

    def _close(self, number: int, by: str, status: str, text: str) -> None:
        self._tick()
        self.changes[number].status = status
        self._write(self.changes[number], by, text, f"autogenerated:gerrit:{status.lower()}")

    def _tick(self) -> None:
        self.now += timedelta(seconds=1)

    def _write(self, change: ModelChange, by: str, text: str, tag: str | None, **more: object) -> str:
        change.updated = self.now
        identifier = hashlib.sha1(f"{change.number} {len(change.messages)}".encode()).hexdigest()  # noqa: S324
        message = {
            "id": identifier,
            "author": person(by),
            "date": _date(self.now),
            "message": text,
            "accounts_in_message": [],
            "_revision_number": change.current[1]["_number"],
        }
        change.messages.append(message | ({"tag": tag} if tag else {}) | more)
        return identifier

    # --- REST requests ---

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        try:
            document = self._document(request, self._user(request))
        except Refusal as refusal:
            headers = {"Content-Type": "text/plain;charset=utf-8"}
            return httpx.Response(refusal.status, headers=headers, text=refusal.text + "\n")
        if request.method == "POST" and self.lost_answers:
            self.lost_answers -= 1
            return httpx.Response(502, html="<h1>Bad Gateway</h1>")
        body = ")]}'\n" + json.dumps(document, separators=(",", ":")) + "\n"
        headers = {
            "Content-Type": "application/json;charset=utf-8",
            "Date": format_datetime(self.now, usegmt=True),
        }
        return httpx.Response(200, headers=headers, content=body.encode())

    def _user(self, request: httpx.Request) -> str:
        """The account that sends a request; empty if it does not sign in."""
        if not request.url.path.startswith(f"{httpx.URL(URL).path}/a/"):
            return ""
        given = request.headers.get("Authorization", "")
        for name in PEOPLE:
            password = base64.b64encode(f"{name}:{SECRET}".encode()).decode()
            wanted = f"Bearer {SECRET}-{name}" if self._is_bearer else f"Basic {password}"
            if given == wanted:
                return name
        raise Refusal(401, "Unauthorized")

    def _document(self, request: httpx.Request, user: str) -> Any:  # noqa: ANN401, C901, PLR0911 - all kinds of JSON
        path = request.url.raw_path.decode().partition("?")[0].removeprefix(httpx.URL(URL).path)
        parts = [unquote(part) for part in path.removeprefix("/a/").removeprefix("/").split("/")]
        options = set(request.url.params.get_list("o"))
        if request.method == "POST" and not user:
            raise Refusal(403, "Authentication required")
        match request.method, parts:
            case "GET", ["accounts", "self"]:
                return person(user)
            case "GET", ["accounts", "self", "capabilities"]:
                return self.capabilities
            case "GET", ["accounts", ""]:
                return accounts_in(request.url.params["q"])
            case "GET", ["changes", ""]:
                return self._found(request.url.params, options, user)
            case "GET", ["changes", number]:
                return self._shown(self._change(number, user), options)
            case "GET", ["changes", number, "messages" | "comments" as what]:
                return getattr(self._change(number, user), what)
            case "GET", ["changes", number, "revisions", revision, "files"]:
                self._change(number, user)
                return {path: {"status": "M", "size": 14} for path in self.files.get(revision, ())}
            case "GET", ["groups", group, "members", ""]:
                return self._members(group)
            case "POST", ["changes", number, "revisions", revision, "review"]:
                self._tick()
                return self._review(self._change(number, user), revision, user, json.loads(request.content))
        raise Refusal(404, "Not found")

    def _change(self, number: str, user: str) -> ModelChange:
        project, _, bare = number.rpartition("~")
        change = self.changes.get(int(bare)) if bare.isdecimal() else None
        # Only the index finds a change by its number alone.
        is_found = change is not None and (
            change.project == project if project else change.number not in self.unindexed
        )
        if change is None or not is_found or not self._shows(change, user):
            raise Refusal(404, f"Not found: {number}")
        return change

    def _shows(self, change: ModelChange, user: str) -> bool:
        """Return whether an account, or a reader without one, may see a change."""
        is_private = change.flags.get("is_private", False)
        is_open = change.project not in self.readers or user in self.readers[change.project]
        return is_open and (not is_private or user in {change.owner, *change.watchers})

    def _members(self, group: str) -> list[dict[str, Any]]:
        if group not in self.groups:
            raise Refusal(404, f"Not found: {group}")
        return [person(name) for name in sorted(self.groups[group])]

    def _found(self, asked: httpx.QueryParams, options: set[str], user: str) -> list[dict[str, Any]]:
        is_wanted, viewer = query_from(asked["q"])
        every = sorted(self.changes.values(), key=lambda change: change.updated, reverse=True)
        # The account that asks must see a change, too.
        viewers = (user,) if viewer is None else (user, viewer)
        indexed = [each for each in every if each.number not in self.unindexed]
        hits = [
            each for each in indexed if is_wanted(each) and all(self._shows(each, who) for who in viewers)
        ]
        start = int(asked.get("S", 0))
        end = start + min(int(asked.get("n", self.page_limit)), self.page_limit)
        page = [self._shown(change, options) for change in hits[start:end]]
        if page and end < len(hits):
            page[-1]["_more_changes"] = True
        return page

    def _shown(self, change: ModelChange, options: set[str]) -> dict[str, Any]:
        revision, shown = change.current
        is_detailed = "DETAILED_ACCOUNTS" in options
        document = {
            "id": f"{change.project}~{change.number}",
            "project": change.project,
            "branch": change.branch,
            "hashtags": [],
            "change_id": _change_id(change.number),
            "subject": shown["commit"]["subject"],
            "status": change.status,
            "created": _date(change.created),
            "updated": _date(change.updated),
            **change.flags,
            "_number": change.number,
            "owner": person(change.owner, is_detailed=is_detailed),
            "current_revision_number": shown["_number"],
        }
        if "DETAILED_LABELS" in options:
            document["labels"] = {label: self._label(change, label) for label in LABELS}
        if "CURRENT_REVISION" in options:
            hidden = set() if "CURRENT_COMMIT" in options else {"commit"}
            visible = {key: value for key, value in shown.items() if key not in hidden}
            uploader = person(shown["uploader"], is_detailed=is_detailed)
            document["current_revision"] = revision
            document["revisions"] = {revision: visible | {"uploader": uploader}}
        return document

    def _label(self, change: ModelChange, label: str) -> dict[str, Any]:
        ballots = []
        for name in PEOPLE:
            value = change.votes.get((change.current[1]["_number"], label, name), 0)
            is_voter = (name, label) not in self.forbidden
            ballots.append(({"value": value} if is_voter else {}) | person(name))
        return {"all": ballots, "default_value": 0, "optional": True}

    def _review(self, change: ModelChange, revision: str, by: str, asked: dict[str, Any]) -> dict[str, Any]:
        if revision not in change.revisions:
            raise Refusal(404, f"Not found: {revision}")
        patch_set = change.revisions[revision]["_number"]
        labels = {
            label: value
            for label, value in asked.get("labels", {}).items()
            if label in LABELS and LABELS[label][0] <= value <= LABELS[label][1]
        }
        self._refuse(change, patch_set, by, labels)
        self._refuse_comments(revision, f"{change.number},{patch_set}", asked.get("comments", {}))
        changed = []
        for label, value in sorted(labels.items()):
            if change.votes.get((patch_set, label, by), 0) != value:
                changed.append(f" {label}{value:+}" if value else f" -{label}")
            change.votes[patch_set, label, by] = value
        comments = _fresh(change, asked)
        counted = f"\n\n({len(comments)} comment{'s' * (len(comments) > 1)})" if comments else ""
        said = asked.get("message", "").strip()
        text = "".join(changed) + counted + (f"\n\n{said}" if said else "")
        if text:
            where = {"patch_set": patch_set, "commit_id": revision}
            text = f"Patch Set {patch_set}:{text}"
            message = self._write(change, by, text, asked.get("tag"), _revision_number=patch_set)
            self._attach(change, comments, {"author": person(by), "change_message_id": message} | where)
        return ({"labels": labels} if "labels" in asked else {}) | {"change_info": self._shown(change, set())}

    def _refuse(self, change: ModelChange, patch_set: int, by: str, labels: dict[str, int]) -> None:
        for label, value in labels.items():
            if (by, label) in self.forbidden:
                raise Refusal(403, f'Applying label "{label}": {value} is restricted')
        if labels and change.status == "ABANDONED":
            raise Refusal(409, "change is closed")
        votes = {label: change.votes.get((patch_set, label, by), 0) for label in labels}
        reduced = ", ".join(sorted(label for label in labels if labels[label] < votes[label]))
        if reduced and change.status == "MERGED":
            raise Refusal(409, f"Cannot reduce vote on labels for closed change: {reduced}")

    def _refuse_comments(self, revision: str, patch_set: str, comments: dict[str, Any]) -> None:
        for path in comments:
            is_magic = path in {"/PATCHSET_LEVEL", "/COMMIT_MSG"}
            if not is_magic and path not in self.files.get(revision, comments):
                raise Refusal(400, f"file {path} not found in revision {patch_set}")

    def _attach(
        self, change: ModelChange, comments: list[tuple[str, dict[str, Any]]], where: dict[str, Any]
    ) -> None:
        for path, given in comments:
            there = change.comments.setdefault(path, [])
            identifier = f"{sum(map(len, change.comments.values())):08x}_{change.number:08x}"
            comment = {"unresolved": False, "id": identifier, "updated": _date(self.now)}
            there.append(where | comment | given)


def _fresh(change: ModelChange, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The comments of a review; on request, without those that exist already."""
    given = [(path, each) for path, several in asked.get("comments", {}).items() for each in several]
    if not asked.get("omit_duplicate_comments"):
        return given
    known = {
        (path, each.get("line"), each["message"])
        for path, several in change.comments.items()
        for each in several
    }
    return [(path, each) for path, each in given if (path, each.get("line"), each["message"]) not in known]


def _change_id(number: int) -> str:
    return f"I{number:040x}"


def _date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}000"
