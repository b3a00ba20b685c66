"""Requests to Gerrit and its responses, as recorded from a Gerrit 3.13."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from service.adapters.review.gerrit.connection import GerritConnection
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.review.change import ChangeStatus, InlineComment, Person, Review
from service.domain.values.errors import BenchgateError, NotFound, Permanent, Refused
from service.domain.values.identity import ChangeKey

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
REVISION = "e56acc924a4bc8aa0b1a93f480297040f1a91e7b"
ONE = ChangeKey("gerrit", 1)
ALICE = Person("Alice Author", "alice@example.com", "alice", "1000002")


def recorded(name: str) -> httpx.Response:
    """The response in a sample, byte for byte."""
    head, _, body = (SAMPLES / f"rest-{name}.http").read_text().partition("\n\n")[2].partition("\n\n")
    status, *lines = head.splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    return httpx.Response(int(status.split()[1]), headers=headers, content=body.encode())


def answer(document: object) -> httpx.Response:
    return httpx.Response(200, content=b")]}'\n" + json.dumps(document).encode())


class Replay:
    """A Gerrit that sends responses in a given order and keeps the requests."""

    def __init__(self, *answers: httpx.Response, projects: tuple[str, ...] = ()) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)
        self.server = GerritReview(
            "gerrit",
            "https://gerrit.example.com/r/",
            Password("buildbot", "secret"),
            projects=projects,
            transport=httpx.MockTransport(self._answer),
        )

    @property
    def queries(self) -> list[str]:
        return [request.url.params["q"] for request in self.asked]

    @property
    def posted(self) -> dict[str, Any]:
        document = json.loads(self.asked[-1].content)
        assert isinstance(document, dict)
        return document

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self._answers.pop(0)


def change_document() -> dict[str, Any]:
    """The recorded change 1 with its current revision, commit and labels."""
    document = json.loads(recorded("changes-query-detailed").text.removeprefix(")]}'"))[0]
    assert isinstance(document, dict)
    return document


def test_a_change_is_read_in_full() -> None:
    change = Replay(answer(change_document())).server.change(ONE)
    assert (change.key, change.project, change.branch) == (ONE, "kv_engine", "master")
    assert change.change_id == "Id303c96ca87324abde3d3c0d481f8638069c87e4"
    assert (change.subject, change.status) == ("Speed up the hash table", ChangeStatus.NEW)
    assert change.message == f"Speed up the hash table\n\nChange-Id: {change.change_id}\n"
    assert change.updated == datetime(2026, 11, 21, 0, 14, 18, tzinfo=UTC)
    assert change.owner == ALICE
    assert (change.is_wip, change.is_private, change.merged_as) == (False, False, None)
    assert change.votes == {"Code-Review": {"1000002": 1}, "Verified": {"1000001": -1}}


@pytest.mark.parametrize(("projects", "is_served"), [((), True), (("kv_engine",), True), (("docs",), False)])
def test_a_change_of_an_unserved_project_does_not_exist(
    projects: tuple[str, ...], *, is_served: bool
) -> None:
    named = Replay(answer(change_document()), projects=projects)
    listed = Replay(answer([change_document()]), projects=projects)

    assert [change.key for change in listed.server.changes_since(None)] == [ONE] * is_served
    if is_served:
        assert named.server.change(ONE).project == "kv_engine"
    else:
        with pytest.raises(NotFound, match="project kv_engine of change 1 is not served"):
            named.server.change(ONE)


def test_author_and_uploader_of_a_patch_set_are_distinct() -> None:
    current = Replay(answer(change_document())).server.change(ONE).current
    assert (current.number, current.revision, current.kind) == (1, REVISION, "REWORK")
    assert current.ref == "refs/changes/01/1/1"
    assert current.parents == ("2f52a35afa6ecd455514f412f29dff47e905f036",)
    assert current.author == Person("Alice Author", "alice@example.com")
    assert current.uploader == ALICE


def test_a_change_is_requested_once_by_its_number() -> None:
    replay = Replay(answer(change_document()))
    replay.server.change(ONE)
    (request,) = replay.asked
    assert (request.method, request.url.path) == ("GET", "/r/a/changes/1")
    options = {"CURRENT_REVISION", "CURRENT_COMMIT", "DETAILED_LABELS", "DETAILED_ACCOUNTS"}
    assert set(request.url.params.get_list("o")) == options


def test_the_account_is_requested_once() -> None:
    replay = Replay(recorded("account-self"))
    assert [replay.server.account, replay.server.account] == ["1000001", "1000001"]
    assert [request.url.path for request in replay.asked] == ["/r/a/accounts/self"]


def test_the_servers_clock_is_read_from_a_new_response_each_time() -> None:
    replay = Replay(recorded("account-self"), recorded("account-self"))
    assert replay.server.now() == replay.server.now() == datetime(2026, 11, 21, 0, 14, 44, tzinfo=UTC)
    assert len(replay.asked) == 2


def test_without_a_time_all_open_changes_are_requested() -> None:
    replay = Replay(recorded("changes-query-detailed"))
    assert [change.key for change in replay.server.changes_since(None)] == [ONE]
    assert replay.queries == ["status:open"]


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5))])
def test_a_time_is_sent_in_whole_seconds_of_utc_and_one_second_earlier(zone: timezone) -> None:
    replay = Replay(recorded("changes-query-detailed"))
    moment = datetime(2026, 11, 21, 0, 14, 18, 999999, tzinfo=UTC).astimezone(zone)
    assert [change.key for change in replay.server.changes_since(moment)] == [ONE]
    assert replay.queries == ['after:"2026-11-21 00:14:17"']


def test_only_changes_of_the_given_projects_are_requested() -> None:
    replay = Replay(answer([]), projects=("kv_engine", "tools/big tests"))
    assert not list(replay.server.changes_since(None))
    assert replay.queries == ['status:open (project:"kv_engine" OR project:"tools/big tests")']


@pytest.mark.parametrize("name", ["", 'a" OR status:"merged', "a\\", "a\nb"])
def test_a_project_name_that_would_break_the_query_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="project"):
        Replay(projects=(name,))


def test_all_pages_are_read_and_an_unreadable_change_is_skipped() -> None:
    replay = Replay(recorded("changes-query-more-changes"), recorded("changes-query-detailed"))
    with structlog.testing.capture_logs() as logs:
        assert [change.key for change in replay.server.changes_since(None)] == [ONE]
    assert [request.url.params["S"] for request in replay.asked] == ["0", "1"]
    assert [(log["event"], log["change"]) for log in logs] == [("gerrit.change_unreadable", 2)]
    assert "commit" in logs[0]["reason"]


def test_a_change_on_two_pages_is_listed_once() -> None:
    first, second = change_document(), change_document()
    first["_more_changes"] = True
    second["_number"] = 2
    replay = Replay(answer([first]), answer([change_document(), second]))
    assert [change.key.number for change in replay.server.changes_since(None)] == [1, 2]


def test_a_page_without_a_new_change_ends_the_list() -> None:
    endless = change_document() | {"_more_changes": True}
    replay = Replay(*(answer([endless]) for _ in range(3)))
    assert len(list(replay.server.changes_since(None))) == 1
    assert len(replay.asked) == 2


def test_messages_are_read_oldest_first_with_their_authors() -> None:
    replay = Replay(recorded("messages"))
    uploaded, voted = replay.server.messages(ONE)
    assert (uploaded.shown, uploaded.author) == ("Uploaded patch set 1: Code-Review+1.", ALICE)
    assert (voted.id, voted.patch_set) == ("9ecf388c605142c353e6b4dc6100dfa9160e2ba5", 1)
    assert voted.shown == "Patch Set 1: Verified-1\n\nPerformance regression: get_p99 +12.3%"
    assert voted.written == datetime(2026, 11, 21, 0, 14, 18, tzinfo=UTC)
    assert (voted.author.account, voted.author.is_service) == ("1000001", True)
    assert (uploaded.is_by_machine, voted.is_by_machine) == (True, True)
    assert [request.url.path for request in replay.asked] == ["/r/a/changes/1/messages"]


def reply(text: str, tag: str = "", patch_set: int = 1) -> httpx.Response:
    """The messages of a change; one was posted with a comment."""
    message = {
        "id": "61a95997fccaad255edcc70201a659864dac4ca8",
        "author": {"_account_id": 1000003},
        "tag": tag,
        "date": "2026-11-21 00:14:19.000000000",
        "message": text,
        "_revision_number": patch_set,
    }
    return answer([message])


def test_an_inline_comment_is_not_a_part_of_its_message_so_stored_messages_stay_known() -> None:
    replay = Replay(reply("Patch Set 1: Code-Review+1\n\n(1 comment)\n\nretest please"), recorded("comments"))
    message, inline = replay.server.messages(ONE)
    assert message.shown == "Patch Set 1: Code-Review+1\n\n(1 comment)\n\nretest please"
    assert (inline.id, inline.text, inline.is_inline) == ("7a266f8c_06f3b16f", "why int?", True)
    assert (inline.author, inline.written) == (message.author, message.written)


def test_an_inline_comment_belongs_to_the_patch_set_that_was_replied_on() -> None:
    """A reply in a thread on an older patch set is shown on the current one."""
    there = json.loads(recorded("comments").text.removeprefix(")]}'"))["hash_table.cc"][0]
    document = {"hash_table.cc": [there | {"message": "recheck", "patch_set": 1}]}
    replay = Replay(reply("Patch Set 3:\n\n(1 comment)", patch_set=3), answer(document))
    assert [(each.patch_set, each.text) for each in replay.server.messages(ONE)] == [(3, ""), (3, "recheck")]


def test_a_program_that_comments_on_lines_says_nothing() -> None:
    by_program = reply("Patch Set 1:\n\n(1 comment)", tag="autogenerated:lint")
    by_person = json.loads(reply("Patch Set 1:\n\n(1 comment)").text.removeprefix(")]}'"))
    both = [*json.loads(by_program.text.removeprefix(")]}'")), by_person[0] | {"id": "other"}]
    replay = Replay(answer(both), recorded("comments"))
    assert not any(message.is_inline for message in replay.server.messages(ONE))


def test_a_reply_on_gerrits_pages_is_read_from_its_comment() -> None:
    comments = json.loads(recorded("comments").text.removeprefix(")]}'"))
    on_all = [comments["hash_table.cc"][0] | {"message": "recheck all"}]
    replay = Replay(reply("Patch Set 1:\n\n(1 comment)"), answer({"/PATCHSET_LEVEL": on_all}))
    (message,) = replay.server.messages(ONE)
    assert message.shown == "Patch Set 1:\n\n(1 comment)\n\nrecheck all"


def test_comments_of_programs_need_no_second_request() -> None:
    replay = Replay(reply("Patch Set 1:\n\n(3 comments)\n\nBuild Failed", tag="autogenerated:benchgate"))
    assert len(replay.server.messages(ONE)) == 1
    assert len(replay.asked) == 1


def test_a_review_is_posted_on_exactly_its_revision() -> None:
    replay = Replay(recorded("review-verified-minus1"))
    review = Review(ONE, REVISION, "Build Failed", {"Verified": -1})
    assert replay.server.post(review).labels == {"Verified": -1}
    assert replay.asked[0].method == "POST"
    assert replay.asked[0].url.path == f"/r/a/changes/1/revisions/{REVISION}/review"
    assert replay.posted == {
        "message": "Build Failed",
        "labels": {"Verified": -1},
        "tag": "autogenerated:benchgate",
        "omit_duplicate_comments": True,
    }


def test_a_message_without_a_vote_sends_no_label() -> None:
    replay = Replay(recorded("comment-on-merged"))
    assert replay.server.post(Review(ONE, REVISION, "late note")).labels == {}
    assert "labels" not in replay.posted
    assert "notify" not in replay.posted


def test_nobody_is_notified_of_a_silent_review() -> None:
    replay = Replay(recorded("comment-on-merged"))
    replay.server.post(Review(ONE, REVISION, "explained", is_silent=True))
    assert replay.posted["notify"] == "NONE"


def test_inline_comments_are_grouped_by_file_and_unresolved() -> None:
    replay = Replay(recorded("review-verified-minus1"))
    remarks = [("a.cc", 1, "one"), ("b.cc", 2, "two"), ("a.cc", 3, "three")]
    comments = tuple(InlineComment(path, line, text) for path, line, text in remarks)
    replay.server.post(Review(ONE, REVISION, "lint", {}, comments))
    assert replay.posted["comments"] == {
        "a.cc": [
            {"line": 1, "message": "one", "unresolved": True},
            {"line": 3, "message": "three", "unresolved": True},
        ],
        "b.cc": [{"line": 2, "message": "two", "unresolved": True}],
    }


def test_an_explanation_is_posted_with_its_comment_and_nobody_is_notified() -> None:
    replay = Replay(recorded("comment-on-merged"))
    comment = InlineComment(
        "hash_table.cc", 7, "perf: a benchmark is slower: more branch misses here, in find"
    )
    replay.server.post(Review(ONE, REVISION, "explained", {}, (comment,), is_silent=True))
    assert replay.posted == {
        "message": "explained",
        "comments": {"hash_table.cc": [{"line": 7, "message": comment.text, "unresolved": True}]},
        "notify": "NONE",
        "tag": "autogenerated:benchgate",
        "omit_duplicate_comments": True,
    }


REFUSED = "error-400-comment-on-another-file"
REMARKS = tuple(InlineComment(path, 1, "perf: error: no") for path in ("hash_table.cc", "another.cc"))


def test_a_rejected_comment_costs_neither_the_vote_nor_the_other_comments() -> None:
    replay = Replay(recorded(REFUSED), recorded("files"), recorded("review-verified-minus1"))
    assert replay.server.post(Review(ONE, REVISION, "Build Failed", {"Verified": -1}, REMARKS)).labels == {
        "Verified": -1
    }
    assert [(request.method, request.url.path.rpartition("/")[2]) for request in replay.asked] == [
        ("POST", "review"),
        ("GET", "files"),
        ("POST", "review"),
    ]
    assert set(replay.posted["comments"]) == {"hash_table.cc"}
    assert replay.posted["labels"] == {"Verified": -1}


@pytest.mark.parametrize(
    "answers",
    [
        (recorded("files"), recorded(REFUSED)),
        (answer({"/COMMIT_MSG": {}}),),
        (answer({"hash_table.cc": {}, "another.cc": {}}),),
        (answer([]),),
        (recorded("error-404-revision"),),
        (httpx.Response(503),),
        (httpx.Response(200, text="<html>"),),
    ],
)
def test_if_comments_are_rejected_again_the_vote_is_cast_without_them(
    answers: tuple[httpx.Response, ...],
) -> None:
    replay = Replay(recorded(REFUSED), *answers, recorded("review-verified-minus1"))
    review = Review(ONE, REVISION, "Build Failed", {"Verified": -1}, REMARKS)
    assert replay.server.post(review).labels == {"Verified": -1}
    assert "comments" not in replay.posted
    assert replay.posted["message"] == "Build Failed"


def test_a_review_also_rejected_without_comments_fails() -> None:
    closed = recorded("error-vote-on-abandoned")
    replay = Replay(closed, answer({}), closed)
    with pytest.raises(Permanent, match="409: change is closed"):
        replay.server.post(Review(ONE, REVISION, "Build Failed", {"Verified": -1}, REMARKS))


def test_a_rejected_review_without_comments_fails_at_once() -> None:
    replay = Replay(recorded("error-vote-on-abandoned"))
    with pytest.raises(Permanent):
        replay.server.post(Review(ONE, REVISION, "Build Failed", {"Verified": -1}))


def test_text_with_lone_surrogates_is_posted() -> None:
    replay = Replay(recorded("comment-on-merged"))
    replay.server.post(Review(ONE, REVISION, "half a pair: \ud800 ≥ 1 %"))
    assert replay.posted["message"].endswith("≥ 1 %")


@pytest.mark.parametrize("revision", ["current", "1", "", "../../2/revisions/" + REVISION, REVISION.upper()])
def test_a_revision_must_be_a_full_commit_id(revision: str) -> None:
    replay = Replay()
    with pytest.raises(NotFound):
        replay.server.post(Review(ONE, revision, "text"))
    assert not replay.asked


@pytest.mark.parametrize(
    ("sample", "granted"),
    [
        ("vote-on-old-patchset", {"Verified": 1}),
        ("vote-unknown-label-ignored", {}),
        ("vote-out-of-range-ignored", {}),
    ],
)
def test_the_labels_in_gerrits_response_are_returned(sample: str, granted: dict[str, int]) -> None:
    assert (
        Replay(recorded(sample)).server.post(Review(ONE, REVISION, "text", {"Verified": 1})).labels == granted
    )


@pytest.mark.parametrize(
    ("sample", "error", "text"),
    [
        ("vote-on-merged", Permanent, "409: Cannot reduce vote on labels for closed change: Verified"),
        ("error-vote-on-abandoned", Permanent, "409: change is closed"),
        ("error-404-revision", NotFound, "404: Not found: deadbeef"),
        ("error-404-change", NotFound, "404: Not found: 999999"),
        ("error-403-vote-not-permitted", Refused, '403: Applying label "Verified": 1 is restricted'),
        ("error-401-bad-password", Refused, "401: Unauthorized"),
    ],
)
def test_a_rejection_has_gerrits_message(sample: str, error: type[BenchgateError], text: str) -> None:
    with pytest.raises(BenchgateError) as raised:
        Replay(recorded(sample)).server.post(Review(ONE, REVISION, "text", {"Verified": 1}))
    assert type(raised.value).__mro__.index(error) <= 1
    assert str(raised.value) == f"Gerrit answers {text}"


def test_a_change_of_another_server_is_not_requested() -> None:
    replay = Replay()
    for ask in (replay.server.change, replay.server.messages):
        with pytest.raises(NotFound, match="another"):
            ask(ChangeKey("another", 1))
    assert not replay.asked


def test_members_of_included_groups_are_requested() -> None:
    replay = Replay(answer([{"_account_id": 1000002}, {"_account_id": 1000003}]))
    assert replay.server.is_member("1000003", "Perf Owners/C++")
    assert replay.asked[0].url.raw_path == b"/r/a/groups/Perf%20Owners%2FC%2B%2B/members/?recursive"


@pytest.mark.parametrize("account", ["100000", "", "1000004"])
def test_an_unlisted_account_is_not_a_member(account: str) -> None:
    assert not Replay(answer([{"_account_id": 1000003}])).server.is_member(account, "owners")


@pytest.mark.parametrize(
    "response",
    [
        recorded("error-404-change"),
        recorded("error-403-vote-not-permitted"),
        httpx.Response(405, headers={"Content-Type": "text/plain"}, text="not a Gerrit internal group"),
        answer({"owners": {}}),
        answer([{"name": "no account"}]),
        httpx.Response(200, content=b" " * (GerritConnection.max_bytes + 1)),
    ],
)
def test_a_group_that_cannot_be_read_raises_an_error(response: httpx.Response) -> None:
    with pytest.raises(Permanent, match="group owners cannot be read: "):
        Replay(response).server.is_member("1000003", "owners")


def test_rejected_credentials_are_not_a_group_error() -> None:
    with pytest.raises(Refused):
        Replay(recorded("error-401-bad-password")).server.is_member("1000003", "owners")
