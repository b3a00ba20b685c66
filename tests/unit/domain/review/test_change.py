from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.domain.review.change import Person, PostedMessage, Review
from service.domain.values.identity import ChangeKey

KEY = ChangeKey("gerrit", 7)
MESSAGE = PostedMessage("m", 1, Person("Benchgate"), datetime(2026, 3, 2, tzinfo=UTC), "")


def test_the_marker_of_a_review_is_its_last_line() -> None:
    assert Review(KEY, "1" * 40, "Build Successful \n\nhttps://bench.example.com/runs/1#v1").marker == (
        "https://bench.example.com/runs/1#v1"
    )


@pytest.mark.parametrize(
    "message", ["", "\n", "text\n", "text\n ", "text\nlink ", "text\nlink\r", "text\na\x0bb"]
)
def test_a_review_that_its_last_line_cannot_identify_is_refused(message: str) -> None:
    """A blank line, for example, is in most messages, so that each would count as this review."""
    with pytest.raises(ValueError, match="the last line of a review's message must identify it"):
        Review(KEY, "1" * 40, message)


LINK = "https://bench.example.com/runs/1#v1"


@pytest.mark.parametrize("ending", [LINK, f"Other ways:\n\n{LINK}", f"Other ways: {LINK}"])
def test_a_note_comes_before_the_link_and_its_words(ending: str) -> None:
    """An earlier version wrote the words and the link into one line."""
    review = Review(KEY, "1" * 40, f"Build Failed \n\nNext: do it\n\n{ending}")
    assert review.marker == LINK
    assert review.with_note("no vote") == f"Build Failed \n\nNext: do it\n\nno vote\n\n{ending}"


def test_a_posted_message_is_recognised_by_its_link_in_either_form() -> None:
    for ending in (LINK, f"Other ways: {LINK}"):
        assert replace(MESSAGE, text=f"Build Failed\n\n{ending}").is_marked(LINK)
        assert not replace(MESSAGE, text=f"Build Failed\n\n{ending}1").is_marked(LINK)
