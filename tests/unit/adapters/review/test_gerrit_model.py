"""Compare the model Gerrit's responses and rules with a recorded real one."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.review.change import InlineComment, Review
from service.domain.values.errors import NotFound, Permanent, Refused, Transient
from service.domain.values.identity import ChangeKey
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
FIRST, SECOND = "1" * 40, "2" * 40
KEY = ChangeKey("gerrit", 1)
OPTIONS = "o=CURRENT_REVISION&o=CURRENT_COMMIT&o=DETAILED_LABELS&o=DETAILED_ACCOUNTS"


@pytest.fixture
def model() -> GerritModel:
    return GerritModel()


@pytest.fixture
def server(model: GerritModel) -> GerritReview:
    return GerritReview("gerrit", URL, Password("buildbot", SECRET), transport=model.transport)


def test_an_existing_change_is_found_by_its_project_although_the_index_lacks_it(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST, project="kv/engine")
    model.unindexed.add(1)
    with pytest.raises(NotFound):
        server.change(KEY)
    key = ChangeKey("gerrit", 1, "kv/engine")
    assert server.change(key).key.project == "kv/engine"
    assert server.post(Review(key, FIRST, "text", {"Verified": 1})).labels == {"Verified": 1}
    assert server.messages(key)[-1].text == "text"


def test_a_change_is_missing_only_if_its_number_does_not_find_it_either(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST, project="new")
    renamed = ChangeKey("gerrit", 1, "old")
    assert server.change(renamed).key.project == "new"
    model.delete(1)
    with pytest.raises(NotFound):
        server.change(renamed)


def send(
    model: GerritModel, method: str, path: str, document: object = None, by: str = "buildbot"
) -> httpx.Response:
    with httpx.Client(transport=model.transport, auth=(by, SECRET)) as client:
        return client.request(method, f"{URL}/a/{path}", json=document)


def recorded(name: str) -> str:
    return (SAMPLES / f"rest-{name}.http").read_text().partition("\n\n")[2]


def misfits(model: Any, sample: Any, path: str = "") -> list[str]:  # noqa: ANN401 - JSON
    """List the places at which a document of the model differs from the recorded one."""
    if isinstance(model, dict) and isinstance(sample, dict):
        known = {unnamed(key): value for key, value in sample.items()}
        found = [f"{path}.{key}" for key in model if unnamed(key) not in known]
        for key in (key for key in model if unnamed(key) in known):
            found += misfits(model[key], known[unnamed(key)], f"{path}.{key}")
        return found
    if isinstance(model, list) and isinstance(sample, list):
        # An item matches if it matches any recorded item.
        attempts = [[misfits(item, known, f"{path}[]") for known in sample] for item in model if sample]
        return [misfit for attempt in attempts for misfit in min(attempt, key=len)]
    return [] if kind(model) == kind(sample) else [f"{path}: {model!r}, not {sample!r}"]


def unnamed(key: str) -> str:
    """A key that is the same for every revision."""
    return re.sub("[0-9a-f]{40}", "<revision>", key)


def kind(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{9}", value):
        return "date"
    return type(value).__name__


@pytest.mark.parametrize(
    ("method", "path", "document", "sample"),
    [
        ("GET", "accounts/self", None, "account-self"),
        ("GET", f"changes/?q=status:open&{OPTIONS}", None, "changes-query-detailed"),
        ("GET", "changes/?q=status:open&n=1&o=CURRENT_REVISION", None, "changes-query-more-changes"),
        ("GET", "changes/1/messages", None, "messages"),
        ("GET", "changes/1/comments", None, "comments"),
        ("GET", f"changes/1/revisions/{FIRST}/files", None, "files"),
        (
            "POST",
            f"changes/1/revisions/{FIRST}/review",
            {"message": "text", "labels": {"Verified": -1}},
            "review-verified-minus1",
        ),
        ("POST", f"changes/1/revisions/{FIRST}/review", {"message": "text"}, "comment-on-merged"),
        (
            "POST",
            f"changes/1/revisions/{FIRST}/review",
            {"labels": {"Nope": 1}},
            "vote-unknown-label-ignored",
        ),
    ],
)
def test_a_response_has_the_recorded_shape(
    model: GerritModel, method: str, path: str, document: object, sample: str
) -> None:
    model.upload(2, SECOND)
    model.upload(1, FIRST)
    model.files[FIRST] = {"hash_table.cc"}
    asked = {"message": "hm", "comments": {"hash_table.cc": [{"line": 1, "message": "why int?"}]}}
    send(model, "POST", f"changes/1/revisions/{FIRST}/review", asked, by="bob")
    response = send(model, method, path, document)
    _, _, body = recorded(sample).partition("\n\n")
    assert response.text.startswith(")]}'\n")
    known = json.loads(body.removeprefix(")]}'"))
    assert misfits(json.loads(response.text.removeprefix(")]}'")), known) == []
    assert response.headers["Content-Type"] == "application/json;charset=utf-8"


@pytest.mark.parametrize(
    ("sample", "revision"),
    [("error-404-revision", "deadbeef"), ("error-vote-on-abandoned", SECOND), ("vote-on-merged", FIRST)],
)
def test_a_refusal_is_the_recorded_one(model: GerritModel, sample: str, revision: str) -> None:
    model.upload(1, FIRST)
    model.vote(1, "buildbot", "Verified", 1)
    model.merge(1)
    model.upload(2, SECOND)
    model.abandon(2)
    path = f"changes/{1 if revision == FIRST else 2}/revisions/{revision}/review"
    response = send(model, "POST", path, {"labels": {"Verified": -1}, "message": "late -1"})
    head, _, body = recorded(sample).partition("\n\n")
    assert str(response.status_code) in head.splitlines()[0]
    assert response.text == body
    assert response.headers["Content-Type"] == "text/plain;charset=utf-8"


def test_a_comment_on_an_unchanged_file_is_refused_as_recorded(
    model: GerritModel,
) -> None:
    model.upload(4, FIRST)
    model.files[FIRST] = {"hash_table.cc"}
    asked = {"message": "Build Failed", "comments": {"another.cc": [{"line": 1, "message": "no"}]}}
    response = send(model, "POST", f"changes/4/revisions/{FIRST}/review", asked)
    head, _, body = recorded("error-400-comment-on-another-file").partition("\n\n")
    assert str(response.status_code) in head.splitlines()[0]
    assert response.text == body
    assert len(model.changes[4].messages) == 1, "nothing of such a review is applied"


def test_the_vote_is_cast_with_the_comments_that_gerrit_accepts(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST)
    model.files[FIRST] = {"a.cc"}
    remarks = tuple(InlineComment(path, 3, "perf: error: no") for path in ("b.cc", "a.cc"))
    with structlog.testing.capture_logs() as logs:
        assert server.post(Review(KEY, FIRST, "Build Failed", {"Verified": -1}, remarks)).labels == {
            "Verified": -1
        }
    assert set(model.changes[1].comments) == {"a.cc"}
    assert [message.shown for message in server.messages(KEY)][1:] == [
        "Patch Set 1: Verified-1\n\n(1 comment)\n\nBuild Failed"
    ]
    assert [log["reason"] for log in logs] == ["Gerrit answers 400: file b.cc not found in revision 1,1"]


def test_the_vote_is_cast_without_comments_if_gerrit_accepts_none(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST)
    model.files[FIRST] = {"a.cc"}
    remarks = (InlineComment("b.cc", 3, "perf: error: no"),)
    assert server.post(Review(KEY, FIRST, "Build Failed", {"Verified": -1}, remarks)).labels == {
        "Verified": -1
    }
    assert model.changes[1].comments == {}
    assert len(server.messages(KEY)) == 2


def test_commit_and_names_are_sent_only_on_request(model: GerritModel) -> None:
    model.upload(1, FIRST)
    document = json.loads(send(model, "GET", "changes/1?o=CURRENT_REVISION").text.removeprefix(")]}'"))
    assert "labels" not in document
    assert document["owner"] == {"_account_id": 1000002}
    assert "commit" not in document["revisions"][FIRST]


def test_a_query_that_gerrit_would_not_parse_is_refused(model: GerritModel) -> None:
    response = send(model, "GET", "changes/?q=project:%22unclosed")
    assert (response.status_code, response.headers["Content-Type"]) == (400, "text/plain;charset=utf-8")


def test_all_changes_are_listed_with_any_page_size(model: GerritModel, server: GerritReview) -> None:
    for number in range(1, 8):
        model.upload(number, str(number) * 40)
    model.page_limit = 2
    assert {change.key.number for change in server.changes_since(None)} == set(range(1, 8))
    assert len(model.requests) == 4


def test_changes_of_other_projects_are_left_out(model: GerritModel) -> None:
    for number, project in enumerate(("kv_engine", "docs", "tools/big tests"), start=1):
        model.upload(number, str(number) * 40, project=project)
    server = GerritReview(
        "gerrit",
        URL,
        Password("buildbot", SECRET),
        projects=("docs", "tools/big tests"),
        transport=model.transport,
    )
    assert {change.project for change in server.changes_since(None)} == {"docs", "tools/big tests"}
    assert len(list(server.changes_since(model.now - timedelta(seconds=1)))) == 2


@pytest.mark.parametrize("place", [1, 3, 5])
def test_an_overlong_change_hides_no_other_change(
    model: GerritModel, server: GerritReview, place: int
) -> None:
    for number in range(1, 6):
        message = "x" * (9 << 20) if number == place else "short"
        model.upload(number, str(number) * 40, message=message)
    with structlog.testing.capture_logs() as logs:
        found = [change.key.number for change in server.changes_since(None)]
    assert sorted(found) == [number for number in range(1, 6) if number != place]
    assert [log["event"] for log in logs] == ["gerrit.change_overlong"]


def test_a_reply_on_gerrits_pages_is_read_with_its_text(model: GerritModel, server: GerritReview) -> None:
    model.upload(1, FIRST)
    reply = model.say(1, "bob", "override MB-37948 known intermittent failure", as_comment=True)
    server.post(Review(KEY, FIRST, "Build Failed", {}, (InlineComment("a.cc", 3, "unused"),)))
    messages = {message.id: message for message in server.messages(KEY)}
    assert (
        messages[reply].shown == "Patch Set 1:\n\n(1 comment)\n\noverride MB-37948 known intermittent failure"
    )
    assert messages[reply].author.account == "1000003"
    assert server.messages(KEY)[-1].shown == "Patch Set 1:\n\n(1 comment)\n\nBuild Failed"


def test_inline_comments_are_added_once(model: GerritModel, server: GerritReview) -> None:
    model.upload(1, FIRST)
    for _ in range(2):
        server.post(Review(KEY, FIRST, "Build Failed", {}, (InlineComment("a.cc", 3, "unused"),)))
    assert len(model.changes[1].comments["a.cc"]) == 1
    assert [message.shown for message in server.messages(KEY)][-1] == "Patch Set 1:\n\nBuild Failed"


def test_the_person_who_removed_a_vote_is_known(model: GerritModel, server: GerritReview) -> None:
    model.upload(1, FIRST)
    server.post(Review(KEY, FIRST, "Build Failed", {"Verified": -1}))
    assert server.change(KEY).votes == {"Verified": {server.account: -1}}
    model.remove_vote(1, "buildbot", "Verified", by="bob")
    removal = server.messages(KEY)[-1]
    assert removal.shown == "Removed Verified-1 by Build Bot <buildbot@example.com>\n"
    assert removal.author.account == "1000003"
    assert server.change(KEY).votes == {}


def test_a_label_without_permission_is_refused_with_gerrits_message(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST)
    model.forbidden.add(("buildbot", "Verified"))
    with pytest.raises(Refused, match='Applying label "Verified": 1 is restricted'):
        server.post(Review(KEY, FIRST, "Build Successful", {"Verified": 1}))
    assert len(server.messages(KEY)) == 1


def test_a_response_can_be_lost_after_the_review_was_applied(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST)
    model.lost_answers = 1
    with pytest.raises(Transient, match="502"):
        server.post(Review(KEY, FIRST, "Build Successful", {"Verified": 1}))
    assert server.messages(KEY)[-1].shown == "Patch Set 1: Verified+1\n\nBuild Successful"


def test_an_outage_ends(model: GerritModel, server: GerritReview) -> None:
    model.upload(1, FIRST)
    model.faults = [httpx.ConnectError("Connection refused"), httpx.Response(503)]
    for _ in range(2):
        with pytest.raises(Transient):
            server.change(KEY)
    assert server.change(KEY).is_open


def test_members_of_a_group_are_known_by_name(model: GerritModel, server: GerritReview) -> None:
    model.groups["Perf Owners/C++"] = {"bob"}
    assert server.is_member("1000003", "Perf Owners/C++")
    assert not server.is_member("1000002", "Perf Owners/C++")
    with pytest.raises(Permanent, match="group Nobody cannot be read"):
        server.is_member("1000003", "Nobody")


def test_a_restored_change_is_open_and_a_deleted_one_is_gone(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(1, FIRST)
    model.abandon(1)
    model.restore(1)
    assert server.change(KEY).is_open
    model.delete(1)
    with pytest.raises(NotFound):
        server.change(KEY)
