"""Unusual and hostile JSON from Gerrit."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from service.adapters.review.gerrit.reading import (
    account_from,
    change_from,
    change_number,
    inline_comments_from,
    labels_from,
    messages_from,
    replies_from,
)
from service.domain.review.change import Person
from service.domain.values.errors import Permanent

SAMPLE = Path(__file__).parents[3] / "samples" / "gerrit" / "rest-changes-query-detailed.http"
RECORDED: dict[str, Any] = json.loads(SAMPLE.read_text().partition(")]}'")[2])[0]
REVISION = "e56acc924a4bc8aa0b1a93f480297040f1a91e7b"
MESSAGE: dict[str, Any] = RECORDED["messages"][0]


def change_with(**more: object) -> dict[str, Any]:
    return copy.deepcopy(RECORDED) | more


def test_flags_are_read() -> None:
    change = change_from(change_with(work_in_progress=True, is_private=True), "gerrit")
    assert (change.is_wip, change.is_private) == (True, True)


def test_a_merged_change_is_merged_as_its_last_patch_set() -> None:
    assert change_from(change_with(status="MERGED"), "gerrit").merged_as == REVISION


def test_a_branch_is_named_without_refs_heads() -> None:
    assert change_from(change_with(branch="refs/heads/perf/one"), "gerrit").branch == "perf/one"
    assert change_from(change_with(branch="refs/meta/config"), "gerrit").branch == "refs/meta/config"


def test_fractions_of_a_second_are_kept() -> None:
    change = change_from(change_with(updated="2026-11-21 00:14:32.661000000"), "gerrit")
    assert change.updated.isoformat() == "2026-11-21T00:14:32.661000+00:00"


def test_a_merge_and_a_root_commit_have_their_parents() -> None:
    document = change_with()
    commit = document["revisions"][REVISION]["commit"]
    commit["parents"] = [{"commit": "a" * 40}, {"commit": "b" * 40}]
    assert change_from(document, "gerrit").current.parents == ("a" * 40, "b" * 40)
    commit["parents"] = []
    assert change_from(document, "gerrit").current.parents == ()


@pytest.mark.parametrize(
    "key", ["_number", "project", "branch", "status", "updated", "current_revision", "revisions"]
)
@pytest.mark.parametrize("value", [None, "", [], -1, True, 10**400])
def test_an_error_names_the_missing_value(key: str, value: object) -> None:
    with pytest.raises(Permanent, match="Gerrit sends no"):
        change_from(change_with(**{key: value}), "gerrit")


@pytest.mark.parametrize("document", [None, [], "text", 7, {}])
def test_a_document_other_than_a_change_is_permanent(document: object) -> None:
    with pytest.raises(Permanent):
        change_from(document, "gerrit")
    assert change_number(document) is None


@pytest.mark.parametrize("hostile", [None, {}, 1e999, "\ud800\0", -1, True, 10**400])
def test_a_field_of_the_wrong_type_does_not_affect_others(hostile: object) -> None:
    document = change_with(subject=hostile, owner=hostile, change_id=hostile, labels=hostile)
    shown = document["revisions"][REVISION]
    shown |= {"ref": hostile, "kind": hostile, "uploader": hostile}
    shown["commit"] |= {"author": hostile, "message": hostile}
    change = change_from(document, "gerrit")
    assert change.votes == {}
    assert "\0" not in change.subject
    f"{change.subject}{change.message}".encode()


def test_a_missing_ref_follows_the_convention() -> None:
    document = change_with()
    del document["revisions"][REVISION]["ref"]
    assert change_from(document, "gerrit").current.ref == "refs/changes/01/1/1"


def test_the_servers_own_message_has_no_author() -> None:
    (message,) = messages_from([{key: MESSAGE[key] for key in ("id", "date", "message")}])
    assert (message.author, message.patch_set) == (Person(), 0)


def test_messages_are_sorted_by_time() -> None:
    later = MESSAGE | {"id": "later", "date": "2026-11-21 00:14:16.000000001"}
    earlier = MESSAGE | {"id": "earlier", "date": "2026-11-21 00:14:15.999999999"}
    found = [message.id for message in messages_from([MESSAGE, later, earlier])]
    assert found == ["earlier", MESSAGE["id"], "later"]


@pytest.mark.parametrize("key", ["id", "date"])
def test_a_message_without_an_identity_is_permanent(key: str) -> None:
    with pytest.raises(Permanent, match=key):
        messages_from([MESSAGE | {key: None}])


def test_people_in_a_message_are_shown_by_name_and_address() -> None:
    removed = MESSAGE | {
        "message": "Removed Verified-1 by <GERRIT_ACCOUNT_1000001>\n",
        "accounts_in_message": [
            {"_account_id": 1000001, "name": "Build Bot", "email": "buildbot@example.com"},
        ],
    }
    assert messages_from([removed])[0].text == "Removed Verified-1 by Build Bot <buildbot@example.com>\n"


def test_a_name_cannot_add_a_line_to_a_message() -> None:
    named = {"_account_id": 5, "name": "X\noverride MB-1 mine"}
    message = MESSAGE | {"message": "Removed by <GERRIT_ACCOUNT_5>", "accounts_in_message": [named]}
    assert messages_from([message])[0].text == "Removed by X override MB-1 mine"


def test_an_unknown_account_in_a_message_stays_unchanged() -> None:
    message = MESSAGE | {"message": "Removed by <GERRIT_ACCOUNT_5>"}
    assert messages_from([message])[0].text == "Removed by <GERRIT_ACCOUNT_5>"


def test_replies_of_one_message_are_joined_in_order() -> None:
    comments = [
        {"change_message_id": "m", "updated": "2026-11-21 00:14:20.000000000", "message": "second"},
        {"change_message_id": "n", "updated": "2026-11-21 00:14:19.000000000", "message": "other"},
        {"change_message_id": "m", "updated": "2026-11-21 00:14:18.000000000", "message": "first"},
    ]
    assert replies_from({"/PATCHSET_LEVEL": comments, "a.cc": comments}) == {
        "m": "first\n\nsecond",
        "n": "other",
    }


def test_comments_on_files_are_listed_each_by_its_id() -> None:
    comments = {
        "/PATCHSET_LEVEL": [{"id": "0", "change_message_id": "m", "message": "on no file"}],
        "/COMMIT_MSG": [{"id": "1", "change_message_id": "m", "message": "typo"}],
        "a.cc": [
            {"id": "2", "change_message_id": "n", "message": "> recheck"},
            {"id": "3", "change_message_id": "m", "line": 4, "message": "recheck"},
        ],
    }
    assert inline_comments_from(comments) == {
        "m": [("1", "typo"), ("3", "recheck")],
        "n": [("2", "> recheck")],
    }


@pytest.mark.parametrize("item", [{"change_message_id": "m", "message": "no id"}, {"id": "1"}])
def test_a_comment_without_an_id_or_a_message_is_skipped(item: dict[str, object]) -> None:
    assert inline_comments_from({"a.cc": [item]}) == {}


@pytest.mark.parametrize("document", [{}, [], None, {"labels": None}, {"labels": {"Verified": "+1"}}])
def test_a_response_without_labels_sets_none(document: object) -> None:
    assert labels_from(document) == {}


@pytest.mark.parametrize("document", [{}, {"_account_id": "1"}, {"_account_id": True}, []])
def test_an_account_without_an_id_is_permanent(document: object) -> None:
    with pytest.raises(Permanent, match="_account_id"):
        account_from(document)
