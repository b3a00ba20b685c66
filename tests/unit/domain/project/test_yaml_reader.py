from __future__ import annotations

import contextlib
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.yaml_reader import read_yaml
from service.domain.values.errors import BadProjectFile


def refusal(text: str) -> str:
    with pytest.raises(BadProjectFile) as caught:
        read_yaml(text, "f")
    return str(caught.value)


def test_every_value_has_a_line_and_a_key() -> None:
    value, places = read_yaml("a:\n  b:\n    - 1\n    - c: x\n", "f")

    assert value == {"a": {"b": [1, {"c": "x"}]}}
    assert str(places.error(("a", "b", 1, "c"), "no")) == "f:4: a.b[1].c: no"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: the file is empty"),
        ("# only a comment", "f: the file is empty"),
        (
            "a: [1",
            "f:1: not YAML: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'",
        ),
        ("a: 1\nb: c: d", "f:2: not YAML: mapping values are not allowed here"),
        ("a: *x", "f:1: not YAML: found undefined alias 'x'"),
        ("a: 1\n---\nb: 2", "f:2: not YAML: expected a single document in the stream, but found another doc"),
        ("a: 1\nb: \x07", "f:2: not YAML: special characters are not allowed"),
        ("a: 1\na: 2", "f:2: a: given twice"),
        ("a: {b: 1,\n b: 2}", "f:2: a.b: given twice"),
        ("? [a]\n: 1", "f:1: a key must be a text"),
        ("x:\n  ? {a: b}\n  : 1", "f:2: x: a key must be a text"),
        ("a: !!set {b}", "f:1: a: the tag tag:yaml.org,2002:set is not allowed"),
        (
            "a: !!python/object:os.system {}",
            "f:1: a: the tag tag:yaml.org,2002:python/object:os.system is not",
        ),
        ("a: !!python/name:os.system x", "f:1: a: cannot be read: could not determine a constructor"),
        ("a: !x 1", "f:1: a: cannot be read: could not determine a constructor for the tag '!x'"),
        ("a: !!int x", "f:1: a: cannot be read: invalid literal for int()"),
        (f"a: 0x{'f' * 20_000}", "f:1: a: a number that large is not allowed"),
        (f"a: {'9' * 5000}", "f:1: a: cannot be read: Exceeds the limit"),
        ("a: -9007199254740993", "f:1: a: a number that large is not allowed"),
        ("a: &x [*x]", "f:1: too large or nested too deep once its aliases are unfolded"),
    ],
)
def test_an_error_names_its_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x]\n" + "\n".join(f"a{k}: &a{k} [{','.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)),
        "a: &a\n  b: &b [1]\nc: [" + ", ".join(["*a"] * 15_000) + "]",
        "[" * 10_000,
        "{a: " * 400 + "1" + "}" * 400,
    ],
    ids=["laughs", "many aliases", "deep", "deep and closed"],
)
def test_a_file_that_unfolds_without_end_is_refused_in_time(text: str) -> None:
    start = process_time()

    assert "too deep" in refusal(text) or "nested deeper than 32 levels" in refusal(text)
    assert process_time() - start < 10


def test_an_alias_is_unfolded_each_time() -> None:
    value, _ = read_yaml("a: &a {b: 1}\nc: *a\n", "f")

    assert value == {"a": {"b": 1}, "c": {"b": 1}}


def test_dates_and_binary_values_are_texts() -> None:
    assert read_yaml("a: 2020-01-02\nb: !!binary aGk=", "f")[0] == {"a": "2020-01-02", "b": "aGk="}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadProjectFile):
        read_yaml(text, "f")
