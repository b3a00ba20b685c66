from __future__ import annotations

import pytest

from service.domain.values.search import Words, parse_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", Words()),
        ("  Push  threads:4 ", Words(("push", "threads:4"))),
        ("push -Mutex", Words(("push",), ("mutex",))),
        ("- --x", Words((), ("-x",))),
        ("a\0b \ud800c", Words(("ab", "c"))),
        ("x" * 10_000, Words(("x" * 200,))),
        (" ".join("abcdefghijklm"), Words(tuple("abcdefgh"))),
    ],
)
def test_words_are_wanted_unless_a_minus_is_before_them(text: str, words: Words) -> None:
    assert parse_words(text) == words


def test_all_wanted_and_no_unwanted_words_must_occur() -> None:
    words = parse_words("push 4 -mutex")
    assert words.matches("BM_Push/threads:4")
    assert not words.matches("BM_Push/threads:8")
    assert not words.matches("BM_PushMutex/threads:4")
