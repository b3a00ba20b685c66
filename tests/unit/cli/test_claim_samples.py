"""Twenty public commit messages with benchmark tables, and what a person read in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from service import cli

SAMPLES: Final = Path(__file__).parents[2] / "samples" / "claims"
EXPECTED: Final[dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))


def found_in(name: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli.benchgate, ["claims", str(SAMPLES / name), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.exit_code, found["refused"]) == (0, [])
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_the_tables_of_a_public_message_are_read_in_full(name: str) -> None:
    found, expected = found_in(name)["tables"], EXPECTED[name]["tables"]
    assert [table["heading"] for table in found] == [table["heading"] for table in expected]
    for table, wanted in zip(found, expected, strict=True):
        assert table["role"] in wanted.get("accepted_roles", [wanted["role"]])
        assert len(table["rows"]) == len(wanted["rows"])
        for row, printed in zip(table["rows"], wanted["rows"], strict=True):
            values = {key: value for key, value in row.items() if key in printed}
            counters = printed.pop("counters")
            assert values.pop("counters") == pytest.approx(counters)
            assert values == {key: pytest.approx(value) for key, value in printed.items()}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_claims_of_a_public_message_are_complete_and_no_more(name: str) -> None:
    found = found_in(name)["claims"]
    made = {(claim["benchmark"], claim["metric"], claim["table"]): claim for claim in found}
    assert len(made) == len(found)

    for wanted in EXPECTED[name]["claims"]:
        keys = [
            key
            for key in made
            if key[:2] == (wanted["benchmark"], wanted["metric"]) and key[2] == wanted.get("table", key[2])
        ]
        assert keys or wanted.get("optional"), wanted
        for key in keys:
            claim = made.pop(key)
            assert (claim["before"], claim["after"]) == pytest.approx((wanted["before"], wanted["after"]))
            assert (claim["ratio"] is None) == (wanted["ratio"] is None)
            assert (claim["ratio"] or 0) == pytest.approx(wanted["ratio"] or 0, rel=1e-5)
    assert made == {}
