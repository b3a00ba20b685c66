from __future__ import annotations

import pytest

from service.domain.review.change import Review
from service.domain.values.identity import ChangeKey

KEY = ChangeKey("gerrit", 7)


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
