"""Write weekly digests; a reader sees the texts as they are here."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from service.domain.trunk.regression import GateSaid
from service.domain.trunk.week import Week
from service.domain.wording.digest import Digest, chat_about, mail_about, week_sentence
from service.domain.wording.regressions import MergedSlowdown

SLOWER = MergedSlowdown(
    "kv_engine", "master", "0123456789ab", "Make it quick", "Ann", "HTB/Find", "+8.1 %", "[7.2, 9.0]", 2,
    GateSaid.UNDECIDED, "https://bench.example.com/regressions/12",
)  # fmt: skip
RANGE = replace(SLOWER, since="fedcba987654", subject="", author="", benchmark="Queue", others=0)
WEEK = Week(measured=41, faster=2, found=3, fixed=1, open=5, untriaged=2)
DIGEST = Digest(
    project="kv_engine",
    begins=date(2026, 11, 23),
    week=WEEK,
    worst=(SLOWER, RANGE),
    page="https://bench.example.com/regressions",
    is_own=False,
)


@pytest.mark.parametrize(
    ("week", "sentence"),
    [
        (WEEK, "41 merged commits were measured, 2 of them faster; regressions: 3 found, 1 fixed, 5 open."),
        (Week(), "no merged commit was measured; no regression is open."),
        (Week(measured=1), "1 merged commit was measured; no regression is open."),
        (Week(measured=2, open=1), "2 merged commits were measured; regressions: none found, 1 open."),
        (Week(found=1, fixed=1), "no merged commit was measured; regressions: 1 found, 1 fixed, none open."),
    ],
)
def test_a_week_is_one_sentence(week: Week, sentence: str) -> None:
    assert week_sentence(week) == f"In the last 7 days, {sentence}"


def test_an_owner_reads_a_mail_about_the_own_regressions() -> None:
    mail = mail_about(replace(DIGEST, is_own=True))
    assert mail.title == "[Benchgate] kv_engine: week of 23 November, regressions: 3 found, 1 fixed, 5 open"
    assert mail.text == (
        "In the week of 23 November, 41 merged commits were measured, 2 of them faster; your regressions: "
        "3 found, 1 fixed, 5 open.\n"
        "\n"
        "HTB/Find: +8.1 % [7.2, 9.0], and 2 more\n"
        "commit 0123456789 on master: Make it quick, by Ann\n"
        "https://bench.example.com/regressions/12\n"
        "\n"
        "Queue: +8.1 % [7.2, 9.0]\n"
        "commit fedcba9876..0123456789 on master\n"
        "https://bench.example.com/regressions/12\n"
        "\n"
        "and 3 more: https://bench.example.com/regressions\n"
    )


def test_a_chat_reads_names_as_code() -> None:
    text = chat_about(replace(DIGEST, worst=(replace(SLOWER, subject="<!channel> `x`"), RANGE)))
    assert text == (
        "`kv_engine`: In the week of 23 November, 41 merged commits were measured, 2 of them faster; "
        "regressions: 3 found, 1 fixed, 5 open.\n"
        "• `HTB/Find` +8.1 % [7.2, 9.0], and 2 more, `0123456789` on `master` `‹!channel› 'x'` by `Ann`: "
        "https://bench.example.com/regressions/12\n"
        "• `Queue` +8.1 % [7.2, 9.0], `fedcba9876..0123456789` on `master`: "
        "https://bench.example.com/regressions/12\n"
        "and 3 more: https://bench.example.com/regressions"
    )


def test_a_week_that_ends_well_has_no_list() -> None:
    good = replace(DIGEST, week=Week(measured=3, fixed=1), worst=())
    assert mail_about(good).text.endswith("none found, 1 fixed, none open.\n\nAll: " + DIGEST.page + "\n")


def test_a_notice_of_a_regression_has_its_own_text() -> None:
    assert mail_about(SLOWER).title == "[Benchgate] kv_engine: HTB/Find +8.1 %"
    assert chat_about(SLOWER).startswith("`HTB/Find` got slower: +8.1 %")
