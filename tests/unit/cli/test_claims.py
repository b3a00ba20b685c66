"""``benchgate claims``: output, and what it exits with."""

from __future__ import annotations

import json
from typing import Final

from click.testing import CliRunner

from service import cli

SIDES: Final = "Subject\n\nBefore:\nBM_A/1   31 ns   30 ns   7\n\nAfter:\nBM_A/1   24 ns   30 {}   7\n"


def run(message: str, *options: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli.benchgate, ["claims", "-", *options], input=message)
    return done.exit_code, done.stdout, done.stderr


def test_claims_are_printed_one_per_line() -> None:
    assert run(SIDES.format("ns")) == (
        0,
        "7: BM_A/1 real_time 31 → 24 ns (−22.6 %)\n7: BM_A/1 cpu_time 30 → 30 ns (±0.00 %)\n",
        "",
    )


def test_a_share_is_printed_as_a_percentage_of_the_old_value() -> None:
    said = run("Subject\n\nBM_A/1 takes 12 % less CPU time.\n")
    assert said == (0, "3: BM_A/1 cpu_time 100 → 88 % (−12.0 %)\n", "")


def test_a_refused_table_is_named_with_its_line_and_reason() -> None:
    assert run(SIDES.format("us")) == (
        0,
        "",
        "-:7: the values have two units: BM_A/1 24 ns 30 us 7\n-: no claims\n",
    )


def test_json_has_tables_claims_and_refusals() -> None:
    code, printed, _ = run(SIDES.format("ns"), "--json")
    found = json.loads(printed)
    assert code == 0
    assert [(table["heading"], table["role"]) for table in found["tables"]] == [
        ("Before:", "before"),
        ("After:", "after"),
    ]
    assert found["tables"][0]["rows"][0]["real_time"] == 31.0
    claim = found["claims"][0]
    assert "rounding" not in claim.keys() | found["tables"][0]["rows"][0].keys()
    assert (claim["line"], claim["benchmark"], claim["metric"]) == (7, "BM_A/1", "real_time")
    assert (claim["before"], claim["after"], claim["ratio"], claim["unit"]) == (31.0, 24.0, 24 / 31, "ns")
    assert (claim["before_label"], claim["after_label"], claim["table"]) == ("Before:", "After:", 1)
    assert json.loads(run(SIDES.format("us"), "--json")[1])["refused"][0]["line"] == 7


def test_a_message_that_is_not_utf_8_or_has_escapes_is_printed_safely() -> None:
    message = SIDES.format("ns").replace("BM_A/1", "BM_\x9b31m").encode("latin-1")
    done = CliRunner().invoke(cli.benchgate, ["claims", "-"], input=message)
    assert done.exit_code == 0
    assert "\x9b" not in done.output
