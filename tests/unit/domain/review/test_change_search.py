"""Parse searches for changes."""

from __future__ import annotations

import pytest

from service.domain.review.change_search import ChangeSearch, Operator, Term, parse_change_search, written
from service.domain.values.errors import BadInput
from service.domain.values.search import Words


@pytest.mark.parametrize(
    ("text", "words", "terms"),
    [
        ("Hash -Old", Words(("hash",), ("old",)), ()),
        ('owner:"Ann Author" hash', Words(("hash",)), (Term(Operator.OWNER, ("ann author",)),)),
        ("project:K branch:7.6", Words(), (Term(Operator.PROJECT, ("k",)), Term(Operator.BRANCH, ("7.6",)))),
        ("vote:-1 vote:+1", Words(), (Term(Operator.VOTE, ("-1",)), Term(Operator.VOTE, ("1",)))),
        ("-vote:none", Words(), (Term(Operator.VOTE, ("0",), is_wanted=False),)),
        ("is:open", Words(), (Term(Operator.STATUS, ("NEW",)),)),
        ("-is:waiting", Words(), (Term(Operator.WAITS, is_wanted=False),)),
        ("MB-12: std::string https://x", Words(("mb-12:", "std::string", "https://x")), ()),
        ("ownr:ann fix: branch: is::x", Words(("ownr:ann", "fix:", "branch:", "is::x")), ()),
        ('"Owner:ann  B" -"a\\"b" ""', Words(("owner:ann  b",), ('a"b',)), ()),
        ('a"b "c', Words(('a"b', '"c')), ()),
    ],
)  # fmt: skip
def test_words_and_operators_are_separated(text: str, words: Words, terms: tuple[Term, ...]) -> None:
    assert parse_change_search(text) == ChangeSearch(words, terms)


@pytest.mark.parametrize("name", ["ann", "Ann\tB", 'a "b" \\', "a\u00a0b", ":x", "/x", "\\", '"'])
def test_a_written_operator_finds_its_value(name: str) -> None:
    expected = ChangeSearch(terms=(Term(Operator.OWNER, (name.lower(),)),))
    assert parse_change_search(written("owner", name)) == expected


def test_mine_are_changes_of_any_of_the_persons_names() -> None:
    found = parse_change_search("is:mine", ("Ann", "ann@example.com"))
    assert found.terms == (Term(Operator.MINE, ("ann", "ann@example.com")),)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("vote:2", "vote:2", "no such operator; there are owner:, project:, branch:, vote:"),
        ("is:big", "is:big", "is:waiting, is:mine$"),
        ('owner:""', "owner:", "there is no such operator"),
        ("is:mine", "is:mine", "sign in"),
        ("owner:a " * 9, "search", "at most 8 operators"),
    ],
)
def test_a_value_that_an_operator_does_not_have_says_what_there_is(text: str, place: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as error:
        parse_change_search(text)
    assert error.value.where == place
