"""Sentences that ask a person about known failures."""

from __future__ import annotations

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import LookAlike
from service.domain.wording.known_failures import may_be_known, to_be_compared

NODE = Failure(FailureKind.TEST, "ep.node", "no answer from node 3")


def test_both_texts_are_shown_with_the_command_that_counts_the_match() -> None:
    assert may_be_known([LookAlike("linux", NODE, "MB-7", "no answer from node N")]) == (
        "ep.node may be known as MB-7, and counts. If both texts mean the same: `override linux MB-7 REASON`",
        "known: no answer from node N",
        "here: no answer from node 3",
    )


def test_the_command_names_the_other_failures_that_it_passes() -> None:
    (question, *_) = may_be_known([LookAlike("linux", NODE, "MB-7", "no answer", ("ep.x", "a", "b", "c"))])
    assert question.endswith(
        "If both texts mean the same: `override linux MB-7 REASON`, which also passes ep.x, a, b and 1 more"
    )


def test_a_flood_of_them_is_counted() -> None:
    found = [LookAlike("linux", NODE, "MB-7", "no answer from node N")] * 5
    lines = may_be_known(found)
    assert len(lines) == 7
    assert lines[-1] == "3 more may be known"


def test_a_long_text_is_cut() -> None:
    long = LookAlike("linux", Failure(FailureKind.TEST, "t", "x " * 500), "MB-7", "y " * 500)
    assert all(len(line) <= 220 for line in may_be_known([long]))


def test_the_reply_says_which_known_failures_are_compared() -> None:
    assert to_be_compared(1, 1).startswith("it is too vague")
    assert to_be_compared(2, 2).startswith("they are too vague")
    assert to_be_compared(2, 3).startswith("2 of them are too vague")
