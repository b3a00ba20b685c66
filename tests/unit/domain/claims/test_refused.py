"""Tables and sentences that are damaged, hostile or ambiguous claim nothing; tables with line and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.claims.find import MAX_CHARACTERS, find_claims
from service.domain.claims.values import Fault, Role

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "claims"
REFUSED: Final[dict[str, Any]] = json.loads((SAMPLES / "refused.json").read_text(encoding="utf-8"))
HEAD: Final = "Benchmark             Time           CPU   Iterations"
OLD: Final = "BM_Parse/64          31.0 ns       30.9 ns     22412345"
NEW: Final = "BM_Parse/64          24.0 ns       23.9 ns     28412345"


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_safely_claims_nothing(name: str) -> None:
    found = find_claims("\n".join(REFUSED[name]["message"]))
    fault = REFUSED[name]["fault"]  # sentences have none: most are about other things
    expected = [(Fault[fault], REFUSED[name]["line"])] if fault else []
    assert [(refusal.fault, refusal.line) for refusal in found.refused] == expected
    assert found.claims == ()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("-" * (MAX_CHARACTERS + 1), 1),
        ("-\n" * 3_001, 1),
        (f"Subject\n\n{HEAD}\n" + f"{OLD}\n" * 1_001, 4),
        (f"Subject\n\nAfter:\n{HEAD}\n" + f"{OLD}\nAfter:\n" * 51, 5),
    ],
)
def test_a_message_that_is_too_long_is_refused(message: str, line: int) -> None:
    found = find_claims(message)
    assert [(refusal.fault, refusal.line) for refusal in found.refused] == [(Fault.TOO_LONG, line)]
    assert (found.claims, found.tables) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        " src/parse.cc | 12 ++++++------\n src/hash.cc  |  3 +++\n 2 files changed, 9 insertions(+)",
        "Robin Doe (12):\n      Hash slower by 3 ns\n\nAlex Roe (2):\n      Fix 5 ms timeout",
        "00000000  42 4d 5f 41 2f 31 20 33  2e 31 20 6e 73 0a 00 00  |BM_A/1 3.1 ns...|",
        "     8.59 s   45.3%  55.00 ms         Producer::next()\n    18.93 s  100.0% 280.00 ms       step()",
        "     4 │53e7c0:   push   %rbx\n   632 │53e7e0:   lock   addl $0x1,(%rdx)",
        "sum 512     time:   [535.66 ns 536.11 ns 536.57 ns]\n            change: [-58.421% -58.222%]",
        "real\t0m17.636s\nuser\t0m14.488s\nsys\t0m3.291s",
        "2020-06-11 14:53:18 INFO Task ran for 24.0 ns  on thread 3\n2020-06-11 INFO Task ran for 23 ns",
        "| Branch | Average Time |\n|---|---|\n| `main` | 2157.4 ms |\n| This PR | 2153.6 ms |",
        "| Benchmark | Baseline | Per core |\n|---|---|---|\n| BM_A | 30 ns | 20 ns |",
        "BM_Parse/64 is 12 % faster, from 3.1 us to 2.4 us; the timeout rises from 10 ms to 15 ms.",
        "@@ -1,3 +1,3 @@\n-  sleep(10 ms);\n+  sleep(20 ms);",
        "It runs:\n[       OK ] S.R (12 ms)\n[  FAILED  ] S.Writes (5 ms)\n\nFailed:\n[  FAILED  ] S.Writes",
        "before\n[ OK ] 12 (3 ms)\n\nafter\n[ OK ] 12 (4 ms)",
        "Signed-off-by: Robin Doe <robin@example.com>\nChange-Id: I0184efb6d960df6b5ff60ff29386927aca046b6e",
        "———————\n=======\n-------",
        "",
    ],
)
def test_what_is_no_benchmark_table_is_passed_over_without_a_word(text: str) -> None:
    found = find_claims(f"Parse: avoid a copy\n\n{text}\n")
    assert (found.tables, found.claims, found.refused) == ((), (), ())


def test_a_message_as_long_as_allowed_is_read() -> None:
    table = f"\n\nBefore:\n{OLD}\nAfter:\n{NEW}\n"
    message = "-" * (MAX_CHARACTERS - len(table)) + table
    assert [claim.ratio for claim in find_claims(message).claims] == pytest.approx([24.0 / 31, 23.9 / 30.9])


_PARTS: Final = [line for each in REFUSED.values() for line in each["message"]]


@given(st.lists(st.sampled_from([*_PARTS, OLD, NEW, "", "> ", "ns", "| 3 ns |"])), st.text())
def test_any_order_of_lines_and_any_text_is_read_or_refused(lines: list[str], text: str) -> None:
    message = "\n".join([*lines, text])
    found = find_claims(message)
    named = [claim.line for claim in found.claims] + [refusal.line for refusal in found.refused]
    assert all(0 < line <= message.count("\n") + 1 for line in named)
    assert all(table.rows and table.role in Role for table in found.tables)
