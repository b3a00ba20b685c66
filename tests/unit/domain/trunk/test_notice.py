"""Choose the recipients of a regression's notices."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.project.project_file import parse_job
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


def test_owners_decide_no_result() -> None:
    plain, owned = parse_job("perf", CONFIG), parse_job("perf", {**CONFIG, "owners": OWNERS})
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
