from __future__ import annotations

from service.domain.wording import delivery


def test_each_note_names_its_label() -> None:
    assert delivery.withheld("Verified") == "not cast again because a person removed it: Verified"
    assert delivery.not_granted("Verified") == "label not granted: Verified"


def test_a_forbidden_vote_names_the_missing_right_and_the_remedy() -> None:
    right = delivery.missing_right({"Verified": -1}, "kv", "master")

    assert right == "no right to vote Verified-1 on kv, branch master"
    assert delivery.not_allowed(right) == (
        "This message has no vote: Benchgate's account has no right to vote Verified-1 on kv, branch master. "
        "An administrator of the review server can grant it; write `recheck all` after that."
    )


def test_the_report_of_rejected_votes_names_each_with_its_sign() -> None:
    assert delivery.rejected_votes({"Perf": 1, "Verified": -1}) == (
        "The review server rejected the vote Perf+1, Verified-1: this project has no such label or value, "
        "or Benchgate's account has no permission to use it."
    )


def test_the_message_about_a_vote_taken_back_names_the_newer_patch_set() -> None:
    assert delivery.taken_back(2) == (
        "Vote taken back: patch set 2 appeared while it was posted, and gets a vote of its own."
    )
