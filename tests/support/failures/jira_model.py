"""A model of Jira's REST API, as far as Benchgate uses it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from service.adapters.failures.jira import JiraConnection, JiraTracker
from service.adapters.system.json_client import Bearer

URL = "https://bugs.example.com/jira"
TOKEN = "token-of-the-bot"


def issue(key: str, title: str, state: str, *, is_done: bool) -> dict[str, Any]:
    """A bug as Jira Server 9 shows it."""
    category = (3, "done", "green", "Done") if is_done else (4, "indeterminate", "yellow", "In Progress")
    number, name, colour, label = category
    return {
        "expand": "renderedFields,names,schema,operations,editmeta,changelog,versionedRepresentations",
        "id": "10002",
        "self": f"{URL}/rest/api/2/issue/10002",
        "key": key,
        "fields": {
            "summary": title,
            "resolution": {"id": "1", "name": "Fixed"} if is_done else None,
            "status": {
                "self": f"{URL}/rest/api/2/status/3",
                "description": "",
                "iconUrl": f"{URL}/images/icons/statuses/inprogress.png",
                "name": state,
                "id": "3",
                "statusCategory": {"id": number, "key": name, "colorName": colour, "name": label},
            },
        },
    }


@dataclass
class JiraModel:
    """The bugs by key, and the comments that were added."""

    issues: dict[str, dict[str, Any]] = field(default_factory=dict)
    comments: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer as Jira does."""
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return httpx.Response(401, json=_errors("Login Required"))
        key, _, part = request.url.path.removeprefix("/jira/rest/api/2/issue/").partition("/")
        if key not in self.issues:
            return httpx.Response(404, json=_errors("Issue Does Not Exist"))
        if request.method == "POST":
            assert part == "comment"
            self.comments.append((key, json.loads(request.content)["body"]))
            return httpx.Response(201, json={"id": "10000"})
        if part == "comment":
            bodies = [{"id": "10000", "body": body} for bug, body in reversed(self.comments) if bug == key]
            most = int(request.url.params["maxResults"])
            return httpx.Response(200, json={"total": len(bodies), "comments": bodies[:most]})
        return httpx.Response(200, json=self.issues[key])

    def tracker(self, *, may_post: bool = True) -> JiraTracker:
        """Make the adapter that asks this model."""
        connection = JiraConnection(URL, Bearer(TOKEN), transport=httpx.MockTransport(self.answer))
        return JiraTracker(URL, connection, may_post=may_post)


def _errors(message: str) -> dict[str, Any]:
    return {"errorMessages": [message], "errors": {}}
