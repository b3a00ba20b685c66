from __future__ import annotations

from dataclasses import replace

from service.domain.review.change import PostedMessage, patch_sets_with_code_of
from service.domain.review.vote_override import lost_votes, not_removed
from tests.support.fakes import FakeReviewServer
from tests.support.review.changes import change_at

CAST = {"Verified": -1}
KEY = change_at(1).key


def messages(*texts: tuple[str, str, int]) -> list[PostedMessage]:
    server = FakeReviewServer()
    return [server.say(KEY, who, text, patch_set) for who, text, patch_set in texts]


VOTED = ("benchgate", "Patch Set 1: Verified-1\n\nBuild Failed", 1)
REMOVED = ("bob", "Removed Verified-1 by Benchgate", 1)


def test_a_vote_that_the_server_does_not_have_is_lost() -> None:
    change = change_at(1)
    assert lost_votes(CAST, change, messages(VOTED), {1}, "benchgate") == CAST
    assert lost_votes(CAST, change, [], {1}, "benchgate") == CAST


def test_a_vote_that_the_server_has_is_not_lost() -> None:
    change = replace(change_at(1), votes={"Verified": {"benchgate": -1}})
    assert lost_votes(CAST, change, messages(VOTED), {1}, "benchgate") == {}


def test_the_vote_of_another_account_is_not_ours() -> None:
    change = replace(change_at(1), votes={"Verified": {"bob": -1}})
    assert lost_votes(CAST, change, messages(VOTED), {1}, "benchgate") == CAST


def test_a_vote_that_a_person_removed_is_not_lost() -> None:
    assert lost_votes(CAST, change_at(1), messages(VOTED, REMOVED), {1}, "benchgate") == {}


def test_a_removal_holds_for_later_patch_sets_with_the_same_code_only() -> None:
    said = messages(VOTED, REMOVED)
    assert not_removed(CAST, said, {2, 1}, "benchgate") == {}
    assert not_removed(CAST, said, {2}, "benchgate") == CAST


def test_a_patch_set_has_the_code_of_equal_ones_directly_before_it() -> None:
    known = [(5, "NO_CODE_CHANGE", "e"), (4, "NO_CHANGE", "d"), (3, "REWORK", "c"), (1, "REWORK", "a")]
    assert patch_sets_with_code_of("e", known) == (5, 4, 3)
    assert patch_sets_with_code_of("c", known) == (3,)
    assert patch_sets_with_code_of("x", known) == ()
    assert patch_sets_with_code_of("c", [(3, "NO_CHANGE", "c"), (1, "REWORK", "a")]) == (3,)
