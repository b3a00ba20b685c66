from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.values.identity import BuildName, ChangeAddress, ChangeKey, SeriesKey, digest_of

SERIES = SeriesKey("gerrit", "kv", "master", "perf", "cv-perf", "executor", "BM_a/8", "cpu_time")


def test_a_build_is_written_as_job_and_number() -> None:
    assert str(BuildName("kv_engine.linux", 5904)) == "kv_engine.linux/5904"


def test_changes_of_two_servers_are_two_changes() -> None:
    assert ChangeKey("a", 1) != ChangeKey("b", 1)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("123", ChangeAddress(123)),
        ("core~123", ChangeAddress(123, "core")),
        ("Gerrit at home~1", ChangeAddress(1, "Gerrit at home")),
        ("a~b~7", ChangeAddress(7, "a~b")),
        ("9999999999", ChangeAddress(9_999_999_999)),
    ],
)
def test_an_address_is_a_number_or_a_review_server_and_a_number(text: str, address: ChangeAddress) -> None:
    assert ChangeAddress.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "0", "x", "-1", "1 ", "~1", "core~", "core~0", "core~x", "12345678901", "1\n", "a\nb~1", "١"]
)
def test_any_other_text_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="INSTANCE~NUMBER"):
        ChangeAddress.parse(text)


@given(st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=100), st.integers(1, 1 << 31))
def test_every_address_is_read_as_it_is_written(instance: str, number: int) -> None:
    for address in (ChangeAddress(number, instance), ChangeAddress(number)):
        assert ChangeAddress.parse(str(address)) == address


@pytest.mark.parametrize("name", [each.name for each in fields(SeriesKey)])
def test_every_part_tells_series_apart(name: str) -> None:
    assert replace(SERIES, **{name: "other"}).digest != SERIES.digest


def test_parts_cannot_flow_into_each_other() -> None:
    one = replace(SERIES, suite="a", benchmark="b/c")
    other = replace(SERIES, suite="a/b", benchmark="c")
    quoted = replace(SERIES, suite='a", "b', benchmark="c")

    assert len({one.digest, other.digest, quoted.digest}) == 3


def test_a_digest_stays_what_it_was() -> None:
    """It is a key in the database: a changed formula would split every series in two."""
    assert SERIES.digest.hex() == "66bf8c6d869c270d578f4f1f8c4787e8df7b9ac2ae772448c5c91f3322a1bbc2"


@pytest.mark.parametrize("name", ["\ud800", "\0", "x" * 100_000, ""])
def test_any_name_has_a_digest(name: str) -> None:
    assert len(replace(SERIES, benchmark=name).digest) == 32


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.integers())))
def test_the_order_of_keys_does_not_matter(mapping: dict[str, object]) -> None:
    assert digest_of(mapping) == digest_of(dict(reversed(mapping.items())))
    assert len(digest_of(mapping)) == 64
