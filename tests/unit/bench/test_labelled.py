"""Read labelled failure texts, and score their pairs."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from bench.failures.labelled import BLIND, Text, read_texts, score

TEXTS = read_texts()
BLIND_TEXTS = read_texts(BLIND)
SETS = pytest.mark.parametrize("texts", [TEXTS, BLIND_TEXTS], ids=["halves", "blind"])
KINDS = {
    *("test", "sanitizer", "crash", "timeout", "memory", "compile", "link", "configure"),
    *("lint", "format", "command", "configured"),
}


def text(label: str, headline: str = "it failed") -> Text:
    return Text(label, False, "test", "A.B", headline, headline, "log", "/src")  # noqa: FBT003 - a value


def test_the_set_has_more_than_a_hundred_texts_in_each_half() -> None:
    assert min(Counter(text.is_held_out for text in TEXTS).values()) > 100


@SETS
def test_every_label_has_two_different_texts_or_more(texts: tuple[Text, ...]) -> None:
    by_label = defaultdict(set)
    for text in texts:
        by_label[text.label].add((text.raw, text.source))

    assert min(map(len, by_label.values())) >= 2
    assert sum(map(len, by_label.values())) == len(texts)


@SETS
def test_a_family_is_in_one_half(texts: tuple[Text, ...]) -> None:
    halves = defaultdict(set)
    for text in texts:
        halves[text.family].add(text.is_held_out)

    assert {len(half) for half in halves.values()} == {1}


@SETS
def test_one_failure_never_has_two_labels(texts: tuple[Text, ...]) -> None:
    labels = defaultdict(set)
    for text in texts:
        labels[text.kind, text.subject, text.headline].add(text.label)

    assert [names for names in labels.values() if len(names) > 1] == []


def test_the_blind_set_has_more_than_a_hundred_texts_and_no_family_of_a_half() -> None:
    assert len(BLIND_TEXTS) > 100
    assert {text.family for text in BLIND_TEXTS} & {text.family for text in TEXTS} == set()
    assert {text.kind for text in BLIND_TEXTS} <= KINDS


def test_the_set_uses_known_kinds_and_sources() -> None:
    assert {text.kind for text in TEXTS} <= KINDS
    assert {text.source for text in TEXTS} == {"log", "junit", "json"}


def test_the_labels_themselves_are_a_perfect_signature() -> None:
    result = score(TEXTS, lambda text: text.label)

    assert (result.precision, result.recall) == (1.0, 1.0)
    assert (result.missed, result.merged) == ((), ())


def test_one_signature_for_everything_finds_all_pairs_and_merges_the_others() -> None:
    result = score([text("a"), text("a"), text("b")], lambda _: 1)

    assert result.recall == 1.0
    assert result.precision == pytest.approx(1 / 3)
    assert len(result.merged) == 2


def test_a_text_without_a_signature_falls_together_with_none() -> None:
    result = score([text("a"), text("a"), text("b")], lambda _: None)

    assert (result.precision, result.recall) == (1.0, 0.0)
    assert len(result.missed) == 1
