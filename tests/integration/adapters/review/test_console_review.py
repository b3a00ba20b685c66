"""Replay recorded Gerrit events on the console review server."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.adapters.review.console.review import ConsoleReview
from service.domain.access.caller import LOCAL_EMAIL
from service.domain.review.change import Account, ChangeStatus, Review
from service.domain.values.errors import BadEvent, NotFound, Permanent
from service.domain.values.identity import ChangeKey
from service.steps.review.look_at_change import look_at_change
from service.steps.runs.trust import reason_to_hold
from tests.support.memory.store import MemoryStore

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
FIRST = "e56acc924a4bc8aa0b1a93f480297040f1a91e7b"
SECOND = "85a8763789e6f6878cbc626b6887168009727982"
ONE, TWO = ChangeKey("gerrit", 1), ChangeKey("gerrit", 2)
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def sample(name: str) -> dict[str, Any]:
    document = json.loads((SAMPLES / f"{name}.json").read_text())
    assert isinstance(document, dict)
    return document


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "review.sqlite3"


@pytest.fixture
def review(state: Path) -> ConsoleReview:
    return ConsoleReview(state, "gerrit", "buildbot", now=lambda: NOW)


def replay(review: ConsoleReview, *names: str) -> None:
    for name in names:
        review.apply_event(json.dumps(sample(name)))


@pytest.mark.parametrize("dialect", ["stream", "webhook"])
def test_a_pushed_change_is_stored_completely(review: ConsoleReview, dialect: str) -> None:
    replay(review, f"{dialect}-patchset-created")
    change = review.change(ONE)
    assert (change.project, change.branch, change.subject) == (
        "kv_engine",
        "master",
        "Speed up the hash table",
    )
    assert change.change_id == "Id303c96ca87324abde3d3c0d481f8638069c87e4"
    assert change.message.startswith("Speed up the hash table\n\nChange-Id: ")
    assert change.owner.username == "alice"
    assert change.current.revision == FIRST
    assert change.current.parents == ("2f52a35afa6ecd455514f412f29dff47e905f036",)
    assert (change.current.ref, change.current.kind) == ("refs/changes/01/1/1", "REWORK")
    assert change.current.author.email == "alice@example.com"


def test_the_time_of_an_update_is_that_of_its_arrival(review: ConsoleReview) -> None:
    replay(review, "stream-patchset-created")
    assert review.change(ONE).updated == NOW


def test_a_comment_sets_the_votes_of_its_author(review: ConsoleReview) -> None:
    replay(
        review,
        "stream-patchset-created",
        "stream-comment-added-verified-minus1",
        "stream-comment-added-reviewer",
    )
    assert review.change(ONE).votes == {"Verified": {"buildbot": -1}, "Code-Review": {"bob": 1}}
    message = review.messages(ONE)[0]
    assert (message.patch_set, message.author.account) == (1, "buildbot")
    assert message.shown == "Patch Set 1: Verified-1\n\nPerformance regression: get_p99 +12.3%"


def test_a_recording_that_starts_with_a_comment_creates_the_change(review: ConsoleReview) -> None:
    replay(review, "stream-comment-added-verified-minus1")
    assert review.change(ONE).current.revision == FIRST


def test_a_voters_own_zero_removes_the_vote(review: ConsoleReview) -> None:
    replay(review, "stream-comment-added-verified-minus1", "stream-comment-added-vote-to-zero")
    assert review.change(ONE).votes == {}


@pytest.mark.parametrize("name", ["stream-vote-deleted-by-other", "webhook-vote-deleted"])
def test_a_removed_vote_is_deleted(review: ConsoleReview, name: str) -> None:
    replay(review, "stream-comment-added-verified-minus1", name)
    assert review.change(ONE).votes == {}
    assert review.messages(ONE)[-1].text.startswith("Removed Verified-1 by Build Bot")


def test_a_new_patch_set_clears_the_votes(review: ConsoleReview) -> None:
    replay(
        review,
        "stream-patchset-created",
        "stream-comment-added-verified-minus1",
        "stream-patchset-created-rework",
    )
    assert review.change(ONE).current.revision == SECOND
    assert review.change(ONE).votes == {}


def test_an_event_of_an_older_patch_set_does_not_make_it_current(review: ConsoleReview) -> None:
    replay(review, "stream-patchset-created-rework", "stream-patchset-created")
    assert review.change(ONE).current.revision == SECOND


@pytest.mark.parametrize("dialect", ["stream", "webhook"])
def test_a_merged_change_names_the_commit_on_its_branch(review: ConsoleReview, dialect: str) -> None:
    replay(review, "stream-patchset-created", f"{dialect}-change-merged")
    change = review.change(ONE)
    assert change.status is ChangeStatus.MERGED
    assert change.merged_as == "f8e81fcf30821e268c170402ccb8cc05fa597a85"
    assert change.current.number == 9


def test_an_abandoned_change_can_be_restored(review: ConsoleReview) -> None:
    replay(review, "stream-change-abandoned")
    assert review.change(TWO).status is ChangeStatus.ABANDONED
    replay(review, "stream-change-restored")
    assert review.change(TWO).is_open


def test_a_late_delivery_does_not_reopen_a_merged_change(review: ConsoleReview) -> None:
    replay(review, "stream-change-merged", "webhook-patchset-created")
    assert review.change(ONE).status is ChangeStatus.MERGED


def test_a_change_stops_being_work_in_progress(review: ConsoleReview) -> None:
    replay(review, "stream-wip-state-changed")
    assert review.change(TWO).is_wip
    replay(review, "stream-wip-state-changed-ready")
    assert not review.change(TWO).is_wip


def test_a_private_change_is_marked(review: ConsoleReview) -> None:
    event = sample("stream-patchset-created")
    event["change"]["private"] = True
    review.apply_event(json.dumps(event))
    assert review.change(ONE).is_private


def test_a_deleted_change_does_not_come_back(review: ConsoleReview) -> None:
    created = sample("stream-patchset-created")
    created["change"]["number"] = 3
    review.apply_event(json.dumps(created))
    replay(review, "webhook-change-deleted")
    review.apply_event(json.dumps(created))
    with pytest.raises(NotFound):
        review.change(ChangeKey("gerrit", 3))


@pytest.mark.parametrize(
    "name",
    [
        "stream-ref-updated-change-meta",
        "stream-topic-changed",
        "stream-change-deleted",
    ],
)
def test_events_that_do_not_concern_a_review_are_ignored(review: ConsoleReview, name: str) -> None:
    replay(review, name)
    assert not review.changes_since(None)


def test_an_event_that_arrives_25_times_in_both_forms_counts_once(review: ConsoleReview) -> None:
    for _ in range(25):
        replay(
            review,
            "stream-patchset-created",
            "webhook-patchset-created",
            "stream-comment-added-verified-minus1",
        )
    assert len(review.messages(ONE)) == 1
    assert review.change(ONE).votes == {"Verified": {"buildbot": -1}}


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (("change", "number"), "'number'"),
        (("change",), "'number'"),
        (("patchSet",), "'number'"),
        (("patchSet", "number"), "'number'"),
        (("patchSet", "revision"), "'revision'"),
    ],
)
def test_a_missing_required_key_is_named(review: ConsoleReview, path: tuple[str, ...], named: str) -> None:
    event = sample("stream-patchset-created")
    del (event if len(path) == 1 else event[path[0]])[path[-1]]
    with pytest.raises(BadEvent, match=named):
        review.apply_event(json.dumps(event))


def test_any_other_field_may_be_missing(review: ConsoleReview) -> None:
    event = {
        "type": "patchset-created",
        "change": {"number": 1, "project": "kv_engine", "branch": "master"},
        "patchSet": {"number": 1, "revision": FIRST},
    }
    review.apply_event(json.dumps(event))
    change = review.change(ONE)
    assert (change.current.ref, change.current.parents, change.subject) == ("refs/changes/01/1/1", (), "")


@pytest.mark.parametrize("hostile", [None, [], 1e999, float("nan"), "\ud800\0", {"a": []}, -1, True, 10**400])
def test_fields_of_a_wrong_type_do_no_harm(review: ConsoleReview, hostile: object) -> None:
    def poisoned(value: object, *, keep: frozenset[str]) -> object:
        if not isinstance(value, dict):
            return hostile
        return {k: v if k in keep else poisoned(v, keep=keep) for k, v in value.items()}

    keep = frozenset({"type", "number", "revision", "project", "branch"})
    event = poisoned(sample("stream-comment-added-verified-minus1"), keep=keep)
    assert isinstance(event, dict)
    review.apply_event(json.dumps(event))
    change = review.change(ONE)
    assert "\0" not in change.subject
    change.subject.encode()


def test_a_failed_event_stores_nothing(review: ConsoleReview) -> None:
    event = sample("stream-patchset-created")
    del event["change"]["branch"], event["refName"]
    with pytest.raises(BadEvent, match="'branch'"):
        review.apply_event(json.dumps(event))
    with pytest.raises(NotFound):
        review.change(ONE)


def test_a_posted_vote_has_gerrits_message(review: ConsoleReview) -> None:
    replay(review, "stream-patchset-created")
    for text, vote in (("bad", -1), ("bad again", -1), ("good", 1), ("none", 0)):
        review.post(Review(ONE, FIRST, text, {"Verified": vote}))
    assert [message.shown for message in review.messages(ONE)] == [
        "Patch Set 1: Verified-1\n\nbad",
        "Patch Set 1:\n\nbad again",
        "Patch Set 1: Verified+1\n\ngood",
        "Patch Set 1: -Verified\n\nnone",
    ]
    assert review.change(ONE).votes == {}


def test_a_vote_on_an_outdated_patch_set_does_not_count_on_the_current_one(review: ConsoleReview) -> None:
    replay(review, "stream-patchset-created", "stream-patchset-created-rework")
    review.post(Review(ONE, FIRST, "late", {"Verified": -1}))
    assert review.change(ONE).votes == {}


def test_a_message_longer_than_gerrits_limit_is_refused(review: ConsoleReview) -> None:
    replay(review, "stream-patchset-created")
    with pytest.raises(Permanent, match="16384"):
        review.post(Review(ONE, FIRST, "€" * 6000))


def test_changes_since_lists_later_updates(state: Path) -> None:
    clock = [NOW]
    review = ConsoleReview(state, "gerrit", now=lambda: clock[0])
    replay(review, "stream-patchset-created")
    clock[0] += timedelta(minutes=1)
    replay(review, "stream-change-abandoned")
    assert [change.key for change in review.changes_since(clock[0])] == [TWO]
    assert {change.key for change in review.changes_since(NOW)} == {ONE, TWO}


def test_only_the_user_of_this_machine_has_an_account(review: ConsoleReview) -> None:
    """Every account may override here, so that a person of an identity provider must not have one."""
    assert review.account_of(LOCAL_EMAIL) == Account("local", "local")
    assert review.account_of("bob@example.com") is None


@pytest.mark.parametrize("dialect", ["stream", "webhook"])
def test_the_code_of_every_change_is_trusted(review: ConsoleReview, dialect: str) -> None:
    """Events lack the account IDs that Gerrit uses for the members of a group."""
    replay(review, f"{dialect}-patchset-created")
    change, store = review.change(ONE), MemoryStore()
    look_at_change(store, review, ONE)
    run = store.memory.runs[0]

    assert (change.owner.account, change.current.uploader.account, run.revision) == ("", "", FIRST)
    assert reason_to_hold(store, review, run, None, "committers") == ""
