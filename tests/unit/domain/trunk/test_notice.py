"""Choose the recipients of a regression's notices."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.project.project_file import owners_of_paths, parse_job
from service.domain.trunk.notice import Channel, Recipient, recipients
from service.domain.values.errors import BadProjectFile

CONFIG: dict[str, Any] = {"kind": "benchmark", "suites": [{"name": "s", "program": "build/s"}]}
OWNERS = {"HTB": ["ht@example.com"], "HTB/Find": ["ann@example.com"], "*": ["team@example.com"]}


@pytest.mark.parametrize(
    ("benchmarks", "addresses"),
    [
        (["HTB/Find/64"], ["ann@example.com"]),
        (["HTB/Insert", "HTB/Find"], ["ht@example.com", "ann@example.com"]),
        (["Queue", "Stack"], ["team@example.com"]),
        ([], []),
    ],
)
def test_the_longest_entry_that_covers_a_benchmark_names_its_owners(
    benchmarks: list[str], addresses: list[str]
) -> None:
    job = parse_job("perf", {**CONFIG, "owners": OWNERS})
    chat, *mails = recipients(((job, benchmark) for benchmark in benchmarks), is_late=False)
    assert chat == Recipient(Channel.CHAT)
    assert mails == [Recipient(Channel.MAIL, address) for address in addresses]


def test_the_change_gets_a_comment_if_no_message_on_it_has_the_news() -> None:
    found = recipients([(parse_job("perf", CONFIG), "HTB")], is_late=True)
    assert found == (Recipient(Channel.CHAT), Recipient(Channel.CHANGE))


def test_the_owners_of_changed_files_get_one_notice_beside_those_of_benchmarks() -> None:
    job = parse_job("perf", {**CONFIG, "owners": {"HTB": ["ann@example.com"]}})
    found = recipients([(job, "HTB")], ["bob@example.com", "ann@example.com"], is_late=False)
    assert [each.address for each in found] == ["", "ann@example.com", "bob@example.com"]


@pytest.mark.parametrize(
    ("changed", "addresses"),
    [
        (["engines/ep/a.cc"], ("ann@example.com", "all@example.com")),
        (["engines/"], ("ann@example.com", "all@example.com")),  # a submodule: any file of it
        (["engines/b.h", "a/b.md"], ("ann@example.com",)),
        (["a/b.md"], ()),
        ([], ()),
    ],
)
def test_each_entry_that_matches_a_changed_file_names_its_owners(
    changed: list[str], addresses: tuple[str, ...]
) -> None:
    owners = {"engines/**": ["ann@example.com"], "engines/ep/*.cc": ["all@example.com", "ann@example.com"]}
    job = parse_job("perf", {**CONFIG, "path_owners": owners})
    assert owners_of_paths(job, changed) == addresses


def test_a_pattern_of_files_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(BadProjectFile, match="begin with a slash"):
        parse_job("perf", {**CONFIG, "path_owners": {"/a": ["a@example.com"]}})


def test_owners_decide_no_result() -> None:
    told = {"owners": OWNERS, "path_owners": {"*.cc": ["ann@example.com"]}, "line_comments": True}
    plain, owned = parse_job("perf", CONFIG), parse_job("perf", {**CONFIG, **told})
    assert owned.config_hash == plain.config_hash


@pytest.mark.parametrize(
    "address",
    [
        "ann",
        "ann@",
        "@example.com",
        "a b@example.com",
        "ann@example.com\nBcc: x@y",
        "<ann@e.com>",
        "=?utf-8?q?x?=@e.com",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(BadProjectFile, match="allowed are e-mail addresses"):
        parse_job("perf", {**CONFIG, "owners": {"*": [address]}})
