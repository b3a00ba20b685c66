"""Store the test cases of a build as canonical JSON, for pages and series."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.values.errors import BadInput
from service.domain.values.text import plain_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORD_BYTES: Final = 8 << 20  # parsed in less than 0.1 s when a page shows it
_MAX_MESSAGE: Final = 500  # characters; the log has the rest


@dataclass(frozen=True, slots=True)
class TestSuite:
    """Test cases of one program; ``retried`` names those that failed and then passed."""

    __test__ = False

    program: str
    run: TestRun
    retried: tuple[str, ...] = ()


def write_tests(suites: Sequence[TestSuite]) -> bytes:
    """Write the record of a build in at most :data:`RECORD_BYTES`.

    If the cases do not fit, failed and retried ones are kept first, and the suite is marked as cut.
    """
    left = RECORD_BYTES - 100 * (len(suites) + 1)
    written = []
    for suite in suites:
        retried = set(suite.retried)
        rows: dict[int, dict[str, Any]] = {}
        by_weight = sorted(
            enumerate(suite.run.cases), key=lambda each: not (each[1].has_failed or each[1].name in retried)
        )
        for place, case in by_weight:
            row = _row(case, is_retried=case.name in retried)
            left -= len(json.dumps(row)) + 2
            if left < 0:
                break
            rows[place] = row
        is_cut = suite.run.is_cut or len(rows) < len(suite.run.cases)
        cases = [rows[place] for place in sorted(rows)]
        of_suite = {"program": suite.program[:1000], "is_cut": is_cut, "cases": cases}
        written.append(of_suite | ({"lists_inverted": True} if suite.run.lists_inverted else {}))
    return json.dumps({"suites": written}, sort_keys=True, separators=(",", ":")).encode()


def read_tests(data: bytes) -> tuple[TestSuite, ...]:
    """Read a record of :func:`write_tests`.

    Raises:
        BadInput: it is damaged.
    """
    try:
        return tuple(_suite(each) for each in json.loads(data)["suites"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"it is no record of tests: {type(error).__name__}") from None


def _row(case: TestCase, *, is_retried: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"name": case.name, "status": str(case.status), "seconds": round(case.seconds, 6)}
    if case.message:
        row["message"] = case.message[-_MAX_MESSAGE:]
    if case.place:
        row["place"] = case.place
    if case.is_inverted:
        row["inverted"] = True
    return row | {"retried": True} if is_retried else row


def _suite(found: dict[str, Any]) -> TestSuite:
    cases = tuple(
        TestCase(
            str(row["name"]),
            CaseStatus(row["status"]),
            float(row["seconds"]),
            plain_lines(str(row.get("message", ""))),
            str(row.get("place", "")),
            is_inverted=bool(row.get("inverted", False)),
        )
        for row in found["cases"]
    )
    retried = tuple(row["name"] for row in found["cases"] if row.get("retried"))
    lists_inverted = bool(found.get("lists_inverted"))  # records of earlier versions do not tell
    return TestSuite(str(found["program"]), TestRun(cases, bool(found["is_cut"]), lists_inverted), retried)
