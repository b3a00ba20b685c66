"""Make the Gerrit events of an upload and of a submit in the demo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.demo.repository import BRANCH, PROJECT
from tools.demo.scenario import KIM, change_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.demo.repository import Commit
    from tools.demo.scenario import Author


def patchset_created(commit: Commit, moment: int) -> bytes:
    """Make the event of a push for review, as ``stream-events`` prints it."""
    return _event("patchset-created", commit, moment, uploader=_account(commit.upload.author))


def change_merged(commit: Commit, moment: int) -> bytes:
    """Make the event of a submit."""
    return _event(
        "change-merged", commit, moment, submitter=_account(KIM), newRev=commit.revision, status="MERGED"
    )


def _event(kind: str, commit: Commit, moment: int, *, status: str = "NEW", **more: object) -> bytes:
    upload = commit.upload
    author = _account(upload.author)
    document = {
        "type": kind,
        "change": {
            "project": PROJECT,
            "branch": BRANCH,
            "id": change_id(upload.change),
            "number": upload.change,
            "subject": upload.text.splitlines()[0],
            "owner": author,
            "commitMessage": upload.text,
            "createdOn": moment,
            "status": status,
        },
        "patchSet": {
            "number": upload.patch_set,
            "revision": commit.revision,
            "parents": [commit.parent],
            "ref": commit.ref,
            "uploader": author,
            "author": author,
            "createdOn": moment,
            "kind": "REWORK",
        },
        "project": PROJECT,
        "refName": f"refs/heads/{BRANCH}",
        "changeKey": {"id": change_id(upload.change)},
        "eventCreatedOn": moment,
        **more,
    }
    return json.dumps(document).encode()


def _account(person: Author) -> Mapping[str, str]:
    return {"name": person.name, "email": person.email, "username": person.email.split("@")[0]}
