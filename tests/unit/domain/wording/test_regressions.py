"""Write notices of regressions."""

from __future__ import annotations

from dataclasses import replace

from service.domain.trunk.regression import GateSaid
from service.domain.wording.regressions import SAID, MergedSlowdown, chat_of, comment_of, mail_of

FOUND = MergedSlowdown(
    project="kv_engine",
    branch="master",
    revision="0123456789abcdef",
    subject="Make it quick",
    author="Ann",
    benchmark="HTB/Find/64",
    change="+8.1 %",
    interval="[7.2, 9.0]",
    others=3,
    said=GateSaid.UNDECIDED,
    page="https://bench.example.com/regressions/12",
)
WHY = "mostly HashTable::find, +9.8 of +12.3 points [+9.1, +10.5]: 31 % more branch misses"
HOSTILE = "x` @channel <!here> **b** [l](http://e)\r\nBcc: all@example.com"


def test_the_mail_names_the_benchmark_the_commit_and_what_the_gate_said() -> None:
    mail = mail_of(FOUND)
    assert mail.title == "[Benchgate] kv_engine: HTB/Find/64 +8.1 %"
    assert mail.text == (
        "HTB/Find/64 got slower: +8.1 % [7.2, 9.0], and 3 more\n"
        "since: Make it quick, by Ann\n"
        "commit 0123456789 on kv_engine master\n"
        "The gate had said: undecided.\n\n"
        "https://bench.example.com/regressions/12\n"
    )


def test_the_chat_gets_the_same_with_names_as_code() -> None:
    assert chat_of(replace(FOUND, others=0)) == (
        "`HTB/Find/64` got slower: +8.1 % [7.2, 9.0]\n"
        "since `Make it quick`, by `Ann`\n"
        "commit `0123456789` on `kv_engine` `master`\n"
        "The gate had said: undecided.\n"
        "https://bench.example.com/regressions/12"
    )


def test_the_comment_ends_with_the_page_which_marks_it() -> None:
    assert comment_of(FOUND) == (
        "HTB/Find/64 got slower by this change: +8.1 % [7.2, 9.0], and 3 more. More pairs decided it after "
        "the merge. The gate had said: undecided.\n\n"
        "https://bench.example.com/regressions/12"
    )


def test_each_channel_says_in_one_line_why() -> None:
    found = replace(FOUND, why=WHY)
    assert f", and 3 more\nWhy: {WHY}\nsince: " in mail_of(found).text
    assert f", and 3 more\nwhy: `{WHY}`\nsince " in chat_of(found)
    assert f"undecided.\n\nWhy: {WHY}\n\nhttps://" in comment_of(found)


def test_several_commits_have_no_subject_and_no_author() -> None:
    several = replace(FOUND, since="fedcba9876543210", subject="Anchor of master", author="")
    assert (
        "by several commits together: fedcba9876..0123456789 on kv_engine master\n" in mail_of(several).text
    )
    assert "by several commits together: `fedcba9876..0123456789` on" in chat_of(several)
    assert "Anchor" not in mail_of(several).text + chat_of(several)


def test_no_name_leaves_its_code_or_line() -> None:
    hostile = replace(FOUND, subject=HOSTILE, author=HOSTILE, benchmark=HOSTILE, branch=HOSTILE, why=HOSTILE)
    text = chat_of(hostile)
    assert (text.count("`"), text.count("\n"), "<" in text) == (14, 5, False)
    assert "\n" not in mail_of(hostile).title
    assert mail_of(hostile).text.count("\n") == 7
    _, why, page = comment_of(hostile).split("\n\n")
    assert why == r"Why: x` @channel <!here> \*\*b\*\* [l]\(http://e) Bcc: all@example.com"
    assert page == FOUND.page


def test_each_answer_of_the_gate_has_words() -> None:
    assert set(SAID) == set(GateSaid)
